"""A trial from inside of its program: its values, and its reports.

    from inlier import trial

    p = trial.parameters(lr=3e-4, layers=4)       # these are the defaults; p.lr, p["lr"]
    for step in range(1, 1001):
        ...
        trial.log(step=step, loss=loss)           # a point of a curve
    trial.result(perplexity=31.2)                 # a result

A worker that starts the program gives it a file with its values, and a descriptor for its reports (docs/reference/protocol.md). Started by hand, the
program has its defaults, and its reports are printed. It needs the standard library alone: `pip install --no-deps` is enough for it.
"""
from __future__ import annotations

import atexit
import json
import math
import os
import pathlib
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inlier._parameters import ParameterError, Values, note

PROTOCOL = 1
_OWNER = "INLIER_REPORTER"  # In the environment of all that the program starts: the process that reports.
_TEXT_MAX = 8_000  # Characters of a message; a line may have 64 KiB.


def _number(name: str, value: Any) -> float:
    """A measurement's value: a number, or what numpy and torch have for one."""
    try:
        if hasattr(value, "item"):
            value = value.item()
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        pass
    raise TypeError(f"{name} is {value!r}: a measurement is one number")


class _Trial:
    """The values of this process, and the way to the runner."""

    def __init__(self) -> None:
        self.file = os.environ.get("INLIER_TRIAL", "")
        self.process = os.getpid()
        self.folder = pathlib.Path.cwd()  # The program's; it may go elsewhere later.
        self.given: dict[str, Any] = self._read() if self.file else {}
        self.values = Values(self.given)
        self.step, self.steps_total = int(self.given.get("resume_step", 0)), 0
        self.step_given = self.ended = self.failed = False
        self.exit_text = ""
        self.handles_stop = False
        self.stop_signal = self.stop_asked = self.stop_seen = False  # SIGTERM came; should_stop() was called; it was true.
        self.next_progress = 0.0
        self.lock = threading.RLock()
        self.noted: set[str] = set()
        self.replies = b""
        self.results: dict[str, dict[str, Any]] = {}  # By name; written before the outcome, so that each has one value.
        self.ranks = "RANK" in os.environ and "WORLD_SIZE" in os.environ  # Of torchrun and what works like it.
        owner = os.environ.setdefault(_OWNER, str(self.process)) if self.file else str(self.process)
        self.is_owner = owner == str(self.process)
        # Each runner waits for an outcome, of the first process that it has; everything else comes from rank 0 alone.
        self.leads = self.is_owner and (not self.ranks or os.environ.get("LOCAL_RANK", "0") == "0")
        self.events = self._open() if self.file and self.leads else -1
        if self.file and self.is_owner:
            self.handle_stop()
            self._hook()

    def _read(self) -> dict[str, Any]:
        try:
            with open(self.file, encoding="utf-8") as file:
                given: dict[str, Any] = json.load(file)
        except (OSError, ValueError) as error:
            raise RuntimeError(f"INLIER_TRIAL names {self.file}, which cannot be read ({error}); without it the program has its defaults") from None
        if given.get("protocol") != PROTOCOL:
            raise RuntimeError(f"{self.file} is of protocol {given.get('protocol')}, this package of {PROTOCOL}: install that of the worker's release")
        return given

    def _open(self) -> int:
        """The descriptor that INLIER_EVENTS names. torchrun and others close it in the processes that they start: then it is opened again, by way of
        the first process of the program, which has it."""
        number = os.environ.get("INLIER_EVENTS", "")
        first = self.process
        try:
            mark = f"INLIER_TRIAL={self.file}".encode()
            while True:
                with open(f"/proc/{first}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{parent}/environ", "rb") as data:
                    if mark not in data.read().split(b"\0"):
                        break
                first = parent
        except (OSError, ValueError):
            pass  # No such process, or not ours.
        try:
            if first != self.process:
                return os.open(f"/proc/{first}/fd/{int(number)}", os.O_WRONLY | os.O_CLOEXEC)
            os.fstat(int(number))
            return int(number)
        except (OSError, ValueError) as error:
            problem = f"INLIER_EVENTS names descriptor '{number}', which is not open in process {first} ({error})"
            raise RuntimeError(f"{problem}: what starts the program must keep it open") from None

    def _hook(self) -> None:
        show, leave = sys.excepthook, sys.exit

        def excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
            show(kind, error, trace)
            self.failed = True
            text = str(error)
            memory = isinstance(error, MemoryError) or kind.__name__ == "OutOfMemoryError" or "out of memory" in text or "can't allocate memory" in text
            failure = "OUT_OF_MEMORY" if memory else "INVALID_SPEC" if isinstance(error, ParameterError) else "CRASHED"
            self.outcome("FAILED", f"{kind.__name__}: {text}" if text else kind.__name__, failure)

        def noted_exit(status: Any = None, /) -> Any:
            if threading.current_thread() is threading.main_thread():
                self.failed = status not in (None, 0)
                self.exit_text = "" if status is None or isinstance(status, int) else str(status)
            leave(status)

        sys.excepthook, sys.exit = excepthook, noted_exit
        atexit.register(self.at_exit)

    def at_exit(self) -> None:
        if not self.reports("") or self.ended:
            return
        if rank() == 0:
            self.values.note_not_asked()
        if self.exit_text:
            self.outcome("FAILED", self.exit_text, "CRASHED")
        elif not self.failed and not self.stop_seen:  # A program that ends because it was asked to has no outcome: it is resumed.
            self.outcome("SUCCEEDED")

    def handle_stop(self) -> None:
        """SIGTERM is kept for should_stop(). A program that never asks ends by it, as it would without this."""
        if self.handles_stop or threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGTERM)

        def on_stop(number: int, frame: types.FrameType | None) -> None:
            self.stop_signal = True
            if callable(before):
                before(number, frame)
            elif before == signal.SIG_DFL and (not self.stop_asked or os.getpid() != self.process):
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, on_stop)
        self.handles_stop = True

    def reports(self, what: str) -> bool:
        """Whether this process may write a line: not one that the program started, and nothing after an outcome."""
        if os.getpid() != self.process or not self.is_owner:
            problem = f"{what} is ignored in process {os.getpid()}: only the process that imports inlier.trial first reports"
        elif self.ended:
            problem = f"{what} is ignored: the trial's outcome is reported, and nothing comes after it"
        else:
            return True
        if what and what not in self.noted:
            self.noted.add(what)
            note(problem)
        return False

    def emit(self, what: str, key: str, body: dict[str, Any], for_people: str) -> None:
        with self.lock:
            if not self.reports(what) or (rank() != 0 if key != "outcome" else not self.leads):
                return
            self.ended = key == "outcome"
            if not self.file:
                if for_people:
                    print(for_people, flush=True)
                return
            line = (json.dumps({key: body}, allow_nan=False) + "\n").encode("ascii")
            try:
                while line:
                    line = line[os.write(self.events, line) :]
            except OSError as error:
                self.stop_signal = self.ended = True
                note(f"the worker reads no reports any more ({error}): the program should stop")

    def measure(self, what: str, values: Mapping[str, Any], step: int, final: bool) -> None:
        numbers = {str(name): _number(str(name), value) for name, value in values.items()}
        if not self.file and numbers:
            shown = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
            self.emit(what, "measurement", {}, f"result: {shown}" if final else f"step {step}: {shown}")
            return
        for name, number in numbers.items():
            value = number if math.isfinite(number) else "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
            body = {"name": name, "value": value, "step": step, "final": final}
            if not final:
                self.emit(what, "measurement", body, "")
            elif self.reports(what):
                self.results[name] = body

    def step_of(self, step: int | None) -> int:
        """The step of a report: the one given, else the latest, else a count of the reports."""
        if step is not None:
            self.step, self.step_given = int(step), True
        elif not self.step_given:
            self.step += 1
        return self.step

    def progress(self, step: int, total: int | None, loss: Any, phase: str, *, quiet: bool = False) -> None:
        self.steps_total = int(total) if total else self.steps_total
        now = time.monotonic()
        if now < self.next_progress and step != self.steps_total:  # People need no more of them.
            return
        self.next_progress = now + (0.2 if self.file else 1.0)
        body: dict[str, Any] = {"step": step}
        if self.steps_total:
            body["steps_total"] = self.steps_total
        if loss is not None and math.isfinite(number := _number("loss", loss)):
            body["loss"] = number
        if phase:
            body["phase"] = phase
        of = f"/{self.steps_total}" if self.steps_total else ""
        shown = f"step {step}{of}" + (f", loss {body['loss']:.6g}" if "loss" in body else "")
        self.emit("trial.progress", "progress", body, "" if quiet else shown)

    def outcome(self, kind: str, message: str = "", failure: str = "") -> None:
        body = {"kind": kind, **({"message": message[:_TEXT_MAX]} if message else {}), **({"failure": failure} if failure else {})}
        if self.reports("") and self.leads:
            for result in self.results.values() if kind != "FAILED" else ():
                self.emit("", "measurement", result, "")
            self.emit("", "outcome", body, f"{kind}: {message}" if message else kind)

    def taken_over(self, step: int) -> bool:
        """Whether the worker has taken over the checkpoint of that step: it answers on the standard input. Then the files may be removed."""
        if self.file:
            import select

            while select.select([0], [], [], 0)[0] and (read := os.read(0, 65536)):
                self.replies += read
        return f'{{"saved": {{"step": {step}}}}}'.encode() in self.replies.split(b"\n")

    def output(self, path: os.PathLike[str] | str, what: str) -> str:
        """`path`, relative to the folder of the output; it must be there."""
        folder = output_dir().resolve()
        full = (folder / path).resolve() if not os.path.exists(path) else pathlib.Path(path).resolve()
        if not full.exists():
            raise FileNotFoundError(f"{what}: {path} is not there: report it when it is whole on disk")
        if folder not in full.parents:
            raise ValueError(f"{what}: {path} is not below {folder}: write it to trial.output_dir()")
        return full.relative_to(folder).as_posix()


