from __future__ import annotations

import os
import pathlib
import posixpath
import re
from collections.abc import Iterable

from inlier._results import Results
from inlier.errors import InlierError
from inlier.export._runs import Run, runs_of

_STATUS = {"SUCCEEDED": "FINISHED", "DIVERGED": "FINISHED", "FAILED": "FAILED", "CANCELLED": "KILLED"}
_METRICS_IN_A_BATCH = 1_000  # The most that MLflow accepts. The same for the next two.
_PARAMS_IN_A_BATCH = 100
_KEY_LENGTH = 250


def key(name: str) -> str:
    """As MLflow takes it: "hidden_size+ffn_size" becomes "hidden_size_ffn_size"."""
    taken = re.sub(r"[^\w\-. :/]", "_", name)[:_KEY_LENGTH]
    is_path = taken == posixpath.normpath(taken) and not taken.startswith(("/", "."))
    return taken if is_path else re.sub(r"^\.|/", "_", taken)


def keys(names: Iterable[str]) -> list[str]:
    """A key for each name, no two alike."""
    found: list[str] = []
    for name in names:
        taken, number = key(name), 2
        while taken in found:
            taken, number = f"{key(name)[: _KEY_LENGTH - 8]}_{number}", number + 1
        found.append(taken)
    return found


def mlflow(source: Results, sweep: str, out: os.PathLike[str] | str, *, experiment: str | None = None, sites: bool = False) -> list[str]:
    """Writes a run of MLflow for each trial, and returns their ids. `out` is a folder (a file store) or a tracking URI. The experiment is named
    after the sweep; curves and results are metrics, hyper-parameters are params. MLflow 3 reads a folder with MLFLOW_ALLOW_FILE_STORE=true, or
    after `mlflow migrate-filestore`.

    `source` is a Client or a Folder. Needs `pip install 'inlier[mlflow]'`.
    """
    try:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise InlierError(f"exporting to MLflow needs its package ({error}): pip install 'inlier[mlflow]'") from None
    target = os.fspath(out)
    is_folder = "://" not in target
    if is_folder:
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(tracking_uri=pathlib.Path(target).resolve().as_uri() if is_folder else target)

    def write(run: Run, experiment_id: str) -> str:
        made = client.create_run(experiment_id, run_name=run.name)
        tags = [RunTag("inlier.trial", run.trial), RunTag("inlier.sweep", run.sweep), RunTag("inlier.state", run.state)]
        params = [Param(key, str(value)[:500]) for key, value in zip(keys(run.parameters), run.parameters.values())]
        metrics = [Metric(key(point.tag), point.value, round(point.at * 1000), point.step) for point in run.points]
        at = max((metric.timestamp for metric in metrics), default=made.info.start_time)
        step = max((point.step for point in run.points), default=0)
        metrics += [Metric(key(f"final/{name}"), value, at, step) for name, value in run.finals.items()]
        client.log_batch(made.info.run_id, tags=tags)
        for first in range(0, len(params), _PARAMS_IN_A_BATCH):
            client.log_batch(made.info.run_id, params=params[first : first + _PARAMS_IN_A_BATCH])
        for first in range(0, len(metrics), _METRICS_IN_A_BATCH):
            client.log_batch(made.info.run_id, metrics=metrics[first : first + _METRICS_IN_A_BATCH])
        client.set_terminated(made.info.run_id, _STATUS.get(run.state, "RUNNING"))
        return str(made.info.run_id)

    ids: list[str] = []
    experiment_id = None
    for run in runs_of(source, sweep, sites):
        if experiment_id is None:
            name = experiment or f"{run.sweep_name}-{run.sweep}"
            if client.get_experiment_by_name(name) is not None:
                raise InlierError(f"{target} has an experiment {name} already; name another folder, or another experiment")
            experiment_id = client.create_experiment(name)
        ids.append(write(run, experiment_id))
    return ids
