#!/usr/bin/env python3
"""From a file to a table, twice: the first time it trains, the second time nothing runs again and the numbers are the same."""
import json
import sys
import unittest

import harness


class SmokeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_context = harness.temporary_folder()
        cls.folder = cls.folder_context.__enter__()
        cls.first = harness.inlier("run", harness.SMOKE, "--dir", cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.folder_context.__exit__(None, None, None)

    def test_the_table_has_a_number_in_every_cell(self):
        table = harness.table_of(self.first.stdout)
        rows = [line for line in table if line.startswith(("BERT", "OPT"))]
        self.assertEqual(4, len(rows), self.first.stdout)
        for row in rows:
            self.assertNotIn(" - ", row)

    def test_every_trial_succeeded_with_one_result(self):
        self.assertEqual([(8, 8)], harness.sql(self.folder, "SELECT count(*), count(DISTINCT trial) FROM results WHERE sweep_id = 's-1'"))
        self.assertEqual([("SUCCEEDED", 8)],
                         harness.sql(self.folder, "SELECT state, count(*) FROM trials WHERE sweep_id = 's-1' GROUP BY state"))

    def test_learning_is_real(self):
        rows = harness.sql(self.folder, "SELECT trial, perplexity, unigram_perplexity FROM results WHERE sweep_id = 's-1'")
        self.assertEqual(8, len(rows))
        for trial, perplexity, unigram in rows:
            self.assertGreater(unigram / perplexity, 1.05, f"{trial}: perplexity {perplexity}, unigram {unigram}")
        self.assertGreater(max(unigram / perplexity for _, perplexity, unigram in rows), 1.5)

    def test_curves_fall(self):
        trial = harness.sql(self.folder, "SELECT trial FROM results LIMIT 1")[0][0]
        curve = harness.sql(self.folder, f"SELECT step, value FROM curves WHERE trial = '{trial}' AND name = 'train_loss' ORDER BY step")
        self.assertGreater(len(curve), 5)
        self.assertLess(curve[-1][1], curve[0][1])

    def test_vanilla_models_are_exported_and_gated_ones_refused_by_name(self):
        models = sorted(self.folder.glob("artifacts/*.safetensors"))
        self.assertEqual(4, len(models))
        exported = 0
        for number, model in enumerate(models):
            target = self.folder / "exports" / str(number)
            done = harness.inlier("export", model, target, check=False)
            if done.returncode == 0:
                exported += 1
                self.assertEqual({"config.json", "model.safetensors"}, {file.name for file in target.iterdir()})
                self.assertIn(json.loads((target / "config.json").read_text())["model_type"], ("bert", "opt"))
            else:
                self.assertEqual(6, done.returncode, done.stderr)
                self.assertIn("attention.gate: transformers has no gated attention", done.stderr)
                self.assertFalse(target.exists())
        self.assertEqual(2, exported)

    def test_again_nothing_runs_and_the_table_is_the_same(self):
        attempts = harness.sql(self.folder, "SELECT count(DISTINCT token) FROM attempts")
        second = harness.inlier("run", harness.SMOKE, "--dir", self.folder)
        self.assertIn("8 with known results", second.stdout)
        self.assertEqual(harness.table_of(self.first.stdout), harness.table_of(second.stdout))
        self.assertEqual(attempts, harness.sql(self.folder, "SELECT count(DISTINCT token) FROM attempts"))


if __name__ == "__main__":
    sys.exit(unittest.main())