_trial = _Trial()


def parameters(of: Any = None, /, **defaults: Any) -> Any:
    """The trial's values. `of`: a dataclass or an instance, an argparse parser or its Namespace, a mapping, a configuration of Hydra, which come back
    with the trial's values; or names with their defaults, of which a mapping is a group. Without arguments: all that the trial has."""
    found = _trial.values.read(of, defaults)
    if _trial.file and _trial.is_owner and rank() == 0:
        _trial.values.note_undeclared()
    return found


def log(values: Mapping[str, Any] | None = None, /, *, step: int | None = None, **more: Any) -> None:
    """Reports points of curves. Without a step it is the latest one that was given, or a count of the calls."""
    found = {**(values or {}), **more}
    step = _trial.step_of(step)
    _trial.progress(step, None, found.get("loss"), "", quiet=True)
    _trial.measure("trial.log", found, step, False)


def result(values: Mapping[str, Any] | None = None, /, *, step: int | None = None, **more: Any) -> None:
    """Reports results: what tables and figures show. They are written with the outcome; a name's last value counts."""
    _trial.measure("trial.result", {**(values or {}), **more}, step if step is not None else _trial.step, True)


def progress(step: int, total: int | None = None, loss: Any = None, phase: str = "") -> None:
    """Reports how far the program is; at most five lines a second are written."""
    _trial.progress(_trial.step_of(step), total, loss, phase)


