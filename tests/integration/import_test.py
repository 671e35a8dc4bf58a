#!/usr/bin/env python3
"""Runs of CSV, TensorBoard, W&B and MLflow are imported, read back, beside ours in a table, removed and restored; half a file imports nothing."""
import json
import pathlib
import shutil
import unittest

import harness

DATA = pathlib.Path(__file__).parents[1] / "cli/import/data"

SWEEP = """
name: ours
base:
  model: {bert: {preset: tiny, layers: 1}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 400}}, sequence_length: 16}}
  training: {steps: 6, batch_size: 4}
  evaluation: {batches: 1}
axes:
  - {field: training.optimizer.adam.learning_rate, values: [0.001, 0.002]}
table: {rows: [learning_rate], columns: [{measurement: perplexity}]}
"""
CSV = "name,learning_rate,optimizer,seed,perplexity\na,0.001,adam,1,40.5\nb,0.001,adam,2,42.5\nc,0.004,\"s,gd\",1,nan\n"


class ImportTest(harness.FolderTest):
    def imported(self, local, *arguments):
        return local.inlier_json("import", *arguments)["sweep_id"]

    def test_each_format_is_read_back(self):
        with harness.Local() as local:
            csv = self.imported(local, self.write("runs.csv", CSV))
            self.assertEqual([("a", 0.001, "adam", 1, 40.5), ("b", 0.001, "adam", 2, 42.5), ("c", 0.004, "s,gd", 1, None)],
                             [tuple(row) for row in local.sql(f"SELECT run, learning_rate, optimizer, seed, perplexity FROM results WHERE sweep_id = '{csv}'")])
            boards = self.imported(local, str(DATA / "tensorboard"))
            self.assertEqual([(0, 2.0), (10, 1.0)], [tuple(row) for row in local.sql(
                f"SELECT step, value FROM curves WHERE sweep_id = '{boards}' AND name = 'train_loss' AND labels->>'lr' = '0.1' ORDER BY step")][:2])
            runs = self.imported(local, str(DATA / "wandb"))
            self.assertEqual([("lr0.01", 0.2), ("lr0.1", 0.2)], [tuple(row) for row in local.sql(f"SELECT run, acc FROM results WHERE sweep_id = '{runs}' ORDER BY run")])
            store = self.imported(local, str(DATA / "mlruns"))
            self.assertEqual([("dead", "FAILED"), ("run-0.01", "SUCCEEDED"), ("run-0.1", "SUCCEEDED")],
                             [tuple(row) for row in local.sql(f"SELECT run, state FROM trials WHERE sweep_id = '{store}' ORDER BY run")])
            self.assertEqual([], local.sql("SELECT * FROM attempts"))
            self.assertIn("imported", local.inlier("list").stdout)
            local.inlier("doctor")
            again = local.inlier("import", str(DATA / "mlruns")).stdout
            self.assertIn(f"is there already, as {store}", again)
            self.assertIn("imported 3 runs", local.inlier("import", str(DATA / "mlruns"), "--again", "--name", "once-more").stdout)
            self.assertIn("runs of the same name are in several of these imports (2, such as run-0.01)", local.inlier("table", store, "once-more").stderr)
            self.assertNotIn("of the same name", local.inlier("table", store, boards).stderr)
            if shutil.which("gnuplot"):
                local.inlier("plot", boards, "--kind", "curves", "--y", "train_loss", "-o", str(self.folder / "curves.svg"))
                self.assertIn("imported from tensorboard", (self.folder / "curves.svg").read_text())

    def test_a_table_keeps_theirs_and_ours_apart(self):
        with harness.Local("--slots", "2") as local:
            ours = local.submit(self.write("ours.yaml", SWEEP))
            harness.wait_for("the end", lambda: local.inlier_json("status", ours)["sweep"]["state"] == "COMPLETE", 120)
            alone = local.inlier("table", "ours").stdout
            theirs = self.imported(local, self.write("runs.csv", CSV), "--name", "theirs")
            table = local.inlier_json("table", "ours", "theirs")
            self.assertEqual(["origin", "learning_rate"], table["row_headings"])
            by = {tuple(row["labels"]): row["cells"][0] for row in table["rows"]}
            self.assertEqual({("", "0.001"), ("", "0.002"), ("imported", "0.001"), ("imported", "0.004")}, set(by))
            self.assertEqual(41.5, by["imported", "0.001"]["mean"])
            self.assertNotIn("mean", by["imported", "0.004"])  # NaN is no result.
            explained = local.inlier("table", "ours", "theirs", "--explain", "imported,0.001,perplexity").stdout
            self.assertIn("imported from", explained)
            self.assertIn("runs.csv (CSV, SHA-256 ", explained)
            self.assertIn("(imported)", local.inlier("table", "theirs").stdout)
            self.assertEqual(alone, local.inlier("table", "ours").stdout)
            self.assertIn("imported from", local.inlier("why", "theirs").stdout)
            for verb in (["pause"], ["resume"], ["retry"], ["edit"]):
                more = ["--set", "priority=2"] if verb == ["edit"] else []
                local.inlier(*verb, "theirs", *more, fails=6, says="was imported from")
            local.inlier("export", local.sql("SELECT trial FROM trials WHERE origin = 'imported' LIMIT 1")[0][0], str(self.folder / "model"), fails=6, says="imported")
            # Order: tags, removal, restoring.
            local.inlier("tag", "theirs", "+paper")
            local.inlier("remove", "theirs", "--yes")
            self.assertEqual([], local.sql(f"SELECT * FROM results WHERE sweep_id = '{theirs}'"))
            local.inlier("import", str(self.folder / "runs.csv"), fails=6, says="which was removed")
            local.inlier("restore", "theirs")
            self.assertEqual(3, len(local.sql(f"SELECT * FROM results WHERE sweep_id = '{theirs}'")))

    def test_half_a_file_imports_nothing(self):
        with harness.Local() as local:
            local.inlier("import", self.write("half.csv", CSV[:-6]), fails=3, says="is the file incomplete?")
            local.inlier("import", self.write("odd.csv", "lr,thing,loss\n1,2,3\n"), fails=3, says="whether thing is a setting or a result")
            shutil.copytree(DATA / "tensorboard", self.folder / "tb")
            event = next(path for path in (self.folder / "tb").rglob("*tfevents*"))
            event.write_bytes(event.read_bytes()[:-2])
            local.inlier("import", str(self.folder / "tb"), fails=3, says="is cut off")
            self.assertEqual([], local.inlier_json("list").get("sweeps", []))
            seen = json.loads(local.inlier("import", self.write("runs.csv", CSV), "--dry-run", "--json").stdout)
            self.assertIn("results: perplexity (lower is better)", seen["remarks"])
            self.assertEqual([], local.inlier_json("list").get("sweeps", []))


if __name__ == "__main__":
    unittest.main()
