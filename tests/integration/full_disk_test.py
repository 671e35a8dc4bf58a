#!/usr/bin/env python3
"""A disk without space: of the coordinator, where every verb answers at once, and of what a command writes."""
import contextlib
import os
import pathlib
import subprocess
import threading
import time
import unittest

import daemons
import harness

SWEEP = """name: {name}
base:
  model: {{bert: {{preset: tiny}}}}
  data: {{text: {{corpus: kjv, sequence_length: 32}}}}
  training: {{steps: 20}}
axes: [{{field: seed, values: {seeds}}}]
"""
REASON = "the coordinator cannot store anything now: writing to "


class SmallDisk:
    """A file system of `mib` MiB below `folder`."""

    def __init__(self, folder, mib=6):
        self.path = pathlib.Path(folder) / "disk"
        self.path.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(self.path)], capture_output=True).returncode != 0:
            raise unittest.SkipTest("mounting a small tmpfs needs root")

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"x" * 4096)

    def free(self):
        (self.path / "filler").unlink()

    def close(self):
        subprocess.run(["umount", "-l", str(self.path)], check=False)


class FullDiskTest(daemons.DaemonTest):
    def setUp(self):
        super().setUp()
        self.disk = SmallDisk(self.folder)
        self.addCleanup(self.disk.close)

    def sweep(self, name, seeds):
        return self.write(f"{name}.yaml", SWEEP.format(name=name, seeds=list(range(1, seeds + 1))))

    def run_timed(self, *arguments):
        began = time.monotonic()
        done = self.inlier(*arguments, check=False, timeout=60)
        return done, time.monotonic() - began

    def fill_by_work(self):
        """Fills the disk; the names that were acknowledged, the refusal, and the name of what it refused."""
        self.disk.fill()
        names = []
        for number in range(40):
            name = f"work-{number}"
            done, took = self.run_timed("submit", self.sweep(name, 200), "--yes")
            if done.returncode != 0:
                self.assertLess(took, self.limit, name)
                return names, done, name
            names.append(name)
        raise AssertionError("the disk is never full")

    def test_every_verb_answers_at_once(self):
        self.coordinator(state_dir=self.disk.path / "state")
        self.assertEqual(0, self.run_timed("submit", self.sweep("stored", 3))[0].returncode)
        # Starting a program takes time of its own on a machine that is busy.
        self.limit = 1 + max(self.run_timed("status")[1] for _ in range(3))
        names, refused, last = self.fill_by_work()
        self.assertEqual(4, refused.returncode, refused.stderr)
        self.assertIn(REASON, refused.stderr)
        self.assertIn("free space on the file system of the state folder", refused.stderr)
        self.assertIn("this change is decided, and is lost if the coordinator ends before", refused.stderr)
        for arguments in (["submit", self.sweep("refused", 1)], ["cancel", "stored", "--yes"], ["pause", "stored"], ["resume", "stored"],
                          ["retry", "stored"], ["edit", "stored", "--set", "priority=3"], ["drain", "no-such-worker"]):
            done, took = self.run_timed(*arguments)
            self.assertIn(done.returncode, (4, 5), (arguments, done.stdout, done.stderr))
            self.assertIn("cannot store anything now", done.stderr, arguments)
            self.assertLess(took, self.limit, arguments)
        for arguments in (["status"], ["status", "stored"], ["workers"], ["why", "stored"], ["why", "t-1"], ["query", "SELECT count(*) FROM trials"],
                          ["table", "stored"], ["fleet", "status"], ["gc", "--dry-run"], ["audit"]):
            done, took = self.run_timed(*arguments)
            self.assertEqual(0, done.returncode, (arguments, done.stdout, done.stderr))
            self.assertLess(took, self.limit, arguments)
            self.assertIn(REASON, done.stderr, arguments)
        listed = self.run_timed("status")[0].stdout
        self.assertEqual([], [name for name in [*names, "stored"] if name not in listed])
        self.assertNotIn(last + " ", listed, "it is not stored")
        watch = subprocess.Popen([str(harness.INLIER), "watch", "stored", "--server", self.server], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")))
        reader.start()
        try:
            harness.wait_for("the reason", lambda: any("cannot store anything now" in line for line in lines), 20)
            self.disk.free()
            harness.wait_for("what was decided", lambda: last in self.run_timed("status")[0].stdout, 20)
        finally:
            watch.kill()
            watch.wait()
            reader.join()
            watch.stdout.close()
        done, _ = self.run_timed("status")
        self.assertNotIn("cannot store", done.stderr)
        self.assertEqual([], [name for name in [*names, last, "stored"] if name not in done.stdout])
        self.assertEqual(0, self.run_timed("cancel", "stored", "--yes")[0].returncode)

    def test_what_a_command_writes(self):
        """Never a part in silence: the reason, another exit status than 0, and the old file."""
        with harness.Local("--slots", "2") as local:
            sweep = local.submit(harness.SMOKE, "--watch")
            self.disk.path.joinpath("old.tex").write_text("old")
            self.disk.fill()
            for arguments in (["table", sweep, "-o", self.disk.path / "old.tex", "--force"], ["table", sweep, "-o", self.disk.path / "new.md"],
                              ["page", sweep, "-o", self.disk.path / "page.html"], ["backup", self.disk.path / "copy.db"],
                              ["plot", sweep, "--kind", "bars", "--y", "perplexity", "-o", self.disk.path / "plot.svg"], ["export", "t-1", self.disk.path / "exported"]):
                done = local.inlier(*arguments, check=False)
                self.assertNotEqual(0, done.returncode, arguments)
                self.assertRegex(done.stderr, "No space left on device|disk is full|has 0 left; free space", arguments)
            self.assertEqual("old", (self.disk.path / "old.tex").read_text())
            self.assertEqual({"old.tex", "filler"}, {p.name for p in self.disk.path.iterdir()} - {"exported"})
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([str(harness.INLIER), "table", sweep, "--dir", str(local.dir)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(7, done.returncode, done.stderr)
            self.assertIn("cannot write all of the output: No space left on device", done.stderr)
            # Temporary files: gnuplot says nothing of a full disk.
            done = local.inlier("plot", sweep, "--kind", "bars", "--y", "perplexity", "-o", self.folder / "plot.pdf", check=False, env={**os.environ, "TMPDIR": str(self.disk.path)})
            self.assertNotEqual(0, done.returncode)
            self.assertRegex(done.stderr, "No space left on device|TMPDIR")
            self.assertFalse((self.folder / "plot.pdf").exists())

    def test_a_worker_without_space_says_so_and_goes_on(self):
        self.coordinator()
        self.worker("worker", state_dir=self.disk.path / "worker")
        harness.wait_for("the worker", lambda: "connected" in self.run_timed("workers")[0].stdout)
        self.disk.fill()
        self.run_timed("submit", self.sweep("one", 1))
        harness.wait_for("the reason", lambda: "No space left on device" in self.run_timed("why", "one")[0].stdout + self.run_timed("why", "t-1")[0].stdout, 60)
        self.disk.free()


if __name__ == "__main__":
    unittest.main()
