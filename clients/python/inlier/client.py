"""A coordinator: submit, watch, control, results."""
from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import grpc
import pandas as pd

from inlier import _credentials, _program, _settings, _specs, models, tables
from inlier._connection import Connection, backoff
from inlier._frames import make_frame
from inlier._progress import Bar
from inlier._results import Names, Results, list_of
from inlier.errors import InlierError, TruncatedError
from inlier.v1 import sweep_service_pb2 as service
from inlier.v1 import sweep_spec_pb2

Sweep = Union[Mapping[str, Any], "os.PathLike[str]", str]
_LINES_IN_A_PAGE = 10_000
_LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def connect(
    folder: os.PathLike[str] | str | None = None,
    address: str | None = None,
    *,
    tls_ca: os.PathLike[str] | str = "",
    certificate: os.PathLike[str] | str = "",
    key: os.PathLike[str] | str = "",
    token: str = "",
    token_file: os.PathLike[str] | str = "",
    insecure: bool = False,
    patience: float = 15,
) -> Client:
    """The coordinator at `address` (HOST:PORT), or the one that runs in the state folder `folder` (of `inlier up`).

    Without both: INLIER_SERVER, INLIER_DIR, the user's client.yaml, the folder .inlier, 127.0.0.1:7420, as the command line does. The token is found
    in the folder, then in INLIER_TOKEN_FILE and INLIER_TOKEN, then by client.yaml. `insecure`: the token may go to another machine without TLS, and
    other users may read its file. `patience`: seconds for which later calls are repeated while no coordinator answers. Raises UnavailableError when
    none answers now, ConflictError for a coordinator of another version.
    """
    choice = _settings.choose(address, None if folder is None else os.fspath(folder))
    given = _credentials.Security(os.fspath(tls_ca), os.fspath(certificate), os.fspath(key), token, os.fspath(token_file), insecure)
    client = Client(Connection(choice, given, patience))
    try:
        client._connection.call("ListSweeps", service.ListSweepsRequest(page_size=1), repeat=False)
    except BaseException:
        client.close()
        raise
    return client


