"""Points that Optuna proposes, for sweeps with `sampling: {optuna: …}`: python -m inlier.optimize SWEEP.

The sweep is the study's log: every point is a row of it, committed before it runs, with the points whose results Optuna was told before it was asked.
A study lives in memory and is made again from the rows at each start, in their order. Point n is the proposal of a fresh sampler with a seed of the
sweep's seed and n: equal histories have equal proposals, whether a sampler was killed in between or not.
"""
from __future__ import annotations

import argparse
import json
import math
import sys
import time
import uuid
import warnings
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Union

from google.protobuf import json_format

import inlier
from inlier._results import quoted
from inlier.client import Client
from inlier.errors import ConflictError, InlierError, InvalidError
from inlier.v1 import sweep_service_pb2 as service
from inlier.v1 import sweep_spec_pb2

try:
    import optuna
except ImportError as _error:
    raise ImportError("sampling.optuna needs Optuna; install it: pip install inlier[optuna]") from _error

_TRIALS_IN_A_QUERY = 500
_POLL_SECONDS, _POLL_SECONDS_MAX, _AFTER_ANOTHER_SECONDS = 0.1, 2.0, 5.0
_PATIENCE_SECONDS = 3600.0

Sampler = optuna.samplers.BaseSampler
Values = dict[str, Union[float, str]]


class Outcome(NamedTuple):
    """What Optuna is told of a point. PRUNED may have a step and its value."""

    state: optuna.trial.TrialState
    values: Sequence[float] = ()
    constraints: Sequence[float] = ()
    step: int | None = None


def seed_of(seed: int, number: int) -> int:
    """The seed of the sampler that proposes point `number`."""
    import numpy

    return int(numpy.random.SeedSequence((seed, number)).generate_state(1)[0])


def sampler_of(sampling: sweep_spec_pb2.OptunaSampling, seed: int) -> Sampler:
    kind = sweep_spec_pb2.OptunaSampling.Sampler.Name(sampling.sampler)
    options: dict[str, Any] = {"seed": seed}
    if sampling.constraints and kind in ("TPE", "GP", "NSGA_II") and not hasattr(optuna.Trial, "set_constraint"):
        options["constraints_func"] = lambda trial: trial.user_attrs.get("constraints", ())
    if kind == "TPE":
        return optuna.samplers.TPESampler(constant_liar=sampling.parallel > 1, **options)
    if kind == "CMA_ES":
        _needs(kind, "cmaes")
        return optuna.samplers.CmaEsSampler(warn_independent_sampling=False, **options)
    if kind == "GP":
        _needs(kind, "scipy", "torch")
        return optuna.samplers.GPSampler(warn_independent_sampling=False, **options)
    return optuna.samplers.NSGAIISampler(**options) if kind == "NSGA_II" else optuna.samplers.RandomSampler(seed=seed)


def _needs(kind: str, *modules: str) -> None:
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise InlierError(f"the sampler {kind} needs the Python packages {' and '.join(missing)}; install them: pip install {' '.join(missing)}")


class _Steered(Sampler):
    """Another sampler, with numbers rounded as the sweep writes them, and with values that are given: those of a stored point, or a start point."""

    def __init__(self, inner: Sampler, space: Space, given: Values) -> None:
        self._inner, self._space, self._given = inner, space, given

    def _steer(self, name: str, value: Any) -> Any:
        return self._given[name] if name in self._given else self._space.rounded(name, value)

    def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
        return self._inner.infer_relative_search_space(study, trial)

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Any:
        return {name: self._steer(name, value) for name, value in self._inner.sample_relative(study, trial, search_space).items()}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        return self._steer(param_name, self._inner.sample_independent(study, trial, param_name, param_distribution))

    def before_trial(self, study: Any, trial: Any) -> None:
        self._inner.before_trial(study, trial)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        self._inner.after_trial(study, trial, state, values)


class Space:
    """The axes that are searched."""

    def __init__(self, axes: Sequence[service.SearchAxis]) -> None:
        self._axes = {axis.name: axis for axis in axes}
        self._distributions = {axis.name: _distribution_of(axis) for axis in axes}

    def rounded(self, name: str, value: Any) -> Any:
        axis = self._axes[name]
        if isinstance(value, (str, int)) or not axis.HasField("range"):
            return value
        digits = 12 if axis.range.HasField("step") else axis.range.digits
        return min(max(float(f"{value:.{digits}g}"), axis.range.min), axis.range.max)

    def suggest(self, trial: optuna.Trial) -> Values:
        """A value of every axis that applies."""
        values: Values = {}
        for name, axis in self._axes.items():
            if all(values.get(condition.axis, "") in condition.labels for condition in axis.when):
                values[name] = trial._suggest(name, self._distributions[name])
        return values


