#!/usr/bin/env python3
"""`inlier table` on a real sweep without a coordinator: statistics against Python's, all formats, files, the trials behind a cell, and LaTeX set by pdfLaTeX."""
import csv
import html.parser
import json
import os
import statistics
import subprocess
import unittest

import harness

SWEEP = """name: tables
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 30, batch_size: 8, optimizer: {adamw: {learning_rate: 4e-3}}, schedule: {constant: {}}}
  evaluation: {batches: 2, batch_size: 32}
axes:
  - name: method
    variants:
      - {label: vanilla, set: {}}
      - {label: clipped & stretched, set: {attention: {softmax: {clipped: {gamma: -0.025}}}}}
      - {label: gated_50%, set: {attention: {gate: {linear: {pi_init: 0.5}}}}}
      - {label: diverges, set: {training: {gradient_clip_norm: 0, optimizer: {sgd: {learning_rate: 100, momentum: 0.99}}}}}
  - {field: seed, values: [1, 2, 3]}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 1}}}}
table:
  title: 100 % of a table
  caption: Softmax & gates, 100 % of a table
  published: other:bondarenko2023/2
  rows: [method]
  baseline: {method: vanilla}
  columns:
    - {heading: FP ppl, measurement: perplexity, where: {bits: float}}
    - {heading: max inf norm, measurement: max_inf_norm, where: {bits: float}, decimals: 1}
    - {heading: f_1, measurement: f1, where: {bits: float}}
    - {heading: W8A8 ppl, measurement: perplexity, where: {bits: W8A8}}
"""
OTHER = """name: other
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 30, batch_size: 8, optimizer: {adamw: {learning_rate: 4e-3}}, schedule: {constant: {}}}
  evaluation: {batches: 2, batch_size: 32}
axes:
  - {name: gamma, field: attention.softmax.clipped.gamma, values: [-0.025, -0.05]}
  - {field: seed, values: [1, 2]}
"""


