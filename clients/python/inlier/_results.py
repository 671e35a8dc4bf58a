"""Results, trials and curves as data frames, of a coordinator or of a folder: the same SQL on both."""
from __future__ import annotations

import abc
import difflib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import pandas as pd

from inlier._frames import make_frame
from inlier.errors import InvalidError, TruncatedError
from inlier.v1 import sweep_service_pb2

Names = Union[str, Iterable[str], None]
_ROWS_MAX = 1_000_000  # Of one answer of the coordinator.
_TRIALS_IN_A_PAGE = 1_000
_ROWS_IN_A_PAGE = 100_000
_FIRST = ("trial", "sweep_id", "sweep", "state", "label")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def list_of(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def check_names(argument: str, names: Iterable[str], known: Sequence[str]) -> None:
    """InvalidError names those that are not known, and what comes close."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "known are " + (", ".join(known) or "none yet")
            raise InvalidError(f"{argument}: {name!r} is not known; {hint}")


def axis_name(axis: Mapping[str, Any]) -> str:
    """Of an axis of a sweep's stored specification."""
    paths = [axis["field"]] if axis.get("field") else axis.get("zip", ())
    return axis.get("name") or "+".join(path.rpartition(".")[2] for path in paths)


def _in(column: str, values: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(map(quoted, values))})"


