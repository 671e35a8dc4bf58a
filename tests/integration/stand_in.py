"""In the place of a worker's runner: starts a Python program as a trial, and has what it reported. docs/reference/protocol.md."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/python"
SCHEMA = ROOT / "docs/reference/protocol.schema.json"


class Ended:
    """A program that has ended: its lines as objects, its status, and what it printed."""

    def __init__(self, lines, status, out, err):
        self.lines, self.status, self.out, self.err = [json.loads(line) for line in lines.splitlines()], status, out, err
        self.raw = lines

    def of(self, kind):
        return [line[kind] for line in self.lines if kind in line]

    @property
    def points(self):
        """(name, step, value) of the points of curves."""
        return [(m["name"], m["step"], m["value"]) for m in self.of("measurement") if not m.get("final")]

    @property
    def results(self):
        return {m["name"]: m["value"] for m in self.of("measurement") if m.get("final")}

    @property
    def outcome(self):
        outcomes = self.of("outcome")
        assert len(outcomes) <= 1, outcomes
        assert not outcomes or "outcome" in self.lines[-1], self.lines
        return outcomes[0] if outcomes else None


class Program:
    """A program that runs. `code`: its text, or `command` the words that start it, in `folder`."""

    def __init__(self, code="", *, given=None, environment=None, command=None, folder=None, by_hand=False, python=sys.executable):
        self.temporary = tempfile.TemporaryDirectory(prefix="inlier-trial-")
        self.folder = pathlib.Path(folder or self.temporary.name)
        self.output = pathlib.Path(self.temporary.name) / "output"
        self.output.mkdir()
        if code:
            (self.folder / "program.py").write_text(code, encoding="utf-8")
        variables = {name: value for name, value in os.environ.items() if not name.startswith("INLIER_") and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
        variables.update(PYTHONPATH=os.pathsep.join(filter(None, (str(CLIENT), os.environ.get("PYTHONPATH")))), PYTHONDONTWRITEBYTECODE="1", **(environment or {}))
        reads, writes = os.pipe()
        replies_end, self.replies = os.pipe()
        if not by_hand:
            trial = {"protocol": 1, "program": "test", "stage": "train", "parameters": {}, "seed": 1, "output_dir": str(self.output), "device": "cpu",
                     "threads": 1, "rank": 0, "world_size": 1, "stage_id": "st-1", "token": 1, **(given or {})}
            file = pathlib.Path(self.temporary.name) / "trial.json"
            file.write_text(json.dumps(trial), encoding="utf-8")
            variables.update(INLIER_TRIAL=str(file), INLIER_EVENTS=str(writes))
        self.process = subprocess.Popen(command or [python, "program.py"], cwd=self.folder, env=variables, stdin=replies_end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        pass_fds=() if by_hand else (writes,), start_new_session=True)
        os.close(writes)
        os.close(replies_end)
        self.lines = b""
        self.grown = threading.Condition()
        self.reader = threading.Thread(target=self._read, args=(reads,), daemon=True)
        self.reader.start()

    def _read(self, descriptor):
        with os.fdopen(descriptor, "rb") as file:
            for line in file:
                with self.grown:
                    self.lines += line
                    self.grown.notify_all()
                saved = json.loads(line).get("checkpoint")
                if saved:
                    with contextlib.suppress(BrokenPipeError):  # The program has ended.
                        os.write(self.replies, json.dumps({"saved": {"step": saved["step"]}}).encode() + b"\n")

    def wait_for(self, text):
        with self.grown:
            assert self.grown.wait_for(lambda: text.encode() in self.lines, timeout=60), f"no line with {text}: {self.lines}"

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)

    def end(self, seconds=120):
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError(f"the program does not end: {self.process.communicate()}") from None
        self.reader.join(60)
        assert not self.reader.is_alive(), "a process holds the descriptor open"
        os.close(self.replies)
        self.temporary.cleanup()
        return Ended(self.lines.decode(), self.process.returncode, out, err)


def run(code="", **options):
    return Program(code, **options).end()