def _distribution_of(axis: service.SearchAxis) -> Any:
    if not axis.HasField("range"):
        return optuna.distributions.CategoricalDistribution(list(axis.labels))
    numbers = axis.range
    if numbers.integer:
        step = int(numbers.step) if numbers.HasField("step") else 1
        return optuna.distributions.IntDistribution(int(numbers.min), int(numbers.max), log=numbers.log, step=step)
    return optuna.distributions.FloatDistribution(numbers.min, numbers.max, log=numbers.log, step=numbers.step if numbers.HasField("step") else None)


def _key_of(point: service.SearchPoint) -> str:
    """Equal for equal values."""
    return json.dumps(json_format.MessageToDict(point.values), sort_keys=True)


class Search:
    """The search of one sweep. `make_sampler`: another sampler than that of the sweep's file, for a seed."""

    def __init__(self, client: Client, sweep: str, make_sampler: Callable[[int], Sampler] | None = None) -> None:
        self._client = client
        first = self._read(sweep, 0)
        self.sweep: str = first.sweep_id
        self.sampling = first.sampling
        self._make_sampler = make_sampler or (lambda seed: sampler_of(self.sampling, seed))
        self._pruning = first.pruning if first.HasField("pruning") else None
        self._space = Space(first.axes)
        self._start = [json_format.MessageToDict(point) for point in self.sampling.start]
        goals = [objective.goal for objective in self.sampling.objectives]
        larger, less = optuna.study.StudyDirection.MAXIMIZE, optuna.study.StudyDirection.MINIMIZE
        directions = [larger if goal == sweep_spec_pb2.PruningSpec.MAXIMIZE else less for goal in goals]
        self._worst = [-math.inf if goal == sweep_spec_pb2.PruningSpec.MAXIMIZE else math.inf for goal in goals]
        self.study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=0))
        self._trials: list[optuna.Trial] = []
        self._first_like: list[int] = []  # By number: the first point with the same values.
        self._by_values: dict[str, int] = {}
        self._open: list[int] = []
        self._told: list[int] = []  # Since the last question.
        self.over = False
        self._rebuild(first)

    def step(self) -> bool:
        """Tells Optuna what has ended, and asks for what may run now. True: something changed."""
        read = self._read(self.sweep, min(self._first_like[number] for number in self._open) if self._open else len(self._trials))
        if read.asked != len(self._trials):
            raise ConflictError(f"sweep {self.sweep} has {read.asked} points, and this sampler asked for {len(self._trials)}: another one extends it")
        self.sampling = read.sampling  # Edits change `trials` and `parallel`.
        changed = self._tell_ended(read)
        self.over = read.state != service.ACTIVE or (read.asked >= self.sampling.trials and not self._open)
        asks = min(self.sampling.parallel - len(self._open), self.sampling.trials - read.asked)
        if self.over or asks <= 0:
            return changed
        first = len(self._trials)
        points = [self._ask() for _ in range(asks)]
        request = service.ExtendSweepRequest(sweep=self.sweep, first=first, points=points, request_id=str(uuid.uuid4()))
        try:
            self._client._connection.call("ExtendSweep", request)
        except InvalidError as error:
            raise InvalidError(f"the sampler proposed what the sweep cannot have: {error.message}") from None
        return True

    def _read(self, sweep: str, first: int) -> service.Search:
        read: service.Search = self._client._connection.call("GetSearch", service.GetSearchRequest(sweep=sweep, first=first))
        return read

    def _rebuild(self, read: service.Search) -> None:
        outcomes = self._outcomes(0, read.points)
        for searched in read.points:
            for number in searched.point.told:
                if number not in self._open:
                    raise InlierError(
                        f"the history of {self.sweep} cannot be repeated: point {len(self._trials)} was asked for when point {number} was told once more, "
                        "by another client than this one; submit the sweep again, its results are known"
                    )
                self._tell(number, outcomes.get(number) or Outcome(optuna.trial.TrialState.FAIL))
            self._told = []
            self._ask(json_format.MessageToDict(searched.point.values))

    def _ask(self, stored: Values | None = None) -> service.SearchPoint:
        """Asks for the next point, which is `stored` when it was asked for before."""
        number = len(self._trials)
        given = stored if stored is not None else self._start[number] if number < len(self._start) else {}
        try:
            inner = self._make_sampler(seed_of(self.sampling.seed, number))
            self.study.sampler = _Steered(inner, self._space, given)
            trial = self.study.ask()
            values = self._space.suggest(trial)
        except InlierError:
            raise
        except Exception as error:  # Whatever a sampler raises.
            raise InlierError(f"the sampler failed at point {number} ({type(error).__name__}: {error}); the sweep keeps its points and waits") from error
        point = service.SearchPoint(told=self._told)
        point.values.update(values)
        self._trials.append(trial)
        self._first_like.append(self._by_values.setdefault(_key_of(point), number))
        self._open.append(number)
        self._told = []
        return point

    def _tell_ended(self, read: service.Search) -> bool:
        outcomes = self._outcomes(read.asked - len(read.points), read.points)
        ended = [number for number in self._open if outcomes.get(number) is not None]
        for number in ended:
            self._tell(number, outcomes[number])
        return bool(ended)

    def _tell(self, number: int, outcome: Outcome | None) -> None:
        assert outcome is not None
        trial = self._trials[number]
        if outcome.step is not None:
            trial.report(outcome.values[0], outcome.step)
        for i, value in enumerate(outcome.constraints):
            if hasattr(trial, "set_constraint"):
                trial.set_constraint(str(i), value)
        if outcome.constraints:
            trial.set_user_attr("constraints", tuple(outcome.constraints))
        complete = outcome.state == optuna.trial.TrialState.COMPLETE
        self.study.tell(trial, list(outcome.values) if complete else None, outcome.state)
        self._open.remove(number)
        self._told.append(number)

    def _measurements(self) -> list[str]:
        """Each once."""
        names = [objective.measurement for objective in self.sampling.objectives] + [constraint.measurement for constraint in self.sampling.constraints]
        return list(dict.fromkeys(names))

    def _outcomes(self, first: int, points: Sequence[service.SearchedPoint]) -> dict[int, Outcome | None]:
        """Of the points from `first` on, by number; None: it has not ended."""
        names = self._measurements()
        measured: dict[str, dict[str, Any]] = {}
        trials = [trial.trial_id for point in points for trial in point.trials if trial.state == service.SUCCEEDED]
        columns = ", ".join('"' + name + '"' for name in ("trial", *names))
        for i in range(0, len(trials), _TRIALS_IN_A_QUERY):
            some = ", ".join(map(quoted, trials[i : i + _TRIALS_IN_A_QUERY]))
            for row in self._client._rows(f"SELECT {columns} FROM results WHERE trial IN ({some})", _TRIALS_IN_A_QUERY)[1]:
                measured[row[0]] = dict(zip(names, row[1:]))
        outcomes: dict[int, Outcome | None] = {}
        by_values: dict[str, int] = {}
        for number, searched in enumerate(points, first):
            like = by_values.setdefault(_key_of(searched.point), number)
            if number < len(self._first_like):
                like = self._first_like[number]
            outcomes[number] = self._outcome(searched, measured) if like == number else outcomes.get(like)
        return outcomes

    def _outcome(self, searched: service.SearchedPoint, measured: dict[str, dict[str, Any]]) -> Outcome | None:
        states = optuna.trial.TrialState
        trials = searched.trials
        if not searched.made or any(trial.state in (service.PENDING, service.RUNNING) for trial in trials):
            return None
        if any(trial.state == service.FAILED or (trial.state == service.CANCELLED and not trial.pruned) for trial in trials):
            return Outcome(states.FAIL)
        if not trials:  # It is excluded: something to keep away from.
            return Outcome(states.PRUNED)
        pruned = [trial.train_stage for trial in trials if trial.pruned]
        if pruned:
            return self._pruned(pruned)
        diverged = any(trial.state == service.DIVERGED for trial in trials)
        means: dict[str, float] = {}
        for name in self._measurements():
            numbers: list[Any] = [measured.get(trial.trial_id, {}).get(name) for trial in trials]
            if not diverged and any(number is None for number in numbers):
                return Outcome(states.FAIL)
            means[name] = math.nan if diverged else math.fsum(numbers) / len(numbers)
        constraints: list[float] = []
        for one in self.sampling.constraints:
            constraints += [means[one.measurement] - one.max] if one.HasField("max") else []
            constraints += [one.min - means[one.measurement]] if one.HasField("min") else []
        values = self._worst if diverged else [means[one.measurement] for one in self.sampling.objectives]
        return Outcome(states.COMPLETE, values, [math.inf if math.isnan(one) else one for one in constraints])

    def _pruned(self, stages: Sequence[str]) -> Outcome:
        """With the last value of its curve where that is to be small or large as the objective is."""
        outcome = Outcome(optuna.trial.TrialState.PRUNED)
        if self._pruning is None or len(self.sampling.objectives) > 1 or self._pruning.goal != self.sampling.objectives[0].goal:
            return outcome
        stages_sql = ", ".join(map(quoted, dict.fromkeys(stages)))
        name = quoted(self._pruning.measurement)
        sql = f"SELECT max(step), value FROM curves WHERE stage IN ({stages_sql}) AND name = {name} AND site = '' GROUP BY stage"
        last = [(step, value) for step, value in self._client._rows(sql, len(stages) + 1)[1] if value is not None]
        if not last:
            return outcome
        return outcome._replace(values=[math.fsum(value for _, value in last) / len(last)], step=int(min(step for step, _ in last)))


