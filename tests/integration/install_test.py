#!/usr/bin/env python3
"""`make install` into a folder: the programs run from there and find LibTorch and one another; `make uninstall` leaves nothing."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness


def make(target, destination):
    return subprocess.run(["make", "--no-print-directory", target, f"BUILD={harness.BIN.parent}", "PREFIX=/opt/inlier", f"DESTDIR={destination}"],
                          cwd=harness.ROOT, capture_output=True, text=True, env=dict(os.environ, DESTDIR=str(destination)))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


class InstallTest(unittest.TestCase):
    def backup_of_the_unit(self, root, folder):
        """The command of inlier-backup.service, with the folders of this test."""
        unit = (root / "lib/systemd/system/inlier-backup.service").read_text()
        program, *words = re.search(r"(?m)^ExecStart=(.+)$", unit).group(1).split()
        self.assertEqual("/opt/inlier/bin/inlier", program)
        (folder / "backups").mkdir()
        words = [{"/var/lib/inlier": folder / "state", "/var/lib/inlier-backups": folder / "backups"}.get(word, word) for word in words]
        ran = subprocess.run([root / "bin/inlier", *words], capture_output=True, text=True)
        self.assertEqual(0, ran.returncode, ran.stderr)
        (backup,) = (folder / "backups").iterdir()
        self.assertRegex(backup.name, r"^inlier\.db\.v\d+\..*Z\.scheduled$")

    def test_what_is_installed_works_and_can_be_removed(self):
        with harness.temporary_folder() as folder:
            done = make("install", folder)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            root = folder / "opt/inlier"
            libtorch = [name for name in files(root) if name.startswith("lib/inlier/")]
            loaded = subprocess.run(["ldd", root / "bin/inlier-trial"], capture_output=True, text=True).stdout
            if "libtorch_cuda" not in loaded:  # One with CUDA stays where it is.
                self.assertIn("lib/inlier/libtorch_cpu.so", libtorch)
                self.assertIn(str(root / "bin/../lib/inlier/libtorch_cpu.so"), loaded)
                self.assertNotIn(".deps/", loaded)
            self.assertEqual(["bin/inlier", "bin/inlier-coordinator", "bin/inlier-trial", "bin/inlier-worker", "lib/systemd/system/inlier-backup.service",
                              "lib/systemd/system/inlier-backup.timer", "lib/systemd/system/inlier-coordinator.service",
                              "lib/systemd/system/inlier-worker.service", "share/bash-completion/completions/inlier", "share/doc/inlier/coordinator.yaml",
                              "share/doc/inlier/worker.yaml", "share/fish/vendor_completions.d/inlier.fish", "share/man/man1/inlier-trial.1", "share/man/man1/inlier.1",
                              "share/man/man8/inlier-coordinator.8", "share/man/man8/inlier-worker.8", "share/zsh/site-functions/_inlier"], [name for name in files(root) if name not in libtorch])
            for program in ("inlier", "inlier-coordinator", "inlier-worker", "inlier-trial"):
                version = subprocess.run([root / "bin" / program, "--version"], capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
                self.assertEqual(0, version.returncode, version.stderr)
                self.assertIn("0.1.0", version.stdout)
            unit = (root / "lib/systemd/system/inlier-worker.service").read_text()
            self.assertIn("\nExecStart=/opt/inlier/bin/inlier-worker --config /etc/inlier/worker.yaml\n", unit)
            self.assertNotIn("@INLIER", unit)
            completion = f"source {root}/share/bash-completion/completions/inlier; COMP_WORDS=(inlier tab); COMP_CWORD=1; _inlier; echo ${{COMPREPLY[@]}}"
            self.assertEqual("table", subprocess.run(["bash", "-c", completion], capture_output=True, text=True, cwd=folder).stdout.strip())
            if shutil.which("man"):
                manual = subprocess.run(["man", "-l", root / "share/man/man1/inlier.1"], capture_output=True, text=True, env=dict(os.environ, MANWIDTH="120"))
                self.assertIn("--max-rows", manual.stdout)
                manual = subprocess.run(["man", "-l", root / "share/man/man8/inlier-worker.8"], capture_output=True, text=True, env=dict(os.environ, MANWIDTH="120"))
                self.assertIn("inlier-worker - runs the trials", manual.stdout)
                self.assertIn("--metrics-reference", manual.stdout)
            if shutil.which("systemd-analyze"):
                # It also complains of the programs, which are not at the prefix itself.
                for unit in (root / "lib/systemd/system").iterdir():
                    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
                    for complaint in ("Unknown", "Failed to parse", "Invalid"):
                        self.assertNotIn(complaint, verified.stderr)

            local = subprocess.Popen([root / "bin/inlier", "up", "--dir", folder / "state", "--slots", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                harness.wait_for("the installed daemons", lambda: "connected" in harness.inlier("workers", "--dir", folder / "state", check=False).stdout)
                harness.inlier("submit", harness.SMOKE, "--dir", folder / "state", "--set", "training.steps=20")
                harness.wait_for("a result of the installed inlier-trial", lambda: harness.sql(folder / "state", "SELECT 1 FROM results"))
                self.backup_of_the_unit(root, folder)
            finally:
                local.terminate()
                local.wait(60)

            done = make("uninstall", folder)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            self.assertEqual([], files(folder / "opt"))


if __name__ == "__main__":
    unittest.main()
