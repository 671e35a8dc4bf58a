"""The trials of a sweep as runs of other tools: parameters, curves and final measurements."""
from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from inlier._results import Results
from inlier.errors import InlierError

# Columns of `trials` that are no hyper-parameters.
_NOT_PARAMETERS = {"trial", "sweep", "sweep_id", "state", "label", "labels", "message", "point", "withdrawn", "train_stage", "evaluate_stage", "origin", "spec",
                   "start_stage", "start_checkpoint"}  # fmt: skip


class Point(NamedTuple):
    """Of a curve."""

    tag: str  # Name of the measurement, for one of a module followed by "/" and its path.
    step: int
    value: float
    at: float  # Seconds since 1970.


@dataclasses.dataclass
class Run:
    trial: str  # "t-17"
    label: str  # Labels of its point on all axes.
    sweep: str  # "s-3"
    sweep_name: str
    state: str
    parameters: dict[str, Any]  # Hyper-parameters and labels of the axes.
    finals: dict[str, float]  # Measurements of its result; empty without one.
    points: list[Point]  # Curve by curve; without values that are not a number.

    @property
    def name(self) -> str:
        return f"{self.trial} {self.label}".strip()

    @property
    def file_name(self) -> str:
        return file_name(self.name)

    @property
    def sweep_file_name(self) -> str:
        return file_name(f"{self.sweep_name}-{self.sweep}")


def file_name(text: str) -> str:
    """One name of a file or folder: nothing in it leads to another folder."""
    kept = "".join(character if character.isalnum() or character in " ,.=-_+" else "_" for character in text)
    return kept[:150].strip(" .") or "_"


def runs_of(source: Results, sweep: str, sites: bool) -> Iterator[Run]:
    trials = source.trials(sweep, empty_columns=True)
    results = source.results(sweep, empty_columns=True)
    numbers = [name for name in results.columns if name not in trials.columns and pd.api.types.is_numeric_dtype(results[name].dtype)]
    finals = {row["trial"]: {name: float(row[name]) for name in numbers if _is_number(row[name])} for row in results.to_dict("records")}
    points: dict[str, list[Point]] = {}
    curves = source.curves(sweep, sites=sites).dropna(subset=["value"])
    places = curves["site"] if sites else [""] * len(curves)
    at = [time.timestamp() for time in curves["at"]]
    for trial, name, site, step, value, seconds in zip(curves["trial"], curves["name"], places, curves["step"], curves["value"], at):
        points.setdefault(trial, []).append(Point(f"{name}/{site}" if site else name, int(step), float(value), seconds))
    for row in trials.to_dict("records"):
        parameters = {str(name): _plain(value) for name, value in row.items() if name not in _NOT_PARAMETERS and not pd.isna(value)}
        yield Run(
            row["trial"], row["label"] or "", row["sweep_id"], row["sweep"], row["state"], parameters, finals.get(row["trial"], {}),
            points.get(row["trial"], []),
        )  # fmt: skip


def new_folder(path: pathlib.Path) -> pathlib.Path:
    """Makes the folder of one run. InlierError where it has content: a second export would double every curve."""
    if path.exists() and any(path.iterdir()):
        raise InlierError(f"{path} is there already; remove it or name another folder")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _is_number(value: Any) -> bool:
    return not pd.isna(value) and math.isfinite(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
