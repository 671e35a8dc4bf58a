#!/usr/bin/env python3
"""Figures of real trials: every kind, in every format, without a coordinator; their CSV has the numbers of the table."""
import csv
import json
import subprocess
import unittest
import xml.dom.minidom

import harness

SWEEP = """name: plots
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 300}}, sequence_length: 16}}
  training: {steps: 40, batch_size: 8, measure_every: 10, measure_outliers_every: 20}
  evaluation: {batches: 2, batch_size: 8}
axes:
  - name: method
    variants:
      - {label: vanilla, set: {}}
      - {label: "gamma -0.01 `id`", set: {attention: {softmax: {clipped: {gamma: -0.01}}}}}
      - {label: "'; system('id'); '", set: {attention: {softmax: {clipped: {gamma: -0.1}}}}}
  - {field: seed, values: [1, 2]}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 1}}}}
figures:
  - {name: loss, title: Loss, kind: CURVES, y: train_loss}
  - {name: norms, kind: CURVES, y: max_inf_norm, series: [method]}
  - {name: against, kind: AGAINST, x: gamma, y: perplexity}
  - {name: bars, kind: BARS, y: perplexity, log_y: true}
  - {name: map, kind: HEAT_MAP, x: method, by: bits, y: perplexity}
  - {name: scatter, kind: SCATTER, x: max_inf_norm, y: perplexity}
  - {name: dimensions, kind: DIMENSIONS, where: {method: vanilla}}
  - {name: tokens, kind: TOKENS}
  - {name: attention, kind: ATTENTION, layer: 1, head: 1, width_mm: 100, height_mm: 100}
  - {name: layers, kind: LAYERS, y: inf_norm, site: output.dense, series: [method]}
  - {name: heads, kind: HEADS, layer: 1}
  - {name: mean-attention, kind: MEAN_ATTENTION}
  - {name: mean-hidden, kind: MEAN_HIDDEN}
  - {name: values, kind: VALUES}
  - {name: contexts, kind: CONTEXTS}
  - {name: value-norms, kind: VALUE_NORMS}
  - {name: weight-norms, kind: WEIGHT_NORMS}
  - {name: second-moments, kind: SECOND_MOMENTS}
"""
# Drawn parts of each: bands, lines, error bars, bars, series of points, cells and numbers.
PARTS = {"loss": 3 + 3, "norms": 3 + 3, "against": 2 * (1 + 1) + 2 * (1 + 1), "bars": 6 + 6, "map": 1 + 2, "scatter": 6, "dimensions": 1,
         "tokens": 1, "attention": 1, "layers": 3 + 3, "heads": 1, "mean-attention": 1, "mean-hidden": 1, "values": 1, "contexts": 1, "value-norms": 1,
         "weight-norms": 1, "second-moments": 1}
METHODS = ["vanilla", "gamma -0.01 `id`", "'; system('id'); '"]


