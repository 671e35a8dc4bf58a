"""The client against a coordinator and a worker: sweeps, frames, tables, control, errors."""
import contextlib
import math
import os
import sqlite3
import tempfile
import unittest
import warnings
from unittest import mock

import harness
import inlier
import numpy as np
import pandas as pd
import yaml
from google.protobuf import json_format
from inlier import _results, client as client_module
from inlier.v1 import sweep_service_pb2

os.environ["INLIER_PROGRAM"] = str(harness.INLIER)
YAML = """
name: cases
base:
  model: {bert: {layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 20, batch_size: 8, measure_every: 2, optimizer: {adamw: {learning_rate: 4e-3}}}
  evaluation: {batches: 2, batch_size: 16}
axes:
  - name: method
    variants:
      - {label: vanilla, set: {}}
      - {label: clipped, set: {attention: {softmax: {clipped: {gamma: -3e-2}}}}}
  - {field: seed, values: [1, 2]}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 1}}}}
table:
  rows: [method]
  columns:
    - {heading: ppl, measurement: perplexity, where: {bits: float}, decimals: 3}
    - {heading: W8A8 ppl, measurement: perplexity, where: {bits: W8A8}}
"""


def sweep_of(**changes):
    return {**yaml.safe_load(YAML), **changes}