def checkpoint(path: os.PathLike[str] | str, step: int | None = None, final: bool = False) -> None:
    """Reports a file or a folder below output_dir(), complete on disk: the program is resumed from the latest. `final`: the trained model."""
    if rank() == 0 and _trial.reports("trial.checkpoint"):
        place, step = _trial.output(path, "trial.checkpoint"), _trial.step if step is None else int(step)
        _trial.emit("trial.checkpoint", "checkpoint", {"path": place, "step": step, "final": final}, f"checkpoint: {output_dir() / place}")


def keep(path: os.PathLike[str] | str) -> None:
    """Reports a file below output_dir() that stays with the attempt when its checkpoints are removed."""
    if rank() == 0 and _trial.reports("trial.keep"):
        place = _trial.output(path, "trial.keep")
        _trial.emit("trial.keep", "file", {"path": place}, f"file: {output_dir() / place}")


def succeed(message: str = "") -> None:
    """Reports success. A program that ends without an error has it reported by itself."""
    _trial.outcome("SUCCEEDED", message)


def diverge(message: str) -> None:
    """Reports that the training diverged, which is a result and not retried, and ends the program."""
    _trial.outcome("DIVERGED", message)
    raise SystemExit(0)


def should_stop() -> bool:
    """Whether the program was asked to stop (SIGTERM): it should save a checkpoint, report it, and end."""
    _trial.stop_asked = True
    _trial.handle_stop()
    _trial.stop_seen = _trial.stop_seen or _trial.stop_signal
    return _trial.stop_seen


