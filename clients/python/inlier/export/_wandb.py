from __future__ import annotations

import itertools
import os
import pathlib

from inlier._results import Results
from inlier.errors import InlierError
from inlier.export._runs import file_name, runs_of


def wandb(source: Results, sweep: str, out: os.PathLike[str] | str, *, project: str | None = None, sites: bool = False) -> list[pathlib.Path]:
    """Writes an offline run of Weights & Biases for each trial below `out`, and returns their folders; `wandb sync FOLDER` uploads one. Nothing is
    sent. A run's id has those of sweep and trial, its group is the sweep; curves are its history, results its summary.

    `source` is a Client or a Folder. Needs `pip install 'inlier[wandb]'`.
    """
    try:
        import wandb as client
    except ImportError as error:
        raise InlierError(f"exporting to Weights & Biases needs its package ({error}): pip install 'inlier[wandb]'") from None
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    settings = client.Settings(console="off", silent=True, disable_git=True, disable_code=True, x_disable_stats=True, x_disable_meta=True)
    folders = []
    for run in runs_of(source, sweep, sites):
        opened = client.init(
            mode="offline", dir=str(out), project=project or file_name(run.sweep_name), group=f"{run.sweep_name}-{run.sweep}", name=run.label or run.trial,
            id=f"{run.sweep}-{run.trial}", config={**run.parameters, "trial": run.trial, "sweep": run.sweep}, tags=[run.state], settings=settings,
        )  # fmt: skip
        for step, points in itertools.groupby(sorted(run.points, key=lambda point: point.step), key=lambda point: point.step):
            opened.log({point.tag: point.value for point in points}, step=step)
        opened.summary.update({**run.finals, "state": run.state})
        folders.append(pathlib.Path(opened.dir).parent)
        opened.finish()
    return folders
