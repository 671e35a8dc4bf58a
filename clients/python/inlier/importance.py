"""How much each parameter of a sweep matters for a measurement, by Optuna: python -m inlier.importance SWEEP.

Every trial with the measurement is an observation, those of further seeds too: what differs between seeds alone is noise, and a seed is no parameter.
The numbers are those of optuna.importance for these observations; they add up to 1.
"""
from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

import inlier
from inlier import _settings
from inlier._results import Results, axis_name, check_names, quoted
from inlier.errors import InlierError, InvalidError

try:
    import optuna
except ImportError as _error:
    raise ImportError("the importance of parameters needs Optuna; install it: pip install inlier[optuna]") from _error

EVALUATORS = ("fanova", "mdi", "ped_anova")
_SEEDS = ("seed", "quantization.calibration.seed")
_RUN = "run"  # The axis of an imported sweep with the runs' names.
_LABELS_MAX = 20  # fANOVA takes minutes for 30.
_GOALS = {"MINIMIZE": optuna.study.StudyDirection.MINIMIZE, "MAXIMIZE": optuna.study.StudyDirection.MAXIMIZE}


class Observations(NamedTuple):
    """What an evaluator sees."""

    sweep_id: str
    measurement: str
    parameters: dict[str, Any]  # Name -> Optuna's distribution.
    points: list[dict[str, Any]]
    values: list[float]
    left_out: int  # Trials with a result that have no finite number.
    conditional: list[str]  # Axes that do not apply to every trial.
    crowded: list[str]  # Axes with too many labels.


def observe(results: Results, sweep: str, by: str | None = None) -> Observations:
    """InvalidError where there is too little to tell parameters apart."""
    sweep_id = results._sweep_id(sweep)
    spec = json.loads(results.query(f"SELECT spec FROM sweeps WHERE sweep_id = {quoted(sweep_id)}").spec[0])
    measurement = by or _measurement_of(spec)
    check_names("by", [measurement], [name for name in results._columns("results") if name not in set(results._columns("trials"))])
    chosen = f'SELECT labels, "{measurement}" AS value FROM results WHERE withdrawn = 0 AND sweep_id = {quoted(sweep_id)}'
    rows = results.query(f"{chosen} ORDER BY CAST(substr(trial, 3) AS INTEGER)")
    numbers = [value if isinstance(value, (int, float)) else math.nan for value in rows.value]
    measured = [(json.loads(labels), float(value)) for labels, value in zip(rows.labels, numbers) if math.isfinite(value)]
    parameters: dict[str, Any] = {}
    conditional: list[str] = []
    crowded: list[str] = []
    points: list[dict[str, Any]] = [{} for _ in measured]
    for axis in spec.get("axes", ()):
        name = axis_name(axis)
        labels = [point.get(name, "") for point, _ in measured]
        if name == "seed" or axis.get("field") in _SEEDS or len(set(labels)) < 2 or (name == _RUN and "imported" in spec):
            continue
        if "" in labels:
            conditional.append(name)
            continue
        column, distribution = _column_of(axis, labels)
        if isinstance(distribution, optuna.distributions.CategoricalDistribution) and len(distribution.choices) > _LABELS_MAX:
            crowded.append(name)
            continue
        parameters[name] = distribution
        for point, value in zip(points, column):
            point[name] = value
    found = Observations(sweep_id, measurement, parameters, points, [value for _, value in measured], len(rows) - len(measured), conditional, crowded)
    _check(found)
    return found


def _measurement_of(spec: dict[str, Any]) -> str:
    """The first objective of a search, else that of the first column of the table."""
    objectives = spec.get("sampling", {}).get("optuna", {}).get("objectives", ())
    named: list[str] = [one["measurement"] for one in [*objectives, *spec.get("table", {}).get("columns", ())] if one.get("measurement")]
    if not named:
        raise InvalidError("by: the sweep names no measurement in its table; name one, for example perplexity")
    return named[0]