class Balance(html.parser.HTMLParser):
    """Counts what is open."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text += data


class TablesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.temporary_folder())
        cls.state = cls.folder / "state"
        for name, text in (("tables.yaml", SWEEP), ("other.yaml", OTHER)):
            (cls.folder / name).write_text(text)
            harness.inlier("run", cls.folder / name, "--dir", cls.state, "--slots", 2)

    def table(self, *arguments, **options):
        return harness.inlier("table", *arguments, "--dir", self.state, **options)

    def json_table(self, *arguments):
        return json.loads(self.table(*arguments, "--format", "json").stdout)

    def values(self, measurement, method, bits):
        rows = harness.sql(self.state, f"SELECT {measurement} FROM results WHERE sweep = 'tables' AND labels->>'method' = '{method}' AND labels->>'bits' = '{bits}' "
                           "AND state = 'SUCCEEDED' ORDER BY seed")
        return [row[0] for row in rows]

    def test_numbers_are_those_of_python(self):
        table = self.json_table("tables")
        self.assertEqual(["vanilla"], table["baseline"])
        rows = {row["labels"][0]: row["cells"] for row in table["rows"]}
        vanilla = self.values("perplexity", "vanilla", "float")
        for method, cells in rows.items():
            values = self.values("perplexity", method, "float")
            cell = cells[0]
            if method == "diverges":
                self.assertEqual((0, 3), (cell["count"], cell["diverged"]))
                continue
            self.assertEqual(values, cell["values"])
            self.assertEqual(3, cell["count"])
            self.assertAlmostEqual(statistics.mean(values), cell["mean"], 9)
            self.assertAlmostEqual(statistics.stdev(values), cell["std"], 9)
            self.assertEqual(statistics.median(values), cell["median"])
            self.assertEqual(min(values), cell["best"])
            if method == "vanilla":
                self.assertNotIn("difference", cell)
                continue
            self.assertAlmostEqual(statistics.mean(values) - statistics.mean(vanilla), cell["difference"], 9)
            self.assertEqual(3, cell["pairs"])
            self.assertLessEqual(cell["difference_low"], cell["difference"])
            self.assertLessEqual(cell["difference"], cell["difference_high"])
            self.assertTrue(0 < cell["welch_p"] <= 1 and 0 < cell["paired_p"] <= 1)
        best = [method for method, cells in rows.items() if cells[0].get("is_best")]
        self.assertEqual([min((statistics.mean(self.values("perplexity", m, "float")), m) for m in rows if m != "diverges")[1]], best)

    def test_a_training_counts_once_and_pairs_are_by_seed(self):
        table = self.json_table("tables", "--columns", "perplexity,max_inf_norm", "--correlate", "perplexity,max_inf_norm", "--correlate",
                                "perplexity,max_inf_norm@trainings")
        cells = {row["labels"][0]: row["cells"][0] for row in table["rows"]}
        means = {}
        for method in ("vanilla", "gated_50%"):
            pairs = list(zip(self.values("perplexity", method, "float"), self.values("perplexity", method, "W8A8")))
            means[method] = [statistics.mean(pair) for pair in pairs]
            cell = cells[method]
            self.assertEqual((6, 3, 2), (cell["count"], cell["trainings"], cell["evaluations"]))
            for ours, theirs in zip(means[method], cell["training_means"]):
                self.assertAlmostEqual(ours, theirs, 9)
            self.assertAlmostEqual(statistics.stdev(means[method]), cell["std"], 9)
            self.assertAlmostEqual(statistics.mean([statistics.variance(pair) for pair in pairs]) ** 0.5, cell["within_std"], 9)
            self.assertAlmostEqual(statistics.stdev([value for pair in pairs for value in pair]), cell["pooled_std"], 9)
        cell, differences = cells["gated_50%"], [a - b for a, b in zip(means["gated_50%"], means["vanilla"])]
        self.assertEqual(3, cell["pairs"])
        self.assertAlmostEqual(statistics.mean(differences), cell["paired_difference"], 9)
        half = 4.302652729749462 * statistics.stdev(differences) / 3 ** 0.5
        self.assertAlmostEqual(cell["paired_difference"] - half, cell["paired_low"], 9)
        rows, trainings = table["correlations"]
        self.assertEqual((3, 9), (rows["count"], trainings["count"]))
        self.assertTrue(-1 <= trainings["rho"] <= 1 and 0 < trainings["p"] <= 1)
        text = self.table("tables", "--columns", "perplexity", "--rows", "softmax", "--baseline", "softmax=clipped", "--where", "method=vanilla").stdout
        self.assertIn("not compared with clipped: vanilla: the table has no row clipped; does `where` leave it out?", text)
        self.assertIn("n = 3 trainings × 2 evaluations" if "×" in text else "n = 3 trainings x 2 evaluations", text)
        done = self.table("tables", "--rows", "softmax", "--baseline", "softmax=clipped", "--where", "method=vanilla", "--differences", check=False)
        self.assertIn("--differences: not compared with clipped", done.stderr)

    def test_rows_columns_and_conditions_are_the_persons(self):
        table = self.json_table("tables", "--rows", "softmax,gate", "--columns", "perplexity@median:3,loss@best", "--by", "bits", "--where", "method=vanilla", "--where",
                                "method=gated_50%", "--baseline", "gate=none")
        self.assertEqual([["vanilla", "none"], ["vanilla", "linear"]], [row["labels"] for row in table["rows"]])
        self.assertEqual(["perplexity median float", "perplexity median W8A8", "loss best float", "loss best W8A8"], table["column_headings"])
        self.assertEqual([3, 3, 2, 2], table["decimals"])
        self.assertEqual(statistics.median(self.values("perplexity", "vanilla", "W8A8")), table["rows"][0]["cells"][1]["median"])
        self.assertIn("difference", table["rows"][1]["cells"][0])
        for wrong, words in (("--rows=metod", 'did you mean "method"?'), ("--columns=perplexty", 'did you mean "perplexity"?'), ("--by=bit", 'did you mean "bits"?'),
                             ("--where=method=vanila", 'did you mean "vanilla"?'), ("--baseline=method=vanila", 'did you mean "vanilla"?')):
            done = self.table("tables", wrong, check=False)
            self.assertEqual((3, True), (done.returncode, words in done.stderr), done.stderr)

    def test_several_sweeps(self):
        table = self.json_table("other", "tables", "--rows", "sweep,method,gamma", "--columns", "perplexity", "--where", "bits=", "--where", "bits=float",
                                "--baseline", "sweep=tables,method=vanilla,gamma=")
        rows = {tuple(row["labels"]): row["cells"][0] for row in table["rows"]}
        self.assertIn(("other", "", "-0.05"), rows)
        self.assertIn(("tables", "vanilla", ""), rows)
        self.assertEqual(2, rows[("other", "", "-0.025")]["count"])
        self.assertIn("welch_p", rows[("other", "", "-0.05")])
        # One training and one evaluation, of two sweeps: one result.
        both = self.json_table("other", "tables", "--rows", "gamma,softmax", "--columns", "perplexity", "--where", "bits=", "--where", "bits=float")
        for row in both["rows"]:
            self.assertEqual(row["cells"][0]["count"], len(set(row["cells"][0]["values"])), row)

    def test_files(self):
        for suffix, begins in (("txt", "100 % of a table"), ("md", "**100 % of a table**"), ("csv", "method,FP ppl,"), ("tex", "% \\usepackage{booktabs"), ("json", "{"),
                               ("html", "<div")):
            path = self.folder / f"table.{suffix}"
            path.unlink(missing_ok=True)
            self.assertEqual(f"written to {path}\n", self.table("tables", "-o", path).stdout)
            self.assertTrue(path.read_text().startswith(begins), path.read_text()[:80])
            self.table("tables", "-o", path, fails=True, says="--force replaces it")
            self.table("tables", "-o", path, "--force", "--differences")
        self.assertIn("no format has this suffix", self.table("tables", "-o", self.folder / "table.pdf", check=False).stderr)
        self.assertFalse((self.folder / "table.pdf").exists())
        self.assertIn("], 3 pairs, p ", (self.folder / "table.txt").read_text())
        with (self.folder / "table.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertAlmostEqual(statistics.mean(self.values("perplexity", "vanilla", "float")), float(rows[0]["FP ppl"]), 9)
        self.assertEqual(("1294", "1046", "model"), (rows[0]["W8A8 ppl published"], rows[0]["W8A8 ppl published std"], rows[0]["W8A8 ppl published differs in"].split("; ")[0]))
        page = Balance()
        page.feed((self.folder / "table.html").read_text())
        self.assertEqual([], page.open)
        self.assertIn("Softmax & gates, 100 % of a table", page.text)
        self.assertIn("clipped & stretched", page.text)

    def test_from_a_cell_to_its_trials(self):
        text = self.table("tables", "--explain", "clipped & stretched,FP ppl").stdout
        self.assertIn("clipped & stretched, FP ppl: perplexity, mean ", text)
        self.assertEqual(3, text.count("TRAIN, attempt 1 at st-"))
        found = json.loads(self.table("tables", "--explain", "2,1", "--json").stdout)
        self.assertEqual((3, 3), (found["n"], len(found["trials"])))
        self.assertEqual(self.values("perplexity", "clipped & stretched", "float"), [trial["value"] for trial in found["trials"]])
        for trial in found["trials"]:
            train, evaluate = trial["attempts"]
            self.assertEqual(("TRAIN", "EVALUATE", "SUCCEEDED"), (train["kind"], evaluate["kind"], trial["state"]))
            self.assertTrue((self.state / "artifacts" / (train["checkpoint"] + ".safetensors")).exists())
            self.assertEqual(64, len(train["dataset_digest"]))
            self.assertTrue(train["build"] and train["worker"] and train["host"] and train["device"], train)
        diverged = self.table("tables", "--explain", "4,1").stdout
        self.assertEqual(3, diverged.count("  DIVERGED"))
        self.assertIn("did you mean", self.table("tables", "--explain", "vanila,1", check=False).stderr)

    def test_terminal_and_notes(self):
        text = self.table(self.folder / "tables.yaml", env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
        self.assertIn("DIVERGED (3)", text)
        self.assertIn("n/a", text)
        self.assertIn("]^a", text)
        self.assertIn("\ndiverged: the loss was not finite; in no mean (", text)
        self.assertIn("\nn/a: no such measurement", text)
        self.assertIn("\nn = 3\n", text)

    def test_latex_is_set_by_pdflatex(self):
        folder = self.folder / "latex"
        folder.mkdir()
        for name, arguments in (("values", []), ("differences", ["--differences"])):
            self.table("tables", "-o", folder / f"{name}.tex", *arguments)
        self.table("other", "-o", folder / "other.tex", "--rows", "gamma")
        (folder / "paper.tex").write_text("\\documentclass{article}\n\\usepackage{booktabs,siunitx,graphicx}\n\\begin{document}\nSee tables~\\ref{tab:tables}"
                                          " and \\ref{tab:tables-differences}.\n\\input{values}\n\\input{differences}\n\\input{other}\n\\end{document}\n")
        for _ in range(2):
            done = subprocess.run(["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"], cwd=folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(0, done.returncode, done.stdout[-3000:])
        self.assertNotIn("LaTeX Warning: Reference", done.stdout)
        text = subprocess.run(["pdftotext", "-layout", "paper.pdf", "-"], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
        for words in ("Softmax & gates, 100 % of a table", "gated 50%", "clipped & stretched", "DIVERGED (3)", "n/a", "1294", "1046", "paper", "ours", "baseline",
                      "diverged: the loss was not finite", "n/a: no such measurement", "published figure of another setting: model", "bold: the best of its column",
                      "mean ± standard deviation, n = 3", "See tables 1 and 2.", "γ", "−0.025"):
            self.assertIn(words, text)
        mean = statistics.mean(self.values("perplexity", "vanilla", "float"))
        self.assertIn(f"{mean:.2f}", text)


if __name__ == "__main__":
    unittest.main()
