"""Coordinators and workers started one by one, for tests of several of a kind: their settings, log, HTTP answers and ends."""
import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import harness


class Daemon:
    """One process of `program` with `settings` (field: value) over the file `config`, and the environment's `further` variables; its log is a file of
    its own. `limit` runs before it."""

    def __init__(self, folder, program, label, settings, further=None, limit=None, config=None):
        self.http = settings["http_listen"]
        self.log_file = pathlib.Path(folder) / f"{label}.log"
        arguments = ["--config", config] if config else []
        arguments += [word for field, value in settings.items() for word in ("--set", f"{field}={value}")]
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([str(harness.BIN / program), *arguments], stdout=log, stderr=log, env={**os.environ, **(further or {})}, preexec_fn=limit)

    def log(self):
        return self.log_file.read_text(errors="replace")

    def wait_for_log(self, text, seconds=60):
        def seen():
            if text in self.log():
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode} before it wrote {text!r}:\n{self.log()[-4000:]}")
            return False
        harness.wait_for(f"{text!r} in {self.log_file.name}", seen, seconds)

    def get(self, path):
        """(status, body) of its HTTP port; (0, "") while nothing listens there."""
        try:
            with urllib.request.urlopen(f"http://{self.http}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=90):
        """SIGTERM; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode


class DaemonTest(harness.FolderTest):
    """Tests with a coordinator at `server` and its state folder `state`; the daemons that still run are stopped at the end."""

    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.server = harness.free_address()

    def start(self, program, label, /, further=None, limit=None, config=None, **settings):
        daemon = Daemon(self.folder, program, label, {"state_dir": self.state, "http_listen": harness.free_address(), **settings}, further, limit, config)
        self.addCleanup(daemon.stop)
        return daemon

    def coordinator(self, label="coordinator", **settings):
        """A coordinator that serves."""
        daemon = self.start("inlier-coordinator", label, listen=self.server, **settings)
        daemon.wait_for_log("started ")
        return daemon

    def worker(self, name, **settings):
        return self.start("inlier-worker", name, **{"coordinator": self.server, "name": name, "slots": 1, "data_dir": harness.DATA, **settings})

    def inlier(self, *arguments, **options):
        return harness.inlier("--server", self.server, *arguments, **options)

    def sql(self, statement):
        return harness.sql(self.state, statement)
