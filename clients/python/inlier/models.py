"""What the coordinator answers, as plain Python values. `message` is the protobuf message with everything."""
from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from google.protobuf import json_format

from inlier.v1 import attempt_pb2, sweep_service_pb2


def at(unix_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(unix_ms / 1000, tz=datetime.timezone.utc)


@dataclasses.dataclass(frozen=True)
class Status:
    """A sweep with counts of its trials."""

    sweep: str  # "s-12"
    name: str
    state: str  # ACTIVE, COMPLETE, CANCELLED, STOPPED_BY_FAILURES, STOPPED_BY_TIME or STOPPED_BY_BUDGET.
    pending: int
    running: int
    succeeded: int
    diverged: int
    failed: int
    cancelled: int
    paused: bool
    revision: int
    warnings: tuple[str, ...]
    message: sweep_service_pb2.SweepStatus = dataclasses.field(repr=False, compare=False)

    @property
    def trials(self) -> int:
        return self.pending + self.running + self.succeeded + self.diverged + self.failed + self.cancelled

    @property
    def active(self) -> bool:
        return self.state == "ACTIVE"

    @property
    def spec(self) -> dict[str, Any] | None:
        """The sweep as submitted or last edited; of status(sweep) only."""
        if not self.message.HasField("spec"):
            return None
        return json_format.MessageToDict(self.message.spec, preserving_proto_field_name=True)

    @staticmethod
    def of(message: sweep_service_pb2.SweepStatus) -> Status:
        trials = message.trials
        return Status(
            message.sweep_id, message.name, sweep_service_pb2.SweepState.Name(message.state).replace("SWEEP_", ""), trials.pending, trials.running,
            trials.succeeded, trials.diverged, trials.failed, trials.cancelled, message.paused, message.revision, tuple(message.warnings), message,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Running:
    """An attempt that runs."""

    trial: str
    labels: dict[str, str]
    worker: str
    phase: str  # "train", "evaluate", ...
    step: int
    steps: int
    loss: float | None
    latest: dict[str, float]  # Of each curve of the whole model, its latest value.

    @staticmethod
    def of(message: sweep_service_pb2.RunningAttempt) -> Running:
        progress: attempt_pb2.Progress = message.progress
        latest = {point.name: point.value for point in message.latest}
        loss = progress.loss if progress.HasField("loss") else None
        return Running(message.trial_id, dict(message.labels), message.worker, progress.phase, progress.step, progress.steps_total, loss, latest)


@dataclasses.dataclass(frozen=True)
class Update:
    """The state of a watched sweep after a change."""

    status: Status
    work_done: float  # 0 ... 1.
    seconds_left: float | None  # None while it is not known.
    running: tuple[Running, ...]
    notices: tuple[str, ...]  # New ones: retries, failures, lost workers.
    sequence: int  # Of the last notice; watch(from_sequence=...) resumes after it.

    @staticmethod
    def of(message: sweep_service_pb2.SweepUpdate) -> Update:
        left = message.seconds_left if message.HasField("seconds_left") else None
        running = tuple(Running.of(attempt) for attempt in message.running)
        return Update(Status.of(message.status), message.work_done, left, running, tuple(message.notices), message.sequence)


@dataclasses.dataclass(frozen=True)
class Submitted:
    sweep: str
    trials: int
    known: int  # Of these, trials whose results exist; a worker must find their data unchanged.


@dataclasses.dataclass(frozen=True)
class Edited:
    trials: int
    added: int
    kept: int
    withdrawn: int
    stopped: int
    revision: int


@dataclasses.dataclass(frozen=True)
class Stopped:
    """The answer to pause and drain."""

    changed: bool  # False: it was so already.
    running: int  # Attempts that continue to their end.
    stopping: int  # Attempts that stop after a checkpoint.


@dataclasses.dataclass(frozen=True)
class LogLine:
    stage: str
    attempt: int  # The attempt's token.
    at: datetime.datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.text}"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A statement and its reasons; str() is the tree."""

    text: str
    state: str
    because: tuple[Explanation, ...] = ()

    @staticmethod
    def of(message: sweep_service_pb2.Explanation) -> Explanation:
        return Explanation(message.text, message.state, tuple(Explanation.of(reason) for reason in message.because))

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        return [indent + self.text, *(line for reason in self.because for line in reason._lines(indent + "  "))]
