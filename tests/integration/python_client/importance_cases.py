"""The importance of parameters with Optuna, over a database in memory: what is observed, and the numbers that Optuna has for the same data."""
import contextlib
import io
import json
import math
import random
import sqlite3
import sys
import unittest
import unittest.mock

import optuna

from inlier import errors, importance
from inlier._results import Results

optuna.logging.set_verbosity(optuna.logging.ERROR)
RATE = {"field": "training.optimizer.adamw.learning_rate", "range": {"min": 1e-4, "max": 1e-1, "log": True}}
SIZE = {"field": "training.batch_size", "values": [8, 16, 32]}
SOFTMAX = {"name": "softmax", "variants": [{"label": "vanilla"}, {"label": "clipped"}]}
SEED = {"field": "seed", "values": [1, 2]}


class Database(Results):
    """A sweep whose trials have these labels and losses."""

    def __init__(self, axes, trials, **spec):
        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE TABLE sweeps (sweep_id, spec)")
        self.database.execute("CREATE TABLE trials (trial, sweep_id, labels, withdrawn)")
        self.database.execute("CREATE TABLE results (trial, sweep_id, labels, loss, accuracy, withdrawn DEFAULT 0)")
        self.database.execute("INSERT INTO sweeps VALUES ('s-1', ?)", [json.dumps({"axes": axes, **spec})])
        rows = [(f"t-{number}", "s-1", json.dumps(labels), loss, None) for number, (labels, loss) in enumerate(trials, 1)]
        self.database.executemany("INSERT INTO results (trial, sweep_id, labels, loss, accuracy) VALUES (?, ?, ?, ?, ?)", reversed(rows))

    def _rows(self, sql, max_rows):
        cursor = self.database.execute(sql)
        return [column[0] for column in cursor.description], cursor.fetchall(), False

    def _sweep_id(self, sweep):
        return "s-1"


def drawn(number=40):
    """Labels and loss: the rate matters most, the size a little, the softmax not at all; seeds add noise."""
    stream = random.Random(5)
    trials = []
    for _ in range(number):
        rate, size, softmax = 10 ** stream.uniform(-4, -1), stream.choice([8, 16, 32]), stream.choice(["vanilla", "clipped"])
        for seed in ("1", "2"):
            loss = (math.log10(rate) + 2) ** 2 + size / 100 + stream.uniform(0, 0.01)
            trials.append(({"learning_rate": f"{rate:.4g}", "batch_size": str(size), "softmax": softmax, "seed": seed}, loss))
    return trials


def evaluators():
    found = {"ped_anova": optuna.importance.PedAnovaImportanceEvaluator()}
    with contextlib.suppress(ImportError):
        found["fanova"] = optuna.importance.FanovaImportanceEvaluator(seed=3)
        found["mdi"] = optuna.importance.MeanDecreaseImpurityImportanceEvaluator(seed=3)
    return found


