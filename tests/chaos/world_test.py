#!/usr/bin/env python3
"""What the harness does to a worker that it pauses: no more than a machine that sleeps and wakes would."""
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import world

# As a worker: starts a child on the specification of attempt 7, and says whether it has suspended it.
WORKER = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, sys.argv[1]])
for line in sys.argv[2:]:
    print("2026-11-23T00:00:00.000Z info inlier-worker", line, flush=True)
print("ready", flush=True)
time.sleep(60)
"""
SUSPENDED = "attempt_suspended stage=st-1 token=7 slot=0"
CONTINUED = "attempt_continued stage=st-1 token=7 slot=0 suspended_seconds=1"


class PauseTest(unittest.TestCase):
    def stands_after_pause(self, said, stopped):
        """Whether the child stands still once its worker was paused and goes on."""
        with tempfile.TemporaryDirectory() as name:
            spec = pathlib.Path(name, "attempts", "st-1", "7", "spec.json")
            spec.parent.mkdir(parents=True)
            spec.write_text("import time\ntime.sleep(60)\n")
            worker = world.Program("worker", [sys.executable, "-c", WORKER, str(spec), *said], pathlib.Path(name, "log"))
            worker.start()
            try:
                while "ready" not in worker.said() or len(worker.children()) != 1:
                    time.sleep(0.01)
                child = worker.children()[0]
                if stopped:
                    os.kill(child, signal.SIGSTOP)
                self.assertTrue(worker.pause())
                worker.resume()
                self.assertNotEqual("T", world.stat(worker.process.pid)[0])
                deadline = time.monotonic() + 10
                while (world.stat(child)[0] == "T") != stopped and time.monotonic() < deadline:
                    time.sleep(0.01)
                return world.stat(child)[0] == "T"
            finally:
                for pid in worker.children():
                    os.kill(pid, signal.SIGKILL)
                worker.kill()

    def test_a_child_goes_on_with_its_worker(self):
        self.assertFalse(self.stands_after_pause([], stopped=False))
        self.assertFalse(self.stands_after_pause([SUSPENDED, CONTINUED], stopped=False))

    def test_what_the_worker_suspended_stays_suspended(self):
        self.assertTrue(self.stands_after_pause([SUSPENDED], stopped=True))


if __name__ == "__main__":
    unittest.main()
