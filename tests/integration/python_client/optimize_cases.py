"""inlier.optimize with Optuna and a coordinator in memory: proposals, replays, what Optuna is told."""
import math
import unittest

import optuna
from google.protobuf import json_format

from inlier import errors, optimize
from inlier.v1 import sweep_service_pb2 as service

S, D, F, C, R = service.SUCCEEDED, service.DIVERGED, service.FAILED, service.CANCELLED, service.RUNNING
optuna.logging.set_verbosity(optuna.logging.ERROR)

RATE = {"name": "rate", "range": {"min": 1e-4, "max": 1e-1, "log": True, "digits": 4}}
SIZE = {"name": "size", "range": {"min": 8, "max": 64, "step": 8, "integer": True}}
METHOD = {"name": "method", "labels": ["vanilla", "clipped"]}
GAMMA = {"name": "gamma", "range": {"min": -0.1, "max": 0, "digits": 4}, "when": [{"axis": "method", "labels": ["clipped"]}]}


def loss_of(values):
    return (math.log10(values["rate"]) + 2) ** 2 + values.get("size", 0) / 640 - values.get("gamma", 0)


class Coordinator:
    """A sweep whose trials end when `end` is called. Each point has as many trials as `losses` returns."""

    def __init__(self, axes=(RATE, SIZE), losses=lambda values: [(S, loss_of(values))], **sampling):
        goals = sampling.pop("objectives", [{"measurement": "loss", "goal": "MINIMIZE"}])
        self.fixed = json_format.ParseDict({"sweep_id": "s-1", "state": "ACTIVE", "axes": axes, "sampling": {"trials": 20, "objectives": goals, **sampling}}, service.Search())
        self.losses, self.points, self.curves, self.refuse = losses, [], [], None
        self._connection = self

    def call(self, method, request):
        if method == "ExtendSweep":
            if self.refuse:
                raise self.refuse
            assert request.first == len(self.points), "an extension names its place"
            self.points += [service.SearchedPoint(point=point) for point in request.points]
            return service.ExtendSweepResponse(asked=len(self.points))
        read = service.Search()
        read.CopyFrom(self.fixed)
        read.asked = len(self.points)
        read.points.extend(self.points[request.first :])
        return read

    def values(self, number):
        return json_format.MessageToDict(self.points[number].point.values)

    def end(self, *numbers):
        for number in numbers or range(len(self.points)):
            point = self.points[number]
            if point.made:
                continue
            point.made = True
            if self.values(number) in [self.values(other) for other in range(number)]:
                continue  # A repeated point has no trials.
            for i, (state, _) in enumerate(self.losses(self.values(number))):
                pruned = state == "pruned"
                point.trials.add(trial_id=f"t-{number}.{i}", state=C if pruned else state, pruned=pruned, train_stage=f"st-{number}.{i}")

    def _rows(self, sql, max_rows):
        if "FROM curves" in sql:
            return [], self.curves, False
        names = sql[len("SELECT ") : sql.index(" FROM")].replace('"', "").split(", ")
        rows = []
        for number, point in enumerate(self.points):
            for trial, (state, loss) in zip(point.trials, self.losses(self.values(number)) if point.trials else ()):
                if f"'{trial.trial_id}'" in sql and state == S:
                    rows.append([trial.trial_id, *({"loss": loss, "size": 2 * (loss or 0)}[name] for name in names[1:])])
        return names, rows, False


def proposals(coordinator, steps=20, restart_at=(), end=None):
    search = optimize.Search(coordinator, "s-1")
    for step in range(steps):
        if step in restart_at:
            search = optimize.Search(coordinator, "s-1")
        search.step()
        (end or coordinator.end)()
    return search, [coordinator.values(number) for number in range(len(coordinator.points))]