class ImportanceTest(unittest.TestCase):
    def setUp(self):
        self.trials = drawn()
        self.results = Database([RATE, SIZE, SOFTMAX, SEED], self.trials)

    def test_the_numbers_are_those_of_optuna(self):
        self.assertIn("fanova", evaluators(), "scikit-learn is installed")
        distributions = {
            "learning_rate": optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True),
            "batch_size": optuna.distributions.IntDistribution(8, 32),
            "softmax": optuna.distributions.CategoricalDistribution(list(dict.fromkeys(labels["softmax"] for labels, _ in self.trials))),
        }
        for name, evaluator in evaluators().items():
            for goal in ("MINIMIZE", "MAXIMIZE"):
                study = optuna.create_study(direction=goal.lower())
                for labels, loss in self.trials:
                    params = {"learning_rate": float(labels["learning_rate"]), "batch_size": int(labels["batch_size"]), "softmax": labels["softmax"]}
                    study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=loss))
                direct = optuna.importance.get_param_importances(study, evaluator=evaluator)
                ours = self.results.importance("s", "loss", evaluator=name, goal=goal, seed=3)
                self.assertEqual(direct, dict(zip(ours.parameter, ours.importance)), name)
                self.assertAlmostEqual(1, ours.importance.sum())
        self.assertEqual("learning_rate", ours.parameter[0])

    def test_every_seed_is_an_observation_and_no_parameter(self):
        ours = self.results.importance("s", "loss")
        self.assertEqual({"learning_rate", "batch_size", "softmax"}, set(ours.parameter))
        self.assertEqual((80, 0, []), tuple(ours.attrs[name] for name in ("trials", "left_out", "conditional")))
        self.assertTrue(ours.equals(self.results.importance("s", "loss")), "the same each time")

    def test_a_grid_of_two_axes(self):
        trials = [({"batch_size": str(size), "softmax": softmax}, size + (softmax == "clipped")) for size in (8, 16, 32) for softmax in ("vanilla", "clipped")]
        ours = Database([SIZE, SOFTMAX], trials, table={"columns": [{"heading": "mean"}, {"measurement": "loss"}]}).importance("s")
        self.assertEqual(["batch_size", "softmax"], list(ours.parameter))
        self.assertEqual("loss", ours.attrs["measurement"])
        self.assertGreater(ours.importance[0], 0.9)

    def test_the_objective_of_a_search_is_the_measurement(self):
        search = {"sampling": {"optuna": {"objectives": [{"measurement": "loss"}]}}, "table": {"columns": [{"measurement": "accuracy"}]}}
        self.assertEqual("loss", importance.observe(Database([RATE, SIZE], self.trials, **search), "s").measurement)

    def test_what_has_no_number_or_does_not_apply_is_left_out_and_named(self):
        trials = [({**labels, "gamma": "-0.1" if labels["softmax"] == "clipped" else ""}, loss) for labels, loss in self.trials]
        trials[0] = (trials[0][0], None)
        trials[1] = (trials[1][0], math.inf)
        gamma = {"name": "gamma", "values": [-0.1, -0.2], "when": {"softmax": "clipped"}}
        ours = Database([RATE, SIZE, SOFTMAX, gamma], trials).importance("s", "loss")
        self.assertNotIn("gamma", set(ours.parameter))
        self.assertEqual((78, 2, ["gamma"]), tuple(ours.attrs[name] for name in ("trials", "left_out", "conditional")))

    def test_names_of_imported_runs_and_crowded_texts_are_no_parameters(self):
        trials = [({**labels, "run": f"run-{number}", "machine": f"m{number % 30}"}, loss) for number, (labels, loss) in enumerate(self.trials)]
        run, machine = ({"field": name, "values": sorted({labels[name] for labels, _ in trials})} for name in ("run", "machine"))
        ours = Database([RATE, SIZE, SOFTMAX, run, machine], trials, imported={"path": "x.csv"}).importance("s", "loss")
        self.assertEqual({"learning_rate", "batch_size", "softmax"}, set(ours.parameter))
        self.assertEqual(["machine"], ours.attrs["crowded"])
        self.assertEqual(["run", "machine"], Database([RATE, SIZE, SOFTMAX, run, machine], trials).importance("s", "loss").attrs["crowded"])

    def test_withdrawn_trials_are_no_observations(self):
        database = Database([RATE, SIZE, SOFTMAX], self.trials)
        database.database.execute("UPDATE results SET withdrawn = 1 WHERE rowid <= 10")
        self.assertEqual(70, database.importance("s", "loss").attrs["trials"])

    def test_each_refusal_is_one_sentence(self):
        few = Database([SIZE, SOFTMAX], [({"batch_size": str(8 * (1 + number % 3)), "softmax": "ab"[number % 2]}, number) for number in range(5)])
        same = Database([SIZE, SOFTMAX], [({"batch_size": str(8 * (1 + number % 3)), "softmax": "ab"[number % 2]}, 1.0) for number in range(9)])
        for results, arguments, words in (
            (few, {"by": "loss"}, "s-1: 5 trials have loss, too few to tell 2 parameters apart .batch_size, softmax.; 6 are needed"),
            (same, {"by": "loss"}, "all 9 trials have the same loss"),
            (Database([SIZE, SEED], self.trials), {"by": "loss"}, "at least two parameters that vary over the trials with loss, and there is batch_size"),
            (Database([], []), {"by": "loss"}, "and there is none"),
            (self.results, {}, "by: the sweep names no measurement in its table"),
            (self.results, {"by": "los"}, "by: 'los' is not known; did you mean loss"),
            (self.results, {"by": "loss", "evaluator": "anova"}, "evaluator: 'anova' is not known"),
            (self.results, {"by": "loss", "evaluator": "ped_anova"}, "goal: ped_anova asks what the best trials have in common"),
            (self.results, {"by": "loss", "goal": "LESS"}, "goal: 'LESS' is not known"),
        ):
            with self.subTest(words), self.assertRaisesRegex(errors.InvalidError, words):
                results.importance("s", **arguments)
        with unittest.mock.patch.object(optuna.importance, "FanovaImportanceEvaluator", side_effect=ImportError):
            with self.assertRaisesRegex(errors.InlierError, "fanova needs the Python package scikit-learn"):
                self.results.importance("s", "loss")

    def run_main(self, *words):
        printed, complaint = io.StringIO(), io.StringIO()
        results = unittest.mock.MagicMock()
        results.__enter__.return_value = self.results
        with unittest.mock.patch.object(importance, "_open", return_value=results), unittest.mock.patch.object(sys, "argv", ["importance", "s", *words]):
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
                return importance.main(), printed.getvalue(), complaint.getvalue()

    def test_the_program_prints_text_csv_and_json(self):
        status, text, _ = self.run_main("--by", "loss")
        self.assertEqual(0, status)
        self.assertRegex(text, r"importance for loss of s-1, by fanova over 80 trials\nparameter +importance\nlearning_rate +0\.\d{3}\n")
        self.assertIn("parameter,importance\nlearning_rate,0.", self.run_main("--by", "loss", "--format", "csv")[1])
        answer = json.loads(self.run_main("--by", "loss", "--format", "json")[1])
        self.assertEqual({"sweep_id", "measurement", "evaluator", "trials", "left_out", "conditional", "crowded", "parameters"}, set(answer))
        self.assertEqual("learning_rate", answer["parameters"][0]["parameter"])
        self.assertEqual((1, "error: by: the sweep names no measurement"), (self.run_main()[0], self.run_main()[2][:41]))


if __name__ == "__main__":
    unittest.main()
