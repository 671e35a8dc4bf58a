#!/usr/bin/env python3
"""The Debian packages in a bare system: installed, run by the units' command lines, upgraded while a training runs, removed, purged."""
import contextlib
import shutil
import socket
import subprocess
import unittest

import bare_system
import harness

PACKAGES = ("inlier", "inlier-coordinator", "inlier-trial", "inlier-worker")
HIGHER = "9.9.9"
# One training that is long enough to be met by the upgrade, one that has ended before it. No texts are needed.
SHORT = 20
SWEEP = """
name: packages
base:
  model: {gpt2: {preset: tiny}}
  data: {backcopy: {}}
  training: {batch_size: 4, checkpoint_every: 20}
  evaluation: {batches: 1, batch_size: 4}
axes:
  - {field: training.steps, values: [SHORT, 100000]}
"""


def steps(system):
    """Of the long training: the step of its last committed checkpoint."""
    found = harness.sql(system.root / "var/lib/inlier", f"SELECT max(step) FROM artifact WHERE step > {SHORT}")
    return found[0][0] or 0


class PackagesTest(unittest.TestCase):
    def test_install_upgrade_remove_purge(self):
        with bare_system.bare_system() as (system, folder):
            packages = self.built(folder)
            before = system.files()
            self.install(system, packages)
            self.what_is_installed(system, packages)
            self.configure(system)
            coordinator, worker = (bare_system.Service(system, name) for name in ("inlier-coordinator", "inlier-worker"))
            with contextlib.ExitStack() as daemons:
                for daemon in (coordinator, worker):
                    daemons.callback(lambda daemon=daemon: daemon.process and daemon.stop())
                    daemon.start()
                self.demo(system)
                self.backup(system)
                systemctl = bare_system.Systemctl(system, (coordinator, worker))
                self.upgrade(system, folder, packages, systemctl, worker)
                self.remove(system, systemctl)
            self.purge(system, before)

    def built(self, folder):
        build = harness.BIN.parent
        made = subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", folder / "packages", "-D", f"CPACK_OUTPUT_FILE_PREFIX={folder}/packages"],
                              cwd=build, capture_output=True, text=True)
        self.assertEqual(0, made.returncode, made.stdout + made.stderr)
        packages = sorted((folder / "packages").glob("*.deb"))
        self.assertEqual(list(PACKAGES), sorted(package.name.split("_")[0] for package in packages))
        return packages

    def place(self, system, packages):
        (system.root / "srv/debs").mkdir(exist_ok=True)
        for package in packages:
            shutil.copy(package, system.root / "srv/debs")
        return [f"/srv/debs/{package.name}" for package in packages]

    def install(self, system, packages):
        done = system.apt("install", *self.place(system, packages), check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        system.keep_downloads()

    def what_is_installed(self, system, packages):
        for program in PACKAGES:
            # As the daemons' user: every library is found, and those of LibTorch are the package's own.
            shown = system.run("setpriv", "--reuid=inlier", "--regid=inlier", "--clear-groups", f"/usr/bin/{program}", "--version").stdout
            self.assertIn(packages[0].name.split("_")[1] + "+", shown)
            self.assertNotIn("not found", system.run("ldd", f"/usr/bin/{program}").stdout)
        self.assertIn("/lib/inlier/libtorch_cpu.so", system.run("ldd", "/usr/bin/inlier-trial").stdout)
        paths = subprocess.run(["readelf", "-d", system.root / "usr/bin/inlier-trial"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(paths, r"RUNPATH\).*\[\$ORIGIN/../lib/inlier\]")  # No folder of the build, which others could own here.
        for file in ("usr/share/man/man1/inlier.1", "usr/share/man/man1/inlier-trial.1", "usr/share/man/man8/inlier-coordinator.8", "usr/share/man/man8/inlier-worker.8",
                     "usr/share/bash-completion/completions/inlier", "usr/share/zsh/site-functions/_inlier", "usr/share/fish/vendor_completions.d/inlier.fish",
                     "usr/share/doc/inlier/sweeps/quickstart.yaml", "usr/share/doc/inlier/echarts.copyright", "etc/inlier/coordinator.yaml", "usr/lib/inlier/libtorch_cpu.so"):
            self.assertTrue((system.root / file).is_file(), file)
        user = system.run("getent", "passwd", "inlier").stdout.split(":")
        self.assertEqual("/usr/sbin/nologin", user[6].strip())
        for state in ("inlier", "inlier-worker"):
            folder = (system.root / "var/lib" / state).stat()
            self.assertEqual((int(user[2]), 0o700), (folder.st_uid, folder.st_mode & 0o777), state)

    def configure(self, system):
        """Ports that are free, in both files, as an administrator would edit them."""
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in range(3)]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            self.ports = [one.getsockname()[1] for one in sockets]
        for role in ("coordinator", "worker"):
            file = system.root / f"etc/inlier/{role}.yaml"
            text = file.read_text()
            for usual, free in zip((7420, 7421, 7422), self.ports):
                text = text.replace(f":{usual}", f":{free}")
            file.write_text(text)

    def demo(self, system):
        (system.root / "srv/sweep.yaml").write_text(SWEEP.replace("SHORT", str(SHORT)))
        server = ("--server", f"127.0.0.1:{self.ports[0]}")
        self.assertIn("requires a token", system.run("inlier", "workers", *server, check=False).stdout)
        for file, user in (("tokens", "inlier"), ("worker.token", "inlier"), ("admin.token", "root")):
            self.assertEqual(f"{user} 600", system.run("stat", "-c", "%U %a", f"/etc/inlier/{file}").stdout.strip())
        server += ("--token-file", "/etc/inlier/admin.token")
        harness.wait_for("the worker", lambda: "connected" in system.run("inlier", "workers", *server, check=False).stdout)
        system.run("inlier", "submit", "/srv/sweep.yaml", *server)
        harness.wait_for("a result", lambda: harness.sql(system.root / "var/lib/inlier", "SELECT 1 FROM results"), 120)
        self.assertIn("packages", system.run("inlier", "status", *server).stdout)

    def backup(self, system):
        """As inlier-backup.service does it."""
        unit = bare_system.Service(system, "inlier-backup").unit
        system.run("install", "-d", "-o", unit["User"], "-g", unit["User"], "-m", unit["StateDirectoryMode"], f"/var/lib/{unit['StateDirectory']}")
        system.run("setpriv", f"--reuid={unit['User']}", f"--regid={unit['User']}", "--clear-groups", "env", "HOME=/nonexistent", *unit["ExecStart"].split())
        (made,) = (system.root / "var/lib/inlier-backups").iterdir()
        self.assertTrue(made.name.endswith(".scheduled"), made.name)

    def upgrade(self, system, folder, packages, systemctl, worker):
        harness.wait_for("watchdog notices", lambda: all("WATCHDOG=1" in service.notices for service in systemctl.services.values()))
        reached = harness.wait_for("a checkpoint of the long training", lambda: steps(system), 120)
        higher = [bare_system.higher_version(package, HIGHER, folder) for package in packages]
        done = system.apt("install", *self.place(system, higher), check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        for program in PACKAGES:
            self.assertEqual(HIGHER, system.run("dpkg-query", "-W", "-f", "${Version}", program).stdout)
        # The worker stops before files change, and reports that to a coordinator that runs.
        old = packages[0].name.split("_")[1]
        self.assertEqual(f"stop inlier-worker {old}", systemctl.calls[0])
        self.assertCountEqual([f"restart inlier-coordinator {HIGHER}", f"restart inlier-worker {HIGHER}"], systemctl.calls[1:])
        self.assertIn(f":{self.ports[0]}\n", (system.root / "etc/inlier/worker.yaml").read_text())  # As it was edited.
        self.assertIn("stopped reason=drained", worker.text())

        state = system.root / "var/lib/inlier"
        harness.wait_for("the training to resume", lambda: steps(system) > reached, 120)
        tokens = harness.sql(state, "SELECT token, outcome, failure, resume_step FROM attempt WHERE stage IN "
                             f"(SELECT stage FROM attempt JOIN artifact USING (token) WHERE artifact.step > {SHORT}) ORDER BY token")
        self.assertEqual(("PREEMPTED", "PREEMPTED"), tokens[0][1:3], tokens)
        self.assertGreaterEqual(tokens[1][3], reached, tokens)
        self.assertEqual([(0,)], harness.sql(state, "SELECT count(*) FROM attempt WHERE outcome = 'FAILED'"))
        self.assertEqual([(1,)], harness.sql(state, "SELECT count(*) FROM results"))

    def remove(self, system, systemctl):
        systemctl.calls.clear()
        done = system.apt("remove", *PACKAGES)
        self.assertCountEqual([f"stop inlier-coordinator {HIGHER}", f"stop inlier-worker {HIGHER}"], systemctl.calls, done.stdout)
        self.assertFalse((system.root / "usr/lib/inlier").exists())
        self.assertTrue((system.root / "etc/inlier/worker.yaml").exists(), "a removed package keeps its configuration")

    def purge(self, system, before):
        done = system.apt("purge", "--auto-remove", "inlier*").stdout
        (system.root / "usr/bin/systemctl").unlink()
        self.assertIn("results and models are kept in /var/lib/inlier;", done)
        self.assertIn("backups are kept in /var/lib/inlier-backups;", done)
        data = ("/var/lib/inlier/", "/var/lib/inlier-backups/", "/var/lib/inlier-worker/", "/srv/")
        backups = {"/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-"}  # Of adduser: the system's users before the last change.
        left = [path for path in system.files() - before - backups if not (path + "/").startswith(data)]
        self.assertEqual([], sorted(left))
        # The data are whole, and their user is still there.
        self.assertEqual([(1,)], harness.sql(system.root / "var/lib/inlier", "SELECT count(*) FROM results"))
        owner = (system.root / "var/lib/inlier/inlier.db").stat().st_uid
        self.assertEqual("inlier", system.run("getent", "passwd", str(owner)).stdout.split(":")[0])
        shutil.rmtree(system.root / "var/lib/inlier")
        shutil.rmtree(system.root / "var/lib/inlier-worker")


if __name__ == "__main__":
    bare_system.enter()
    unittest.main()