class Results(abc.ABC):
    """Data frames. Each reads all pages of an answer: nothing is left out silently."""

    @abc.abstractmethod
    def _rows(self, sql: str, max_rows: int) -> tuple[list[str], list[Sequence[Any]], bool]:
        """Columns, rows, and whether there are more rows than `max_rows`."""

    @abc.abstractmethod
    def _sweep_id(self, sweep: str) -> str:
        """The id of a sweep that is named by its id or its name: the latest of that name, of your own first. NotFoundError."""

    def query(self, sql: str, max_rows: int = _ROWS_MAX) -> pd.DataFrame:
        """One read-only SQL statement; the views are in docs/reference/schema.md. TruncatedError when there are more rows than `max_rows`."""
        columns, rows, truncated = self._rows(sql, max_rows)
        if truncated:
            raise TruncatedError(f"the query has more than {max_rows:,} rows; narrow it, add LIMIT, or pass a larger max_rows (at most {_ROWS_MAX:,})")
        return make_frame(columns, rows)

    def trials(self, *sweeps: str, state: Names = None, empty_columns: bool = False) -> pd.DataFrame:
        """A row for each trial: its state, labels, hyper-parameters, and the reason of a failure. Columns as in results()."""
        states = list_of(state)
        check_names("state", states, sweep_service_pb2.TrialState.keys())
        return self._wide("trials", sweeps, states, [], empty_columns)

    def results(self, *sweeps: str, columns: Names = None, empty_columns: bool = False) -> pd.DataFrame:
        """A row for each trial with a result: a column for each axis, hyper-parameter and measurement.

        Columns without a value in any row are left out, unless `empty_columns`. `columns` names hyper-parameters and measurements to read;
        ids, state and axes are always there. Trials with the same `evaluate_stage` have one result: drop_duplicates("evaluate_stage") where it
        must count once.
        """
        wanted = list_of(columns)
        if wanted:
            check_names("columns", wanted, self._columns("results"))
        return self._wide("results", sweeps, [], wanted, empty_columns)

    def curves(self, *sweeps: str, names: Names = None, trials: Names = None, sites: bool = False) -> pd.DataFrame:
        """A row for each point of a curve: trial, label, axes, name, step, value, at (UTC), and the stage that measured it, which trials may
        share. `names`: only these measurements, with a warning for each without a point; `trials`: only these trials; `sites`: also curves of
        single modules, with the column `site`. The value is NaN where it is not a number."""
        labels = self._labels(sweeps)
        wanted = list_of(trials)
        if wanted:
            missing = sorted(set(wanted) - set(labels.trial))
            if missing:
                raise InvalidError(f"trials: {', '.join(missing)} are not of {', '.join(sweeps)}")
            labels = labels[labels.trial.isin(wanted)]
        condition = "" if sites else " AND site = ''"
        asked = list_of(names)
        if names is not None:
            self._check_curves(asked, sweeps)
            condition += " AND " + _in("name", asked)
        rows: list[Sequence[Any]] = []
        for page in self._pages("SELECT trial, name, site, step, value, at, stage FROM curves", condition, list(labels.trial)):
            rows += page[1]
        points = make_frame(["trial", "name", "site", "step", "value", "at", "stage"], rows)
        self._warn_without_points([name for name in asked if name not in set(points.name)], list(labels.trial), sites)
        points["value"] = points["value"].astype("float64")
        points["at"] = pd.to_datetime(points["at"], utc=True)
        frame = labels.drop(columns=["labels"]).merge(points, on="trial", validate="one_to_many")
        frame = frame.assign(_trial=_numbers(frame.trial)).sort_values(["_trial", "name", "site", "step"], kind="stable", ignore_index=True)
        return frame.drop(columns=["_trial"] if sites else ["_trial", "site"])

    def importance(self, sweep: str, by: str | None = None, *, evaluator: str = "fanova", goal: str | None = None, seed: int = 0) -> pd.DataFrame:
        """How much each parameter of the sweep matters for the measurement `by`: columns parameter and importance, which adds up to 1, the largest first.

        Needs Optuna (pip install inlier[optuna]). `evaluator`: "fanova" (Hutter et al. 2014), "mdi" or "ped_anova", which needs the `goal` MINIMIZE or
        MAXIMIZE. `by`: the first objective of a search, or the first column of the sweep's table, when not given. InvalidError where fewer than two
        parameters vary, or too few trials have the number. `.attrs` of the frame counts the trials."""
        from inlier.importance import importance

        return importance(self, sweep, by, evaluator=evaluator, goal=goal, seed=seed)

    def _columns(self, view: str, selected: str = "*") -> list[str]:
        return self._rows(f"SELECT {selected} FROM {view} LIMIT 0", 1)[0]

    def _check_curves(self, names: Sequence[str], sweeps: Sequence[str]) -> None:
        """A measurement that these sweeps have no curve of yet is right, too; any other name is a mistake."""
        measurements = {*self._columns("results")} - {*self._columns("trials")}
        if {*names} <= measurements:
            return
        there = self.query(f"SELECT DISTINCT name FROM curves WHERE {_in('sweep_id', self._ids(sweeps))} ORDER BY name").name
        check_names("names", [name for name in names if name not in measurements], list(there))

    def _warn_without_points(self, names: Sequence[str], trials: Sequence[str], sites: bool) -> None:
        of_sites: set[str] = set()
        if names and not sites:
            for page in self._pages("SELECT DISTINCT trial, name FROM curves", " AND " + _in("name", names), trials):
                of_sites |= {row[1] for row in page[1]}
        for name in names:
            text = f"only single modules have {name}; sites=True has their curves" if name in of_sites else f"no training has reported {name} yet"
            warnings.warn(text, stacklevel=3)

    def _ids(self, sweeps: Sequence[str]) -> list[str]:
        if not sweeps:
            raise InvalidError('name a sweep, for example "s-1"')
        return list(dict.fromkeys(self._sweep_id(sweep) for sweep in sweeps))

    def _labels(self, sweeps: Sequence[str], condition: str = "", view: str = "trials") -> pd.DataFrame:
        """trial, label, labels and a column for each axis, by number."""
        ids = self._ids(sweeps)
        frame = self.query(f"SELECT trial, label, labels FROM {view} WHERE {_in('sweep_id', ids)}{condition}")
        frame = frame.assign(_trial=_numbers(frame.trial)).sort_values("_trial", ignore_index=True).drop(columns="_trial")
        points = [json.loads(text) for text in frame.labels]
        present = {name: None for point in points for name in point}
        for axis in [*(axis for axis in self._axes(ids) if axis in present), *present]:
            if axis not in frame.columns:
                frame[axis] = pd.Series([point.get(axis) for point in points], dtype="object", index=frame.index)
        return frame

    def _axes(self, ids: Sequence[str]) -> list[str]:
        """Names of the axes in the order of the sweeps' files."""
        names: dict[str, None] = {}
        for spec in self.query(f"SELECT spec FROM sweeps WHERE {_in('sweep_id', ids)}").spec:
            for axis in json.loads(spec).get("axes", ()):
                names[axis_name(axis)] = None
        return list(names)

    def _wide(self, view: str, sweeps: Sequence[str], states: list[str], columns: list[str], empty_columns: bool) -> pd.DataFrame:
        condition = " AND " + _in("state", states) if states else ""
        labels = self._labels(sweeps, condition, view)
        selected = ", ".join([*_FIRST, *(f'"{name}"' for name in columns if name not in _FIRST)]) if columns else "*"
        names: list[str] = []
        rows: list[Sequence[Any]] = []
        for names, page in self._pages(f"SELECT {selected} FROM {view}", condition, list(labels.trial)):
            rows += page
        if not names:  # No trial yet: the columns alone.
            names = self._columns(view, selected)
        frame = make_frame(names, rows)
        if not empty_columns:
            frame = frame[[name for name in frame.columns if name in _FIRST or name in columns or frame[name].notna().any()]]
        frame = frame.drop(columns={"labels", "spec"} - set(columns), errors="ignore")  # Columns have both already.
        axes = [name for name in labels.columns if name not in frame.columns and name != "labels"]
        frame = labels[["trial", *axes]].merge(frame, on="trial", validate="one_to_one")
        return frame[[*(name for name in _FIRST if name in frame), *axes, *(name for name in frame.columns if name not in _FIRST and name not in axes)]]

    def _pages(self, select: str, condition: str, trials: Sequence[str]) -> Iterator[tuple[list[str], list[Sequence[Any]]]]:
        """The rows of these trials, page by page; a page with too many rows is read again in halves."""
        waiting = [trials[i : i + _TRIALS_IN_A_PAGE] for i in range(0, len(trials), _TRIALS_IN_A_PAGE)]
        waiting.reverse()
        while waiting:
            page = waiting.pop()
            alone = len(page) == 1
            columns, rows, truncated = self._rows(f"{select} WHERE {_in('trial', page)}{condition}", _ROWS_MAX if alone else _ROWS_IN_A_PAGE)
            if not truncated:
                yield columns, rows
            elif alone:
                raise TruncatedError(f"{page[0]} has more than {_ROWS_MAX:,} rows; ask for fewer names, or read the file with inlier.open_dir()")
            else:
                waiting += [page[len(page) // 2 :], page[: len(page) // 2]]


def _numbers(trials: pd.Series) -> pd.Series:
    return pd.Series([int(trial[2:]) for trial in trials], index=trials.index, dtype="int64")