def all_should_stop() -> bool:
    """should_stop() of any process of torch.distributed's group: all must leave their loop after the same step. Every process must call it."""
    stop, torch = should_stop(), sys.modules.get("torch")
    if torch is None or world_size() == 1 or not torch.distributed.is_initialized():
        return stop
    flag = torch.tensor([int(stop)], device="cuda" if torch.distributed.get_backend() == "nccl" else "cpu")
    torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
    _trial.stop_seen = _trial.stop_seen or bool(flag.item())
    return _trial.stop_seen


def _remove(path: pathlib.Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink()


def steps(total: int, save: Callable[[pathlib.Path], Any] | None = None, load: Callable[[pathlib.Path], Any] | None = None, every: int = 0) -> Iterator[int]:
    """The steps 1 to `total` of a training, or those after the checkpoint that `load` reads. `save` writes one every so many steps, of the last step as
    the trained model, and when the trial is to stop: then the program ends. Of several processes rank 0 saves. Earlier checkpoints that the worker has
    taken over are removed."""
    should_stop()  # From now on SIGTERM is a question.
    start = resume_from() if load else None
    if load and start:
        load(start)

    kept: list[int] = []

    def report(name: str, step: int, final: bool) -> None:
        if save and rank() == 0:
            save(output_dir() / name)
            checkpoint(name, step, final)
            for old in [old for old in kept if _trial.taken_over(old)]:
                kept.remove(old)
                _remove(output_dir() / f"step-{old}")
            kept.append(step)

    for step in range(resume_step() + 1 if start else 1, total + 1):
        yield step
        progress(step, total)
        stop = step < total and all_should_stop()
        if stop or (every and step % every == 0 and step < total):
            report(f"step-{step}", step, False)
        if stop:
            raise SystemExit(0)
    report("model", total, True)


def resume_from() -> pathlib.Path | None:
    """The checkpoint to resume from; None: from scratch."""
    return pathlib.Path(_trial.given["resume_from"]) if _trial.given.get("resume_from") else None


def resume_step() -> int:
    """The step of that checkpoint; 0 from scratch."""
    return int(_trial.given.get("resume_step", 0))


def model(default: os.PathLike[str] | str | None = None) -> pathlib.Path | None:
    """In an evaluation: what the training reported as its final checkpoint."""
    path = _trial.given.get("model", default)
    return pathlib.Path(path) if path else None


def setting(name: str, default: Any = None) -> Any:
    """A setting of the sweep for inlier's evaluation of the model (`evaluate: [inlier]`): "data.text.path", "attention.softmax"."""
    at: Any = _trial.given.get("settings", {})
    for word in name.split("."):
        at = at.get(word) if isinstance(at, dict) else None
    return default if at is None else at


def stage(default: str = "train") -> str:
    """"train" or "evaluate"."""
    return str(_trial.given.get("stage", default))


def seed(default: int = 1) -> int:
    return int(_trial.given.get("seed", default))


def device(default: str = "cpu") -> str:
    """"cpu" or "cuda"."""
    return str(_trial.given.get("device", default))


def output_dir(default: os.PathLike[str] | str = "output") -> pathlib.Path:
    """The folder for checkpoints and files; it is there."""
    path = pathlib.Path(_trial.given.get("output_dir", default))
    path.mkdir(parents=True, exist_ok=True)
    return path


def meeting() -> str:
    """A file by which the processes of a training find each other, where the worker starts several: init_method=f"file://{trial.meeting()}"."""
    return str(_trial.given.get("meeting", ""))


def program_folder() -> pathlib.Path:
    """Where the program was started: the folder of inlier-program.yaml."""
    return _trial.folder


def rank() -> int:
    """The number of this process in a training by several, from 0: that of torchrun where it started the program."""
    return int(os.environ["RANK"] if _trial.ranks else _trial.given.get("rank", 0))


def world_size() -> int:
    return int(os.environ["WORLD_SIZE"] if _trial.ranks else _trial.given.get("world_size", 1))