class OptimizeTest(unittest.TestCase):
    def test_a_killed_sampler_goes_on_with_the_same_proposals(self):
        for sampler in ("TPE", "CMA_ES", "NSGA_II", "RANDOM"):
            with self.subTest(sampler):
                _, whole = proposals(Coordinator(sampler=sampler, trials=18), 30)
                _, killed = proposals(Coordinator(sampler=sampler, trials=18), 30, restart_at=(1, 4, 11, 12, 17))
                self.assertEqual(18, len(whole))
                self.assertEqual(whole, killed)
                self.assertNotEqual(whole, proposals(Coordinator(sampler=sampler, trials=18, seed=2), 30)[1])

    def test_several_at_once_are_told_in_the_order_in_which_they_ended(self):
        def latest_first(coordinator):
            still_open = [number for number, point in enumerate(coordinator.points) if not point.made]
            return lambda: coordinator.end(still_open[-1]) if still_open else None

        runs = []
        for restarts in ((), (3, 7, 8, 13)):
            coordinator = Coordinator(parallel=3, trials=16)
            search = optimize.Search(coordinator, "s-1")
            for step in range(40):
                if step in restarts:
                    search = optimize.Search(coordinator, "s-1")
                search.step()
                self.assertLessEqual(len(search._open), 3)
                latest_first(coordinator)()
            runs.append([(coordinator.values(number), list(point.point.told)) for number, point in enumerate(coordinator.points)])
            self.assertTrue(search.over)
        self.assertEqual(16, len(runs[0]))
        self.assertEqual(runs[0], runs[1])

    def test_equal_suggestions_for_equal_histories_by_optuna_alone(self):
        _, points = proposals(Coordinator(trials=20))
        study = optuna.create_study()
        distributions = {"rate": optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True), "size": optuna.distributions.IntDistribution(8, 64, step=8)}
        for number, point in enumerate(points):
            study.sampler = optuna.samplers.TPESampler(seed=optimize.seed_of(1, number), constant_liar=False)
            alone = study.ask(distributions).params
            self.assertEqual(point, {"rate": float(f"{alone['rate']:.4g}"), "size": alone["size"]}, f"point {number}")
            study.add_trial(optuna.create_trial(params=point, distributions=distributions, value=loss_of(point)))
            study = _without_running(study)

    def test_numbers_are_of_the_range(self):
        _, points = proposals(Coordinator(sampler="RANDOM", trials=20))
        for point in points:
            self.assertTrue(1e-4 <= point["rate"] <= 1e-1 and point["rate"] == float(f"{point['rate']:.4g}"))
            self.assertTrue(point["size"] in range(8, 65, 8))

    def test_a_conditional_axis_is_proposed_where_it_applies(self):
        _, points = proposals(Coordinator(axes=(RATE, METHOD, GAMMA), trials=20), restart_at=(5, 12))
        self.assertEqual({"vanilla", "clipped"}, {point["method"] for point in points})
        for point in points:
            self.assertEqual(point["method"] == "clipped", "gamma" in point)

    def test_start_points_come_first_and_the_rest_of_them_is_proposed(self):
        _, points = proposals(Coordinator(trials=4, start=[{"rate": 0.01, "size": 16}, {"rate": 0.02}]))
        self.assertEqual({"rate": 0.01, "size": 16}, points[0])
        self.assertEqual(0.02, points[1]["rate"])
        self.assertIn("size", points[1])

    def test_what_optuna_is_told(self):
        states = {0: [(S, 1.0), (S, 3.0)], 1: [(S, 1.0), (F, None)], 2: [(S, 1.0), (D, None)], 3: [(C, None)], 4: [("pruned", None)], 5: [], 6: [(S, None)]}
        coordinator = Coordinator(trials=8, objectives=[{"measurement": "loss", "goal": "MINIMIZE"}])
        json_format.ParseDict({"measurement": "train_loss", "goal": "MINIMIZE"}, coordinator.fixed.pruning)
        coordinator.curves = [[30, 2.5]]
        order = {}
        coordinator.losses = lambda values: states[order.setdefault(str(values), len(order))]
        search = optimize.Search(coordinator, "s-1")
        for _ in range(7):
            search.step()
            coordinator.end()
        search.step()
        told = [(trial.state.name, trial.value if trial.state.name == "COMPLETE" else None) for trial in search.study.trials[:7]]
        self.assertEqual([("COMPLETE", 2.0), ("FAIL", None), ("COMPLETE", math.inf), ("FAIL", None), ("PRUNED", None), ("PRUNED", None), ("FAIL", None)], told)
        self.assertEqual({30: 2.5}, search.study.trials[4].intermediate_values)

    def test_a_repeated_point_is_told_the_known_result(self):
        coordinator = Coordinator(axes=(METHOD,), sampler="RANDOM", trials=8, losses=lambda values: [(S, float(len(values["method"])))])
        search, points = proposals(coordinator, 20, restart_at=(4,))
        self.assertTrue(search.over)
        self.assertEqual(8, len(points))
        self.assertEqual([7.0] * 8, [trial.value for trial in search.study.trials])
        # Whole numbers, too, which are read back as 8.0; the points before the start are not forgotten.
        search, points = proposals(Coordinator(axes=(SIZE,), sampler="RANDOM", trials=20, losses=lambda values: [(S, values["size"])]), 30, restart_at=(6, 11))
        self.assertEqual([point["size"] for point in points], [trial.value for trial in search.study.trials])

    def test_a_history_that_cannot_be_is_one_sentence(self):
        coordinator = Coordinator()
        proposals(coordinator, 3)
        coordinator.points[2].point.told.append(0)
        with self.assertRaisesRegex(errors.InlierError, "the history of s-1 cannot be repeated: point 2 was asked for when point 0 was told once more"):
            optimize.Search(coordinator, "s-1")

    def test_objectives_and_constraints(self):
        two = [{"measurement": "loss", "goal": "MINIMIZE"}, {"measurement": "size", "goal": "MAXIMIZE"}]
        for sampler in ("NSGA_II", "TPE"):
            search, points = proposals(Coordinator(sampler=sampler, trials=16, objectives=two, constraints=[{"measurement": "size", "max": 3}]), 30)
            self.assertEqual([optuna.study.StudyDirection.MINIMIZE, optuna.study.StudyDirection.MAXIMIZE], search.study.directions)
            for trial, point in zip(search.study.trials, points):
                self.assertEqual([loss_of(point), 2 * loss_of(point)], trial.values)
                self.assertAlmostEqual(2 * loss_of(point) - 3, trial.user_attrs["constraints"][0])
            self.assertTrue(all(trial.values[1] <= 3 for trial in search.study.best_trials))

    def test_a_sampler_that_fails_or_is_refused_is_one_sentence(self):
        class Failing(optuna.samplers.RandomSampler):
            def sample_independent(self, *arguments):
                raise RuntimeError("no luck")

        class Lying(optuna.samplers.RandomSampler):
            def sample_independent(self, *arguments):
                return float("nan")

        for sampler, message in ((Failing, "failed at point 0 .RuntimeError: no luck."), (Lying, "failed at point 0 .ValueError")):
            coordinator = Coordinator()
            with self.assertRaisesRegex(errors.InlierError, message):
                optimize.Search(coordinator, "s-1", sampler).step()
            self.assertEqual([], coordinator.points)
        coordinator = Coordinator()
        coordinator.refuse = errors.InvalidError("points[0].values.rate: 2 is above max 0.1")
        with self.assertRaisesRegex(errors.InvalidError, "the sampler proposed what the sweep cannot have: points.*above max"):
            optimize.Search(coordinator, "s-1").step()

    def test_a_second_sampler_is_noticed(self):
        coordinator = Coordinator()
        search = optimize.Search(coordinator, "s-1")
        search.step()
        optimize.Search(coordinator, "s-1").step()
        coordinator.points.append(coordinator.points[0])
        with self.assertRaisesRegex(errors.ConflictError, "another one extends it"):
            search.step()


def _without_running(study):
    fresh = optuna.create_study()
    fresh.add_trials([trial for trial in study.get_trials(deepcopy=False) if trial.state == optuna.trial.TrialState.COMPLETE])
    return fresh


if __name__ == "__main__":
    unittest.main()
