#!/usr/bin/env python3
"""A mistake of a user is reported with its place, its remedy and a status of its own, and nothing is lost."""
import os
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

import harness
from full_disk_test import SmallDisk

GOOD = harness.SMOKE.read_text()


class BadInputTest(harness.FolderTest):
    def refused(self, text, status, *expected, arguments=()):
        file = self.write("sweep.yaml", text)
        done = harness.inlier("check", file, *arguments, check=False)
        message = done.stderr
        self.assertEqual(status, done.returncode, done.stdout + message)
        for part in expected:
            self.assertIn(part, message)
        return message

    def test_unknown_key_with_the_nearest_known_one(self):
        self.refused(GOOD.replace("batch_size: 16", "batchsize: 16"), 3, "sweep.yaml:8:", "batchsize", "batch_size")

    def test_doubled_key(self):
        self.refused(GOOD.replace("    steps: 400\n", "    steps: 400\n    steps: 130\n"), 3, "sweep.yaml:8:", "steps")

    def test_wrong_type(self):
        self.refused(GOOD.replace("steps: 400", "steps: many"), 3, "sweep.yaml:7:", "training.steps", "many")

    def test_value_out_of_range(self):
        self.refused(GOOD.replace("steps: 400", "steps: 0"), 3, "sweep.yaml:7:", "training.steps")

    def test_both_sides_of_a_oneof(self):
        self.refused(GOOD.replace("{label: vanilla, set: {}}", "{label: vanilla, set: {attention: {softmax: {clipped: {gamma: -0.03, alpha: 2}}}}}"),
                     3, "gamma", "alpha")

    def test_empty_axis(self):
        self.refused(GOOD.replace("values: [1]", "values: []"), 3, "sweep.yaml:26:", "axes[2].values")

    def test_a_request_that_no_machine_here_can_meet_is_named_without_a_view_too(self):
        file = self.write("sweep.yaml", GOOD + "resources: {memory_mib: 1000000000}\n")
        with open(self.folder / "errors", "w+", encoding="utf-8") as errors:
            run = subprocess.Popen([harness.INLIER, "run", file, "--dir", self.folder / "state", "--json"], stdout=subprocess.DEVNULL, stderr=errors)
            try:
                harness.wait_for("the reason", lambda: "1000000000 MiB of memory" in (self.folder / "errors").read_text(), 60)
            finally:
                run.send_signal(signal.SIGINT)
                run.wait(60)

    def test_file_that_is_not_there(self):
        harness.inlier("check", "no/such/file.yaml", fails=5, says="no/such/file.yaml")

    def test_grid_larger_than_the_limit_without_yes(self):
        file = self.write("sweep.yaml", GOOD.replace("values: [1]", f"values: {list(range(5000))}"))
        harness.inlier("submit", file, "--dir", self.folder, fails=6, says="--yes")

    def test_no_coordinator(self):
        harness.inlier("status", "--dir", self.folder, "--server", "127.0.0.1:1", fails=4, says="inlier up")

    def test_grid_of_a_billion_points_is_checked_at_once(self):
        file = self.folder / "sweep.yaml"
        axes = "".join(f"  - {{field: {name}, values: {list(range(1, 1001))}}}\n" for name in ("seed", "training.batch_size", "training.gradient_accumulation"))
        head = GOOD.split("axes:")[0]
        file.write_text(head + "axes:\n" + axes + "".join(f"  - {line}\n" for line in (
            "{name: model, variants: [{label: BERT, set: {model: {bert: {preset: tiny}}}}]}",)))
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
            os.execv(harness.INLIER, [str(harness.INLIER), "check", str(file)])
        _, status, usage = os.wait4(pid, 0)
        self.assertEqual(0, status)
        self.assertLess(usage.ru_maxrss, 100 * 1024)


class BadSurroundingsTest(harness.FolderTest):
    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            harness.inlier("up", "--dir", self.folder, "--port", port, fails=6, says=str(port), timeout=60)

    def run_on(self, folder):
        return harness.inlier("run", harness.SMOKE, "--dir", folder, check=False, timeout=60)

    def test_database_of_another_program(self):
        with sqlite3.connect(self.folder / "inlier.db") as other:
            other.execute("PRAGMA application_id = 12345")
            other.execute("CREATE TABLE theirs (x)")
        before = (self.folder / "inlier.db").read_bytes()
        done = self.run_on(self.folder)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("inlier.db", done.stderr)
        self.assertIn("another program", done.stderr)
        self.assertEqual(before, (self.folder / "inlier.db").read_bytes())

    def test_database_of_a_newer_version(self):
        with harness.Local() as local:
            local.stop()
            with sqlite3.connect(local.dir / "inlier.db") as database:
                database.execute("PRAGMA user_version = 999")
            done = self.run_on(local.dir)
            self.assertNotEqual(0, done.returncode)
            self.assertIn("999", done.stderr)

    def test_missing_corpus(self):
        harness.inlier("run", harness.SMOKE, "--dir", self.folder, "--set", "data.text.corpus=atlantis", fails=1, timeout=120)
        message = harness.sql(self.folder, "SELECT DISTINCT message FROM failures")[0][0]
        self.assertIn("atlantis", message)
        self.assertIn("make corpora", message)

    def test_no_libtorch(self):
        broken = dict(os.environ, LD_LIBRARY_PATH="", LD_PRELOAD="")
        # A copy of the program whose library path leads nowhere.
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("inlier", "inlier-coordinator", "inlier-worker"):
            os.symlink(harness.BIN / name, programs / name)
        trial = programs / "inlier-trial"
        trial.write_text("#!/bin/sh\necho \"$0: error while loading shared libraries: libtorch.so: cannot open shared object file\" >&2\nexit 127\n")
        trial.chmod(0o755)
        done = harness.inlier("run", harness.SMOKE, "--dir", self.folder / "state", "--worker-set", f"trial_program={trial}", check=False, timeout=60,
                              env=broken)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("libtorch.so", done.stderr)

    def test_child_that_prints_garbage(self):
        trial = self.write("trial", "#!/bin/sh\n[ \"$1\" = --version ] && { echo 0.0; exit 0; }\necho '}{ not json' >&3\nexit 3\n", 0o755)
        harness.inlier("run", harness.SMOKE, "--dir", self.folder / "state", "--worker-set", f"trial_program={trial}", fails=1, timeout=120)
        messages = [row[0] for row in harness.sql(self.folder / "state", "SELECT DISTINCT message FROM failures")]
        self.assertTrue(any("not json" in m for m in messages), messages)

    def test_full_disk(self):
        disk = SmallDisk(self.folder)
        self.addCleanup(disk.close)
        state = disk.path / "state"
        run = subprocess.Popen([str(harness.INLIER), "run", str(harness.SMOKE), "--dir", str(state)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log, waited = state / "logs/coordinator.log", False
        for _ in range(1200):
            if run.poll() is not None:
                break
            if log.exists() and "commit_waits" in log.read_text():
                # A commit without room waits, and is made when there is some.
                self.assertIn("free space on the file system of the state folder", log.read_text())
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk.path)], check=True)
                waited = True
                break
            time.sleep(0.1)
        text, _ = run.communicate(timeout=120)
        if run.returncode == 1:
            text += "\n".join(row[0] for row in harness.sql(state, "SELECT DISTINCT message FROM failures"))
        if not waited:
            self.assertNotEqual(0, run.returncode)
            self.assertIn("No space left", text)


if __name__ == "__main__":
    unittest.main()
