#!/usr/bin/env python3
"""Pausing a worker stops and resumes its process and all that it started, as a machine that sleeps."""
import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import world

# As a worker: starts a child, which starts another one.
WORKER = """
import subprocess, sys, time
child = subprocess.Popen(["sh", "-c", "sleep 60; true"])
print("ready", flush=True)
time.sleep(60)
"""


class PauseTest(unittest.TestCase):
    def wait_for_state(self, pid, stopped):
        deadline = time.monotonic() + 10
        while (world.stat(pid)[0] == "T") != stopped:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_a_worker_and_its_children_are_paused_and_resumed_together(self):
        with tempfile.TemporaryDirectory() as name:
            worker = world.Program("worker", [sys.executable, "-c", WORKER], pathlib.Path(name, "log"))
            worker.start()
            try:
                while "ready" not in worker.output() or len(worker.children()) != 2:
                    time.sleep(0.01)
                all_of_it = [worker.process.pid, *worker.children()]
                self.assertTrue(worker.pause())
                for pid in all_of_it:
                    self.wait_for_state(pid, stopped=True)
                self.assertFalse(worker.pause())
                worker.resume()
                for pid in all_of_it:
                    self.wait_for_state(pid, stopped=False)
            finally:
                for pid in worker.children():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                worker.kill()


if __name__ == "__main__":
    unittest.main()