class Client(Results):
    """Made by connect(). Thread-safe. A sweep is named by its id ("s-12") or its name (the latest of that name, your own first)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def address(self) -> str:
        return self._connection.address

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sweeps.

    def submit(
        self,
        sweep: Sweep,
        *,
        scale: str | None = None,
        set: Mapping[str, Any] | None = None,
        again: bool = False,
        priority: int | None = None,
        max_parallel: int | None = None,
        max_trials: int = 10_000,
    ) -> models.Submitted:
        """Submits a sweep; it starts at once. A dict has the keys of the YAML file. A path, or a YAML text of several lines, is read and checked by
        the program `inlier`. `set` changes fields of the base: {"training.steps": 100}. `again`: trials with a known result run once more.
        `max_trials`: refuses a sweep that has more."""
        request = service.SubmitSweepRequest(request_id=str(uuid.uuid4()), max_trials=max_trials, again=again)
        request.sweep.CopyFrom(read_sweep(sweep, scale, set or {}))
        if priority is not None:
            request.sweep.priority = priority
        if max_parallel is not None:
            request.sweep.max_parallel = max_parallel
        answer = self._connection.call("SubmitSweep", request)
        return models.Submitted(answer.sweep_id, answer.trials, answer.trials_known)

    def edit(self, sweep: str, spec: Sweep | None = None, *, scale: str | None = None, set: Mapping[str, Any] | None = None) -> models.Edited:
        """Replaces a running sweep by `spec`, which has its name, base and axis names, or changes fields of the sweep itself by `set`:
        {"priority": 3, "max_parallel": 8}. Finished trials do not run again."""
        current = self._connection.call("GetSweep", service.GetSweepRequest(sweep=sweep))
        changed: sweep_spec_pb2.SweepSpec = current.spec if spec is None else read_sweep(spec, scale, {})
        _specs.to_message(set or {}, changed)
        request = service.EditSweepRequest(sweep=current.sweep_id, spec=changed, revision=current.revision, request_id=str(uuid.uuid4()))
        answer = self._connection.call("EditSweep", request)
        return models.Edited(answer.trials, answer.added, answer.kept, answer.withdrawn, answer.stopped, answer.revision)

    def status(self, sweep: str) -> models.Status:
        return models.Status.of(self._connection.call("GetSweep", service.GetSweepRequest(sweep=sweep)))

    def sweeps(self, active: bool = False) -> list[models.Status]:
        """All sweeps, or only the active ones; the newest first."""
        found: list[models.Status] = []
        token = ""
        while True:
            page = self._connection.call("ListSweeps", service.ListSweepsRequest(active=active, page_token=token))
            found += [models.Status.of(sweep) for sweep in page.sweeps]
            token = page.next_page_token
            if not token:
                return found

    def watch(self, sweep: str, *, from_sequence: int | None = None, progress: bool = False, patience: float = 120) -> Iterator[models.Update]:
        """The current state at once, then an update after each change, until the sweep has ended. A lost connection is resumed without losing a
        notice; UnavailableError when no coordinator answers for `patience` seconds. `progress` shows a bar (tqdm)."""
        sweep = self._sweep_id(sweep)
        bar = Bar() if progress else None
        answered, failures = time.monotonic(), 0
        state = ""
        try:
            while True:
                request = service.WatchSweepRequest(sweep=sweep)
                if from_sequence is not None:
                    request.from_sequence = from_sequence
                stream: Any = self._connection.stream("WatchSweep", request)
                lost: grpc.RpcError | None = None
                try:
                    for message in stream:
                        update = models.Update.of(message)
                        from_sequence = message.sequence if message.HasField("sequence") else from_sequence
                        answered, failures, state = time.monotonic(), 0, update.status.state
                        if bar is not None:
                            bar.show(update)
                        yield update
                        answered = time.monotonic()
                except grpc.RpcError as error:
                    lost = error
                finally:
                    stream.cancel()
                if lost is None and state not in ("", "ACTIVE"):
                    return
                if lost is not None and lost.code() not in _LOST:
                    raise self._connection.explain(lost)
                if time.monotonic() - answered > patience:
                    raise self._connection.explain(lost) if lost is not None else InlierError(f"the watch of {sweep} ends again and again")
                failures += 1
                time.sleep(backoff(failures))
                self._connection.reopen_if_moved()
        finally:
            if bar is not None:
                bar.close()

    def wait(self, sweep: str, *, progress: bool = False, patience: float = 120) -> models.Status:
        """Watches the sweep to its end."""
        status: models.Status | None = None
        for update in self.watch(sweep, progress=progress, patience=patience):
            status = update.status
        assert status is not None
        return status

    # Control. A name such as "t-17" is a trial.

    def pause(self, sweep: str, *, now: bool = False) -> models.Stopped:
        """Starts no new attempts; `now` also stops those that run, after a checkpoint."""
        answer = self._connection.call("PauseSweep", service.PauseSweepRequest(sweep=sweep, now=now, request_id=str(uuid.uuid4())))
        return models.Stopped(answer.changed, answer.running, answer.stopping)

    def resume(self, sweep: str) -> bool:
        """False: it was not paused."""
        return bool(self._connection.call("ResumeSweep", service.ResumeSweepRequest(sweep=sweep, request_id=str(uuid.uuid4()))).changed)

    def cancel(self, sweep_or_trial: str) -> int:
        """The number of trials that were cancelled."""
        return int(self._connection.call("Cancel", service.CancelRequest(**_named(sweep_or_trial), request_id=str(uuid.uuid4()))).cancelled)

    def retry(self, sweep_or_trial: str) -> int:
        """The number of failed or cancelled trials that wait again."""
        return int(self._connection.call("Retry", service.RetryRequest(**_named(sweep_or_trial), request_id=str(uuid.uuid4()))).retried)

    def drain(self, worker: str, *, now: bool = False, resume: bool = False) -> models.Stopped:
        """The worker gets no new attempts until drain(worker, resume=True); `now` also stops those that run, after a checkpoint."""
        request = service.DrainWorkerRequest(worker=worker, now=now, resume=resume, request_id=str(uuid.uuid4()))
        answer = self._connection.call("DrainWorker", request)
        return models.Stopped(answer.changed, answer.running, answer.stopping)

    # Views.

    def workers(self, connected: bool = False) -> pd.DataFrame:
        """A row for each worker, or for each that is connected."""
        rows: list[Sequence[Any]] = []
        token = ""
        while True:
            page = self._connection.call("ListWorkers", service.ListWorkersRequest(connected=connected, page_token=token))
            rows += [
                (w.name, w.connected, w.slots, w.busy, w.draining, w.host, ", ".join(w.devices), w.version, models.at(w.last_seen_unix_ms), w.incarnation)
                for w in page.workers
            ]
            token = page.next_page_token
            if not token:
                break
        return make_frame(["name", "connected", "slots", "busy", "draining", "host", "devices", "version", "last_seen", "incarnation"], rows)

    def logs(self, trial: str) -> list[models.LogLine]:
        """All log lines of a trial's attempts, oldest first."""
        lines: list[models.LogLine] = []
        after = 0
        while True:
            request = service.GetLogsRequest(trial=trial, max_lines=_LINES_IN_A_PAGE, after_line=after)
            page = self._connection.call("GetLogs", request).lines
            lines += [models.LogLine(line.stage_id, line.token, models.at(line.time_unix_ms), line.text) for line in page]
            if not page:
                return lines
            if page[-1].line <= after:  # Of a coordinator without pages.
                if len(page) < _LINES_IN_A_PAGE:
                    return lines
                raise TruncatedError(f"{trial} has more than {_LINES_IN_A_PAGE:,} log lines, and this coordinator has no pages of them")
            after = page[-1].line

    def why(self, sweep_or_trial: str) -> models.Explanation:
        """Why a trial, or the trials of a sweep, are in their state."""
        return models.Explanation.of(self._connection.call("Explain", service.ExplainRequest(**_named(sweep_or_trial))))

    def table(self, sweep: str, table: Mapping[str, Any] | None = None, *, more_sweeps: Names = ()) -> tables.Table:
        """The sweep's table, or `table`: a dict with rows, columns, where. Trials of `more_sweeps` are in it, too."""
        request = service.BuildTableRequest(sweep=sweep, more_sweeps=list_of(more_sweeps))
        if table is not None:
            request.table.CopyFrom(tables.to_table_spec(table))
        return tables.Table(self._connection.call("BuildTable", request, timeout=120))

    def _rows(self, sql: str, max_rows: int) -> tuple[list[str], list[Sequence[Any]], bool]:
        answer = self._connection.call("Query", service.QueryRequest(sql=sql, max_rows=max_rows), timeout=120)
        rows: list[Sequence[Any]] = [[_query_value(value) for value in row.values] for row in answer.rows]
        return list(answer.columns), rows, bool(answer.truncated)

    def _sweep_id(self, sweep: str) -> str:
        return str(self._connection.call("GetSweep", service.GetSweepRequest(sweep=sweep)).sweep_id)


def _named(name: str) -> dict[str, str]:
    return {"trial" if name.startswith("t-") else "sweep": name}


def _query_value(value: service.QueryValue) -> Any:
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)


def read_sweep(sweep: Sweep, scale: str | None = None, set: Mapping[str, Any] | None = None) -> sweep_spec_pb2.SweepSpec:
    """A dict, a path or a YAML text as the message that is submitted."""
    settings = set or {}
    if isinstance(sweep, Mapping):
        if scale:
            return _program.read_sweep_text(json.dumps(sweep), scale, settings)
        spec = _specs.to_sweep(sweep)
        _specs.apply_settings(spec, settings)
        return spec
    if isinstance(sweep, str) and "\n" in sweep:
        return _program.read_sweep_text(sweep, scale, settings)
    return _program.read_sweep(sweep, scale, settings)
