"""A coordinator with a fleet on a private Slurm. Trials are fake_trial's: trainings of a stated length that write checkpoints and resume."""
import json
import os
import pathlib
import signal
import subprocess

import harness

FAKE_TRIAL = pathlib.Path(os.environ.get("INLIER_FAKE_TRIAL", harness.BIN / "fake_trial"))
STEP_MS = 50


class Fleet:
    """A coordinator with a fleet on a private Slurm, all in one folder that its workers share."""

    def __init__(self, folder, slurm, fleet=None, **settings):
        self.folder, self.slurm, self.address = folder, slurm, harness.free_address()
        (folder / "data").mkdir()
        for role in ("admin", "work"):
            made = harness.inlier("token", "add", "--file", folder / "tokens", "--role", role, "--name", role, "--quiet")
            (folder / f"{role}.token").write_text(made.stdout)
            (folder / f"{role}.token").chmod(0o600)
        self.worker_config = folder / "worker.yaml"
        self.worker_config.write_text(json.dumps({
            "coordinator": self.address, "token_file": str(folder / "work.token"), "state_dir": str(folder / "state"), "data_dir": str(folder / "data"), "trial_program": str(FAKE_TRIAL),
            "trial_environment": ["FAKE_*"], "slots": 1, "threads_per_slot": 1}))
        self.config = {"state_dir": str(folder / "state"), "listen": self.address, "http_listen": "127.0.0.1:0", "lease_ttl_ms": 5000,
                       "tokens_file": str(folder / "tokens"), **settings}
        if fleet is not None:
            self.config["fleet"] = self.fleet_config(**fleet)
        (folder / "coordinator.yaml").write_text(json.dumps(self.config))
        self.process = None
        self.start()

    def fleet_config(self, slurm=None, **fields):
        return {"maximum": 8, "slots": 1, "idle_seconds": 4, "look_seconds": 1, "call_seconds": 5, "unclear_seconds": 8, "worker_config": str(self.worker_config),
                "slurm": {"partition": "work", "time_limit_minutes": 2, "notice_seconds": 60, "options": [f"--export=ALL,FAKE_STEP_MS={STEP_MS}"], **(slurm or {})},
                **fields}

    def start(self, failpoints=None):
        environment = dict(self.slurm.environment)
        if failpoints:
            environment["INLIER_FAILPOINTS"] = failpoints
        (self.folder / "state/endpoint.json").unlink(missing_ok=True)
        with open(self.folder / "coordinator.log", "ab") as log:
            self.process = subprocess.Popen([harness.BIN / "inlier-coordinator", "--config", self.folder / "coordinator.yaml"], stdout=log, stderr=log, env=environment)
        harness.wait_for("the coordinator", lambda: (self.folder / "state/endpoint.json").exists() or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise AssertionError(self.log())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def inlier(self, *arguments, **options):
        return harness.inlier(*arguments, "--server", self.address, "--token-file", self.folder / "admin.token", **options)

    def json(self, *arguments):
        return json.loads(self.inlier(*arguments, "--json").stdout)

    def status(self):
        return self.json("fleet", "status")

    def sql(self, statement):
        return harness.sql(self.folder / "state", statement)

    def submit(self, name, steps, processes=1, **training):
        """A sweep with a trial of each of these numbers of steps."""
        sweep = {"name": name, "resources": {"processes": processes},
                 "base": {"model": {"bert": {"preset": "tiny"}}, "data": {"text": {"corpus": "kjv", "sequence_length": 64}},
                          "training": {"checkpoint_every": 20, **training}},
                 "axes": [{"zip": ["seed", "training.steps"], "values": [[seed, number] for seed, number in enumerate(steps, 1)]}]}
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(sweep))
        return self.inlier("submit", path, "--quiet").stdout.strip()

    def why(self, sweep):
        return self.inlier("why", sweep).stdout

    def wait_complete(self, sweep, seconds=240):
        harness.wait_for(f"the end of {sweep}", lambda: self.sql(f"SELECT state FROM sweeps WHERE sweep_id = '{sweep}'") == [("COMPLETE",)], seconds)

    def log(self):
        return "\n".join(f"== {path}\n{path.read_text(errors='replace')[-3000:]}" for path in [self.folder / "coordinator.log", *sorted((self.folder / "state/fleet").glob("*.out"))[-3:]]
                         if path.exists())

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error is not None:
            print(self.log())
        self.stop()