def run(client: Client, sweep: str, make_sampler: Callable[[int], Sampler] | None = None, *, patient: bool = False) -> Search:
    """Asks Optuna for points of the sweep, and tells it their results, until it has them all or has ended. Returns the search, with its `study`.
    `patient`: goes on where another sampler has extended the sweep, with its points; else ConflictError."""
    search: Search | None = None
    wait = _POLL_SECONDS
    while True:
        try:
            search = search or Search(client, sweep, make_sampler)
            changed = search.step()
        except ConflictError:
            if not patient or search is None:
                raise
            sweep, search = search.sweep, None  # Its name may be another sweep's by now.
            time.sleep(_AFTER_ANOTHER_SECONDS)
            continue
        if search.over:
            return search
        wait = _POLL_SECONDS if changed else min(wait * 1.5, _POLL_SECONDS_MAX)
        time.sleep(wait)


def _active(client: Client) -> list[service.SweepStatus]:
    """Archived ones, too."""
    request = service.ListSweepsRequest(active=True, all=True)
    sweeps: list[service.SweepStatus] = []
    while True:
        page = client._connection.call("ListSweeps", request)
        sweeps += page.sweeps
        if not page.next_page_token:
            return sweeps
        request.page_token = page.next_page_token


def run_all(client: Client) -> None:
    """The same for every sweep of the coordinator that wants points, for ever. One that has a problem is left alone until it has more points; where
    another sampler extends a sweep, that one goes on."""
    searches: dict[str, Search] = {}
    left: dict[str, tuple[int, float]] = {}  # Its points, and when it is looked at again.
    while True:
        wanted = {status.sweep_id: status for status in _active(client) if status.to_ask > 0}
        searches = {sweep: search for sweep, search in searches.items() if sweep in wanted}
        changed = False
        for sweep, status in wanted.items():
            if sweep in left and left[sweep][0] == status.asked and time.monotonic() < left[sweep][1]:
                continue
            try:
                if sweep not in searches:
                    searches[sweep] = Search(client, sweep)
                changed = searches[sweep].step() or changed
            except InlierError as error:
                searches.pop(sweep, None)
                another = isinstance(error, ConflictError)
                left[sweep] = (status.asked, time.monotonic() + (_AFTER_ANOTHER_SECONDS if another else math.inf))
                print(f"{sweep}: {error}", file=sys.stderr, flush=True)
        time.sleep(_POLL_SECONDS if changed else 1.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m inlier.optimize", description="Ask Optuna for the points of a sweep with sampling.optuna.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("sweep", nargs="?", help="id or name")
    which.add_argument("--all", action="store_true", help="every active sweep that wants points, until it is stopped")
    parser.add_argument("--patient", action="store_true", help="go on where another sampler extends the sweep, too")
    parser.add_argument("--dir", help="state folder of a coordinator that runs")
    parser.add_argument("--server", help="coordinator, HOST:PORT; without --dir and --server: as inlier.connect()")
    parser.add_argument("--tls-ca", default="", help="PEM file: CA of the coordinator's certificate")
    parser.add_argument("--token-file", default="", help="file with the token in its first line")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    try:
        with inlier.connect(arguments.dir, arguments.server, tls_ca=arguments.tls_ca, token_file=arguments.token_file, patience=_PATIENCE_SECONDS) as client:
            if arguments.all:
                run_all(client)
            else:
                search = run(client, arguments.sweep, patient=arguments.patient)
                print(f"{len(search.study.trials)} points of {search.sweep} were asked for")
    except KeyboardInterrupt:
        return 130
    except InlierError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