class SpecTest(unittest.TestCase):
    """Needs no coordinator: the program `inlier` decides what a file means."""

    def test_what_pyyaml_reads_is_what_the_program_reads(self):
        files = sorted((harness.ROOT / "sweeps").glob("*.yaml"))
        self.assertGreater(len(files), 25)
        for file in files:
            with self.subTest(file.name), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Corpora that are not there.
                loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
                # The sizes of a model's folder are for the program to read.
                other = yaml.safe_dump(loaded) if "hugging_face" in loaded["base"].get("model", {}) else loaded
                self.assertEqual(client_module.read_sweep(file), client_module.read_sweep(other))

    def test_numbers_that_pyyaml_reads_as_texts(self):
        self.assertEqual("4e-3", yaml.safe_load("4e-3"))
        sweep = client_module.read_sweep(sweep_of(axes=[
            {"field": "training.optimizer.adamw.learning_rate", "values": ["1e-3", "2E-3", 0.004]},
            {"zip": ["seed", "training.steps"], "values": [["1", "2e1"], [2, 40.0]]},
        ], exclude=[{"seed+steps": "1, 20"}]))  # fmt: skip
        self.assertEqual(0.004, sweep.base.training.optimizer.adamw.learning_rate)
        self.assertEqual([0.001, 0.002, 0.004], [value.number_value for value in sweep.axes[0].values])
        self.assertEqual([[1, 20], [2, 40]], json_format.MessageToDict(sweep.axes[1])["values"])
        self.assertEqual(-0.03, client_module.read_sweep(sweep_of()).axes[0].variants[1].set["attention"]["softmax"]["clipped"]["gamma"])
        numpy = client_module.read_sweep(sweep_of(axes=[{"field": "seed", "values": np.arange(1, 3)}], priority=np.int64(3)))
        self.assertEqual(([1, 2], 3), ([value.number_value for value in numpy.axes[0].values], numpy.priority))

    def test_dotted_keys_and_settings(self):
        base = {"training.steps": 7, "training.optimizer.sgd": {}, "seed": 1}
        sweep = client_module.read_sweep({"name": "a", "base": base}, set={"training.optimizer.adamw.learning_rate": "4e-3", "training.batch_size": 2})
        self.assertEqual((7, 2, "adamw"), (sweep.base.training.steps, sweep.base.training.batch_size, sweep.base.training.optimizer.WhichOneof("kind")))
        with_program = client_module.read_sweep(YAML, set={"training.steps": 7, "training.optimizer.adamw.learning_rate": 1e-3})
        without = client_module.read_sweep(sweep_of(), set={"training.steps": 7, "training.optimizer.adamw.learning_rate": 1e-3})
        self.assertEqual(with_program, without)

    def test_mistakes_have_their_place(self):
        axes = sweep_of()["axes"]
        for sweep, words in [
            ({"nme": "a"}, "nme: unknown field; did you mean name?"),
            ({"name": True}, r"name: is True where a text is meant; put it in quotes \(PyYAML"),
            ({"base": {"training": {"stepz": 3}}}, "base.training.stepz: unknown field; did you mean steps?"),
            ({"base": {"training": {"steps": "many"}}}, "base.training.steps: is 'many' where a number is meant"),
            ({"base": {"training": {"steps": 2.5}}}, "base.training.steps: is 2.5 where a whole number is meant"),
            ({"base": {"training.steps": 2, "training": {"steps": 3}}}, "base.training.steps: is given twice"),
            ({"base": {"norm": "layer_norm"}}, "base.norm: 'layer_norm' is not one of its values; did you mean LAYER_NORM?"),
            ({"axes": [axes[0], {"field": "seed", "values": [1, "x"]}]}, r"axes\[1\].values\[1\]: is 'x' where a number is meant"),
            ({"axes": [{"field": "seed", "values": 3}]}, r"axes\[0\].values: is 3 where a list is meant"),
            ({"axes": [{"name": "m", "variants": [{"label": "x", "set": {"sed": 1}}]}]}, r"axes\[0\].variants\[0\].set.sed: unknown field; did you mean seed"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(inlier.InvalidError, words):
                client_module.read_sweep(sweep)
        with self.assertRaisesRegex(inlier.InvalidError, "set seed: an axis of the sweep sets it"):
            client_module.read_sweep(sweep_of(), set={"seed": 3})
        with self.assertRaisesRegex(inlier.InvalidError, r"sweep:6:\d+: base.training.stepz"):
            client_module.read_sweep(YAML.replace("{steps: 20", "{stepz: 20"))

    def test_files_need_the_program(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent", "INLIER_PROGRAM": ""}), self.assertRaisesRegex(inlier.InlierError, "INLIER_PROGRAM"):
            client_module.read_sweep(harness.SMOKE)


class TableTest(unittest.TestCase):
    """What a cell shows for each of its states."""

    def setUp(self):
        cells = [
            {"mean": 4.518, "std": 0.0123, "count": 2, "is_best": True}, {"mean": 5, "count": 1, "diverged": 1}, {"mean": 6, "count": 1, "missing": 1},
            {"diverged": 2, "missing": 1, "failed": 1}, {"missing": 1}, {"missing": 2, "cancelled": 1, "unmeasured": 1},
        ]  # fmt: skip
        rows = [{"labels": [label], "cells": [cell]} for label, cell in zip("a|b [c *d e_f g% h".split(), cells)]
        message = {"title": "A_title", "row_headings": ["method"], "column_headings": ["ppl"], "decimals": [2], "rows": rows}
        self.table = inlier.Table(json_format.ParseDict(message, sweep_service_pb2.Table()))

    def test_texts(self):
        shown = ["4.52 ± 0.01", "5.00 (1 diverged)", "6.00*", "DIVERGED, FAILED", "-", "CANCELLED, n/a"]
        self.assertEqual(shown, list(self.table.to_text_frame()["ppl"]))
        self.assertEqual(["n = 1 to 2", "3 diverged: the loss was not finite; in no mean", "1 failed: `inlier why TRIAL` has the reason",
                          "1 cancelled: by a person or by pruning", "1 unmeasured: no such measurement for this data", "2 not finished"],
                         self.table.notes())  # fmt: skip

    def test_markdown_and_latex_escape_and_mark_the_best(self):
        markdown, latex = self.table.to_markdown(), self.table.to_latex()
        self.assertIn("**A\\_title**\n\n| method | ppl |\n| --- | ---: |\n| a\\|b | **4.52 ± 0.01** |\n", markdown)
        self.assertIn("| e\\_f | DIVERGED, FAILED |", markdown)
        for line in (r"a|b & $\mathbf{4.52 \pm 0.01}$ \\", r"{}[c & $5.00$ (1 diverged) \\", r"{}*d & $6.00$* \\", r"g\% & - \\"):
            self.assertIn(line, latex)
        self.assertIn("<b>A_title</b>", self.table._repr_html_())
        with self.assertRaisesRegex(ValueError, "'man' is no number of a cell; known are mean"):
            self.table.to_frame("man")


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.local = harness.Local("--slots", "2")
        cls.addClassCleanup(cls.local.__exit__)
        cls.client = inlier.connect(cls.local.dir)
        cls.addClassCleanup(cls.client.close)
        cls.submitted = cls.client.submit(sweep_of())
        cls.sweep = cls.submitted.sweep
        cls.updates = list(cls.client.watch(cls.sweep, progress=True))

    def raw(self, statement):
        return harness.sql(self.local.dir, statement)

    def test_the_sweep_ran_under_the_eyes_of_watch(self):
        self.assertEqual((8, 0), (self.submitted.trials, self.submitted.known))
        done = [update.work_done for update in self.updates]
        self.assertEqual((sorted(done), 1.0), (done, done[-1]))
        self.assertGreater(len(done), 3)
        running = [attempt for update in self.updates for attempt in update.running]
        self.assertTrue(any(attempt.phase == "train" and attempt.steps == 20 and attempt.labels["method"] for attempt in running))
        last = self.updates[-1].status
        self.assertEqual(("COMPLETE", 8, 8, False), (last.state, last.succeeded, last.trials, last.active))
        again = self.client.submit(YAML)  # The file's text: the program reads it.
        self.assertEqual((8, 8), (again.trials, again.known))
        self.assertEqual("COMPLETE", self.client.wait(again.sweep).state)
        self.assertEqual([again.sweep, self.sweep], [status.sweep for status in self.client.sweeps() if status.name == "cases"])

    def test_results_are_those_of_the_database_to_the_last_digit(self):
        results = self.client.results(self.sweep)
        stored = self.raw(f"SELECT trial, perplexity, seed, gamma, weight_bits FROM results WHERE sweep_id = '{self.sweep}' ORDER BY CAST(substr(trial, 3) AS INT)")
        self.assertEqual([row[:3] for row in stored], list(zip(results.trial, results.perplexity, results.seed)))
        self.assertEqual([row[3] for row in stored], [None if math.isnan(value) else value for value in results.gamma])
        self.assertEqual(("Int64", [row[4] for row in stored]), (str(results.weight_bits.dtype), [None if value is pd.NA else value for value in results.weight_bits]))
        self.assertEqual(["trial", "sweep_id", "sweep", "state", "label", "method", "bits"], list(results.columns)[:7])
        self.assertEqual(["vanilla"] * 4 + ["clipped"] * 4, list(results.method))
        self.assertNotIn("alpha", results)
        self.assertIn("alpha", self.client.results(self.sweep, empty_columns=True))
        narrow = self.client.results(self.sweep, columns=["perplexity", "alpha"])
        self.assertEqual(["trial", "sweep_id", "sweep", "state", "label", "method", "seed", "bits", "perplexity", "alpha"], list(narrow.columns))
        self.assertEqual(list(results.trial), list(self.client.trials(self.sweep, state="SUCCEEDED").trial))

    def test_curves_are_those_of_the_database(self):
        stored = self.raw(f"SELECT trial, name, step, value FROM curves WHERE sweep_id = '{self.sweep}' AND site = '' ORDER BY CAST(substr(trial, 3) AS INT), name, step")
        curves = self.client.curves(self.sweep)
        self.assertEqual(stored, list(zip(curves.trial, curves["name"], curves.step, curves.value)))
        losses = self.client.curves(self.sweep, names="train_loss", trials=curves.trial[0])
        self.assertEqual([(row[2], row[3]) for row in stored if row[:2] == (curves.trial[0], "train_loss")], list(zip(losses.step, losses.value)))
        self.assertEqual(["trial", "label", "method", "seed", "bits", "name", "step", "value", "at", "stage"], list(losses.columns))
        trainings = self.client.curves(self.sweep, names="train_loss").drop_duplicates(["stage", "step"])
        self.assertEqual(2 * len(trainings), len(self.client.curves(self.sweep, names="train_loss")), "float and W8A8 share a training")
        with self.assertRaisesRegex(inlier.InvalidError, "t-999 are not of"):
            self.client.curves(self.sweep, trials="t-999")
        with self.assertWarnsRegex(UserWarning, "^no training has reported perplexity yet$"):
            self.assertTrue(self.client.curves(self.sweep, names=["perplexity"]).empty)

    def test_pages_are_put_together(self):
        whole = (self.client.results(self.sweep), self.client.curves(self.sweep, sites=True))
        with mock.patch.object(_results, "_TRIALS_IN_A_PAGE", 3), mock.patch.object(_results, "_ROWS_IN_A_PAGE", 30):
            pd.testing.assert_frame_equal(whole[0], self.client.results(self.sweep))
            pd.testing.assert_frame_equal(whole[1], self.client.curves(self.sweep, sites=True))
        with mock.patch.object(_results, "_ROWS_MAX", 3), mock.patch.object(_results, "_ROWS_IN_A_PAGE", 2):
            with self.assertRaisesRegex(inlier.TruncatedError, "t-1 has more than 3 rows"):
                list(self.client._pages("SELECT * FROM curves", "", ["t-1", "t-2"]))
        with self.assertRaisesRegex(inlier.TruncatedError, "more than 2 rows; narrow it"):
            self.client.query("SELECT trial FROM trials", max_rows=2)
        self.assertEqual(2, len(self.client.query("SELECT trial FROM trials LIMIT 2", max_rows=2)))

    def test_the_table_is_that_of_the_command_line(self):
        printed = self.local.inlier_json("table", self.sweep, "--format", "json")
        table = self.client.table(self.sweep)
        self.assertEqual([[cell["mean"] for cell in row["cells"]] for row in printed["rows"]], table.to_frame().values.tolist())
        values = self.client.results(self.sweep).query("bits == 'float'").groupby("method").perplexity
        np.testing.assert_allclose(values.std()[["vanilla", "clipped"]], table.to_frame("std")["ppl"], rtol=1e-12)
        self.assertEqual([2, 2], list(table.to_frame("count")["ppl"]))
        mean, deviation = table.to_frame().loc["vanilla", "ppl"], table.to_frame("std").loc["vanilla", "ppl"]
        self.assertIn(f"{mean:.3f} ± {deviation:.3f}", table.to_markdown())
        self.assertRegex(table.to_latex(), rf"vanilla & \$(\\mathbf{{)?{mean:.3f} \\pm {deviation:.3f}}}?\$ & ")
        self.assertIn("n = 2", table.notes())
        self.assertEqual({"method", "column", "mean", "trials"}, {"method", "column", "mean", "trials"} & set(table.cells()))
        by_bits = self.client.table(self.sweep, {"rows": ["bits"]})
        self.assertEqual((["bits"], list(table.message.column_headings)), (list(by_bits.message.row_headings), list(by_bits.message.column_headings)))
        own = self.client.table(self.sweep, {"rows": ["method", "seed"], "columns": [{"measurement": "max_inf_norm", "where": {"bits": "float"}}]})
        self.assertEqual([("vanilla", "1"), ("vanilla", "2"), ("clipped", "1"), ("clipped", "2")], list(own.to_frame().index))
        with self.assertRaisesRegex(inlier.InvalidError, "perplexty"):
            self.client.table(self.sweep, {"rows": ["method"], "columns": [{"measurement": "perplexty"}]})

    def test_a_folder_has_the_same_frames(self):
        with inlier.open_dir(self.local.dir) as folder:
            pd.testing.assert_frame_equal(self.client.results(self.sweep), folder.results(self.sweep))
            pd.testing.assert_frame_equal(self.client.curves(self.sweep, sites=True), folder.curves(self.sweep, sites=True))
            pd.testing.assert_frame_equal(self.client.table(self.sweep).to_frame(), folder.table(self.sweep).to_frame())
            self.assertEqual(self.client.status("cases").sweep, folder._sweep_id("cases"))
            with self.assertRaisesRegex(inlier.InvalidError, "readonly"):
                folder.query("DELETE FROM sweep")
            with self.assertRaisesRegex(inlier.NotFoundError, "there is no sweep s-99 in .*known are cases"):
                folder.results("s-99")

    def test_another_version_of_the_database_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.closing(sqlite3.connect(self.local.dir / "inlier.db")) as source, contextlib.closing(sqlite3.connect(f"{folder}/inlier.db")) as copy:
                source.backup(copy)
            for pragma, words in (("user_version = 99", "schema version 99, written by a newer inlier"), ("user_version = 0", "of an older inlier"),
                                  ("application_id = 7", "of another program")):  # fmt: skip
                with contextlib.closing(sqlite3.connect(f"{folder}/inlier.db")) as copy:
                    copy.execute(f"PRAGMA {pragma}")
                with self.assertRaisesRegex(inlier.ConflictError, words):
                    inlier.open_dir(folder)
            with self.assertRaisesRegex(inlier.NotFoundError, "there is no folder"):
                inlier.open_dir(folder + "/x")

    def test_control(self):
        sweep = self.client.submit(sweep_of(name="long"), set={"training.steps": 1_000_000}, priority=2, max_parallel=1).sweep
        harness.wait_for("an attempt", lambda: self.client.status(sweep).running)
        self.assertRegex(str(self.client.why(sweep)), "(?s)sweep .*long.*running")
        self.assertTrue(self.client.pause(sweep, now=True).changed)
        self.assertTrue(self.client.status(sweep).paused)
        self.assertFalse(self.client.pause(sweep).changed)
        self.assertTrue(self.client.resume(sweep))
        self.assertFalse(self.client.resume(sweep))

        worker = self.client.workers().name[0]
        self.assertTrue(self.client.drain(worker, now=True).changed)
        self.assertTrue(self.client.workers().draining[0])
        self.assertTrue(self.client.drain(worker, resume=True).changed)

        self.client.edit(sweep, set={"priority": 5})
        spec = self.client.status(sweep).spec
        self.assertEqual((5, 1), (spec["priority"], spec["max_parallel"]))
        self.assertEqual(1, self.client.status(sweep).message.spec.base.training.steps // 1_000_000)
        spec["axes"][1]["values"].append(3)
        edited = self.client.edit(sweep, spec)
        self.assertEqual((12, 4, 8, 3), (edited.trials, edited.added, edited.kept, edited.revision))

        trials = self.client.trials(sweep)
        self.assertEqual(1, self.client.cancel(trials.trial[7]))
        self.assertEqual(1, self.client.retry(trials.trial[7]))
        self.assertIn(trials.trial[0], str(self.client.why(trials.trial[0])))
        self.assertEqual(12, self.client.cancel(sweep))
        self.assertEqual("CANCELLED", self.client.wait(sweep).state)

    def test_logs_and_failures(self):
        spec = {key: value for key, value in sweep_of(name="no-corpus", axes=[{"field": "seed", "values": [1]}]).items() if key != "table"}
        sweep = self.client.submit(spec, set={"data.text.corpus": "missing"}).sweep
        self.assertEqual((1, 1), ((status := self.client.wait(sweep)).failed, status.trials))
        trial = self.client.trials(sweep).iloc[0]
        self.assertRegex(trial.message, "missing")
        stored = self.raw(f"SELECT text FROM logs WHERE trial = '{trial.trial}'")
        self.assertEqual([row[0] for row in stored], [line.text for line in self.client.logs(trial.trial)])
        self.assertGreater(len(stored), 0)
        with mock.patch.object(client_module, "_LINES_IN_A_PAGE", 1):
            self.assertEqual([row[0] for row in stored], [line.text for line in self.client.logs(trial.trial)])
        self.assertTrue(self.client.results(sweep).empty)
        self.assertTrue(self.client.curves(sweep).empty)
        table = self.client.table(sweep, {"rows": ["seed"], "columns": [{"measurement": "perplexity"}]})
        self.assertEqual("FAILED", table.to_text_frame().iloc[0, 0])
        self.assertTrue(math.isnan(table.to_frame().iloc[0, 0]))
        self.assertIn("1 failed: `inlier why TRIAL` has the reason", table.notes())

    def test_errors_are_those_of_the_coordinator(self):
        for call, kind, words in [
            (lambda: self.client.status("s-99"), inlier.NotFoundError, 'there is no sweep "s-99"'),
            (lambda: self.client.query("SELECT perplexty FROM results"), inlier.InvalidError, 'no such column: perplexty; did you mean "perplexity"'),
            (lambda: self.client.query("DELETE FROM sweep"), inlier.InlierError, "only one SELECT"),
            (lambda: self.client.submit(sweep_of(), set={"training.steps": -1}), inlier.InvalidError, "training.steps: -1 is out of range"),
            (lambda: self.client.submit(sweep_of(), set={"dropout": 7}), inlier.InvalidError, "dropout.*out of range"),
            (lambda: self.client.submit(sweep_of(name="a name")), inlier.InvalidError, "name: .*cannot name a sweep"),
            (lambda: self.client.submit(sweep_of(), max_trials=3), inlier.InlierError, "8"),
            (lambda: list(self.client.watch("s-99")), inlier.NotFoundError, "s-99"),
            (lambda: self.client.results(), inlier.InvalidError, "name a sweep"),
            (lambda: self.client.results(self.sweep, columns="perplexty"), inlier.InvalidError, "columns: 'perplexty' is not known; did you mean perplexity"),
            (lambda: self.client.trials(self.sweep, state="SUCCEDED"), inlier.InvalidError, "state: 'SUCCEDED' is not known; did you mean SUCCEEDED"),
            (lambda: self.client.curves(self.sweep, names="train_los"), inlier.InvalidError, "names: 'train_los' is not known; did you mean train_loss"),
            (lambda: self.client.curves(self.sweep, names=["train_loss", "?"]), inlier.InvalidError, r"names: '\?' is not known; known are .*train_loss"),
            (lambda: self.client.table(self.sweep, {"rows": ["metod"]}), inlier.InvalidError, 'table.rows.0.: "metod" is neither an axis'),
            (lambda: self.client.table(self.sweep, {"row": ["method"]}), inlier.InvalidError, "row: unknown field; did you mean rows"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(kind, words) as raised:
                call()
            self.assertNotIn("grpc", str(raised.exception).lower())
            self.assertTrue(raised.exception.__suppress_context__ or raised.exception.__context__ is None, "the traceback shows gRPC's")


if __name__ == "__main__":
    unittest.main()