def rows_of(file):
    with open(file, newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


class PlotTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.temporary_folder())
        (cls.folder / "plots.yaml").write_text(SWEEP)
        harness.inlier("run", cls.folder / "plots.yaml", "--dir", cls.folder / "state")

    def plot(self, *arguments, status=0):
        """In a folder of its own, made by the first call of a test."""
        place = self.folder / self._testMethodName
        place.mkdir(exist_ok=True)
        done = subprocess.run([str(harness.INLIER), "plot", "plots", "--dir", str(self.folder / "state"), *arguments], cwd=place,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(status, done.returncode, done.stderr)
        return place, done

    def test_every_figure_is_a_picture_with_its_parts_and_a_csv(self):
        place, done = self.plot()
        self.assertEqual(sorted(done.stdout.split()), sorted(file.name for file in place.iterdir()))
        self.assertEqual(2 * len(PARTS), len(done.stdout.split()))
        for name, parts in PARTS.items():
            picture = xml.dom.minidom.parse(str(place / f"{name}.svg"))
            drawn = {group.getAttribute("id") for group in picture.getElementsByTagName("g")
                     if group.getAttribute("id").startswith("gnuplot_plot_")}
            self.assertEqual(parts, len(drawn), name)
        texts = [node.firstChild.data for node in xml.dom.minidom.parse(str(place / "loss.svg")).getElementsByTagName("text") if node.firstChild]
        for word in ["Loss", "step", "train_loss (nat)", "mean and standard deviation of 2 trainings", *(method.replace("'", "’") for method in METHODS)]:
            self.assertIn(word, texts)
        self.assertIn("gamma (γ)", (place / "against.svg").read_text())

    def test_pdf_and_png_need_no_display(self):
        for ending, magic in [("pdf", b"%PDF-"), ("png", b"\x89PNG\r\n\x1a\n")]:
            place, _ = self.plot("loss", "map", "-f", ending)
            for name in ["loss", "map"]:
                data = (place / f"{name}.{ending}").read_bytes()
                self.assertEqual(magic, data[:len(magic)])
                self.assertGreater(len(data), 2000)
            (place / "loss.csv").unlink()
            (place / "map.csv").unlink()

    def test_the_numbers_are_those_of_the_table(self):
        place, _ = self.plot("bars", "map", "against", "-f", "csv")
        self.assertEqual({"bars.csv", "map.csv", "against.csv"}, {file.name for file in place.iterdir()})
        (place / "table.yaml").write_text("rows: [method, bits]\ncolumns: [{measurement: perplexity}]\n")
        table = json.loads(harness.inlier("table", "plots", "--dir", self.folder / "state", "--spec", place / "table.yaml", "--json").stdout)
        expected = {tuple(row["labels"]): row["cells"][0] for row in table["rows"]}
        self.assertEqual(6, len(expected))
        for file in ["bars.csv", "map.csv"]:
            found = {(row["method"], row["bits"]): row for row in rows_of(place / file)}
            self.assertEqual(set(expected), set(found))
            for labels, cell in expected.items():
                self.assertEqual(cell["mean"], float(found[labels]["perplexity mean"]), labels)
                self.assertEqual(cell["std"], float(found[labels]["std"]), labels)
                self.assertEqual("2", found[labels]["n"])
        level = [row for row in rows_of(place / "against.csv") if row["gamma"] == ""]
        self.assertEqual([expected["vanilla", bits]["mean"] for bits in ["float", "W8A8"]], [float(row["perplexity mean"]) for row in level])

    def test_curves_have_every_point_of_the_database(self):
        place, _ = self.plot("loss", "-f", "csv")
        curves = {}
        for label, step, value in harness.sql(self.folder / "state", "SELECT DISTINCT labels->>'method', step, value FROM curves "
                                              "WHERE name = 'train_loss' ORDER BY step"):
            curves.setdefault((label, step), []).append(value)
        rows = rows_of(place / "loss.csv")
        self.assertEqual(len(curves), len(rows))
        for row in rows:
            values = curves[row["method"], int(row["step"])]
            self.assertEqual("2", row["n"])
            self.assertAlmostEqual(sum(values) / 2, float(row["train_loss mean"]), 12)
            self.assertEqual([min(values), max(values)], [float(row["min"]), float(row["max"])])

    def test_layers_have_the_numbers_of_their_sites(self):
        place, _ = self.plot("layers", "-f", "csv")
        rows = {(row["method"], row["layer"]): float(row["inf_norm mean"]) for row in rows_of(place / "layers.csv")}
        self.assertEqual({(method, layer) for method in METHODS for layer in "12"}, set(rows))
        for method, layer, mean in harness.sql(self.folder / "state", "SELECT labels->>'method', site, avg(value) FROM sites WHERE name = 'inf_norm' "
                                               "AND site LIKE '%.output.dense' AND site NOT LIKE '%attention%' GROUP BY 1, 2"):
            self.assertAlmostEqual(mean, rows[method, str(int(layer.split(".")[3]) + 1)], 9)

    def test_a_models_own_numbers(self):
        place, _ = self.plot("dimensions", "tokens", "attention", "-f", "csv")
        self.assertEqual(2 * 32, len(rows_of(place / "dimensions.csv")))
        tokens = rows_of(place / "tokens.csv")
        self.assertEqual([str(position) for position in range(16)], [row["position"] for row in tokens if row["layer"] == "1"])
        sums = {}
        for row in rows_of(place / "attention.csv"):
            sums[row["query"]] = sums.get(row["query"], 0) + float(row["probability"])
        self.assertEqual(16, len(sums))
        for total in sums.values():
            self.assertAlmostEqual(1, total, 5)
        _, done = self.plot("--kind", "attention", "--layer", "2", status=6)
        self.assertIn("layer: got 2; the model has layers 0 to 1", done.stderr)
        _, done = self.plot("--kind", "tokens", "--trial", "t-999", status=5)
        self.assertIn("t-999: is no trial of plots", done.stderr)

    def test_a_figure_of_ones_own_replaces_nothing_unasked(self):
        own = ["--kind", "bars", "--y", "max_inf_norm", "--series", "method", "--where", "bits=float", "-o", "own.svg"]
        place, done = self.plot(*own)
        self.assertEqual(["own.svg", "own.csv"], done.stdout.split())
        self.assertEqual(METHODS, [row["method"] for row in rows_of(place / "own.csv")])
        before = (place / "own.svg").read_bytes()
        _, done = self.plot(*own, status=6)
        self.assertIn("own.svg, own.csv: there already; --force replaces", done.stderr)
        self.assertEqual(before, (place / "own.svg").read_bytes())
        self.plot(*own, "--force", "--title", "Another")
        self.assertIn("Another", (place / "own.svg").read_text())
        written = json.loads(self.plot(*own[:-2], "-o", "other.csv", "--json")[1].stdout)
        self.assertEqual([["other.csv"]], [figure["files"] for figure in written])

    def test_mistakes_have_a_remedy_and_leave_nothing(self):
        for arguments, status, words in [
                (["--kind", "curvs"], 3, 'did you mean "curves"?'),
                (["--kind", "bars", "--y", "perplexty"], 3, 'y: "perplexty" is not a measurement; did you mean "perplexity"?'),
                (["--kind", "against", "--y", "loss", "--x", "gama"], 3, 'did you mean "gamma"?'),
                (["--kind", "curves", "--y", "train_loss", "--where", "method=vanila"], 3, 'did you mean "vanilla"?'),
                (["--y", "loss"], 3, "--kind is not given"),
                (["los"], 5, 'did you mean "loss"?'),
                (["-o", "x.svg"], 3, f"{len(PARTS)} figures would be drawn"),
                (["loss", "-o", "x.gif"], 3, ".svg, .pdf, .png or .csv"),
                (["--kind", "against", "--x", "gamma", "--y", "loss", "--log-x"], 3, "which has no logarithm")]:
            place, done = self.plot(*arguments, status=status)
            self.assertIn(words, done.stderr)
            self.assertEqual([], list(place.iterdir()))


if __name__ == "__main__":
    unittest.main()