def _column_of(axis: dict[str, Any], labels: Sequence[str]) -> tuple[list[Any], Any]:
    """Its values and Optuna's distribution: numbers where all labels are numbers, else categories."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        return list(labels), optuna.distributions.CategoricalDistribution(list(dict.fromkeys(labels)))
    ends = axis.get("range", {})
    low, high = min([*numbers, ends.get("min", math.inf)]), max([*numbers, ends.get("max", -math.inf)])
    log = bool(ends.get("log")) and low > 0
    if all(number.is_integer() for number in numbers) and (not ends or ends.get("integer")):
        return list(map(int, numbers)), optuna.distributions.IntDistribution(math.floor(low), math.ceil(high), log=log)
    return numbers, optuna.distributions.FloatDistribution(low, high, log=log)


def _check(found: Observations) -> None:
    names = ", ".join(found.parameters) or "none"
    if len(found.parameters) < 2:
        raise InvalidError(
            f"{found.sweep_id}: importance compares at least two parameters that vary over the trials with {found.measurement}, and there is {names}"
        )
    least = 2 * len(found.parameters) + 2
    if len(found.values) < least:
        raise InvalidError(
            f"{found.sweep_id}: {len(found.values)} trials have {found.measurement}, too few to tell {len(found.parameters)} parameters apart ({names}); "
            f"{least} are needed"
        )
    if min(found.values) == max(found.values):
        raise InvalidError(f"{found.sweep_id}: all {len(found.values)} trials have the same {found.measurement}, so that no parameter matters for it")


def _evaluator_of(name: str, seed: int) -> Any:
    check_names("evaluator", [name], EVALUATORS)
    if name == "ped_anova":
        return optuna.importance.PedAnovaImportanceEvaluator()
    try:
        made = optuna.importance.FanovaImportanceEvaluator if name == "fanova" else optuna.importance.MeanDecreaseImpurityImportanceEvaluator
        return made(seed=seed)
    except ImportError:
        raise InlierError(f"the evaluator {name} needs the Python package scikit-learn; install it: pip install scikit-learn") from None


def importance(
    results: Results, sweep: str, by: str | None = None, *, evaluator: str = "fanova", goal: str | None = None, seed: int = 0
) -> pd.DataFrame:
    """As Results.importance()."""
    if goal is None and evaluator == "ped_anova":
        raise InvalidError("goal: ped_anova asks what the best trials have in common; give MINIMIZE or MAXIMIZE")
    check_names("goal", [goal or "MINIMIZE"], list(_GOALS))
    by_parameters = _evaluator_of(evaluator, seed)
    found = observe(results, sweep, by)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study = optuna.create_study(direction=_GOALS[goal or "MINIMIZE"])
            for point, value in zip(found.points, found.values):
                study.add_trial(optuna.create_trial(params=point, distributions=found.parameters, value=value))
            # Without `params`, which all are: with them Optuna 5.0.0 gives mdi's numbers to other parameters.
            shares = optuna.importance.get_param_importances(study, evaluator=by_parameters)
    finally:
        optuna.logging.set_verbosity(verbosity)
    ordered = sorted(shares.items(), key=lambda share: -share[1])
    frame = pd.DataFrame(ordered, columns=["parameter", "importance"])
    facts = {"sweep_id": found.sweep_id, "measurement": found.measurement, "evaluator": evaluator, "trials": len(found.values)}
    frame.attrs.update({**facts, "left_out": found.left_out, "conditional": found.conditional, "crowded": found.crowded})
    return frame


def _text(frame: pd.DataFrame) -> str:
    facts = frame.attrs
    width = max(len("parameter"), *map(len, frame.parameter))
    lines = [f"importance for {facts['measurement']} of {facts['sweep_id']}, by {facts['evaluator']} over {facts['trials']} trials"]
    lines += [f"{'parameter':<{width}}  importance"]
    lines += [f"{name:<{width}}  {share:10.3f}" for name, share in zip(frame.parameter, frame.importance)]
    if facts["left_out"]:
        lines.append(f"{facts['left_out']} trials without a finite {facts['measurement']} are left out")
    if facts["crowded"]:
        lines.append(f"left out, for they have more than {_LABELS_MAX} labels: {', '.join(facts['crowded'])}")
    if facts["conditional"]:
        lines.append(f"left out, for they do not apply to all trials: {', '.join(facts['conditional'])}")
    return "\n".join(lines)


def _print(frame: pd.DataFrame, form: str) -> None:
    if form == "json":
        print(json.dumps({**frame.attrs, "parameters": frame.to_dict("records")}))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows(frame.itertuples(index=False))
    else:
        print(_text(frame))


def _open(arguments: argparse.Namespace) -> Results:
    """The coordinator, or the database of a folder."""
    if arguments.server or arguments.dir is None:
        choice = _settings.choose(arguments.server, None)
        if choice.address or not (choice.folder / "inlier.db").exists():
            return inlier.connect(None, arguments.server, tls_ca=arguments.tls_ca, token_file=arguments.token_file)
        arguments.dir = choice.folder
    return inlier.open_dir(arguments.dir)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m inlier.importance", description="How much each parameter of a sweep matters for a measurement.")
    parser.add_argument("sweep", help="id or name")
    parser.add_argument("--by", help="measurement; the first objective, or the first column of the sweep's table, when not given")
    parser.add_argument("--evaluator", default="fanova", help="fanova, mdi or ped_anova")
    parser.add_argument("--goal", help="of ped_anova: MINIMIZE or MAXIMIZE")
    parser.add_argument("--format", default="text", choices=("text", "csv", "json"))
    parser.add_argument("--dir", help="state folder")
    parser.add_argument("--server", help="coordinator, HOST:PORT; without --dir and --server: as inlier.connect()")
    parser.add_argument("--tls-ca", default="", help="PEM file: CA of the coordinator's certificate")
    parser.add_argument("--token-file", default="", help="file with the token in its first line")
    arguments = parser.parse_args()
    try:
        with _open(arguments) as results:  # type: ignore[attr-defined]
            _print(importance(results, arguments.sweep, arguments.by, evaluator=arguments.evaluator, goal=arguments.goal), arguments.format)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # The reader has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InlierError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
