#!/usr/bin/env python3
"""Two tables of the papers at small scale, shorter still: from the file to a table with the published figures in brackets, marked as those of another setting."""
import sys
import unittest

import harness

SHORTER = ["--set", "training.steps=20", "--set", "training.schedule.warmup_steps=5", "--set", "evaluation.batches=2", "--set", "training.measure_outliers_every=0"]


class PaperSweepsTest(unittest.TestCase):
    def run_small(self, name, trials):
        with harness.temporary_folder() as folder:
            done = harness.inlier("run", harness.ROOT / "sweeps" / f"{name}.yaml", "--scale", "small", *SHORTER, "--dir", folder)
            self.assertEqual([("SUCCEEDED", trials)], harness.sql(folder, "SELECT state, count(*) FROM trials GROUP BY state"))
            self.assertEqual([(f"{name}-small", 20)], harness.sql(folder, "SELECT DISTINCT sweep, steps FROM trials"))
            return [" ".join(line.split()) for line in done.stdout.splitlines()]

    def test_clipped_softmax_of_bondarenko_table_1(self):
        rows = [line for line in self.run_small("bondarenko-table1", 24) if line.startswith("gamma")]
        self.assertEqual(4, len(rows), rows)
        for row in rows:
            self.assertNotIn(" - ", row)
            self.assertEqual(4, row.count("]^"), row)  # W6A6 is not in the paper.
        self.assertIn("[4.49 ± 0.01]^a", rows[0])
        self.assertIn("[1294 ± 1046]^a", rows[0])
        self.assertIn("[4.41 ± 0.01]^a", rows[2])

    def test_quantization_of_kaul_table_3(self):
        rows = [line for line in self.run_small("kaul-table3", 20) if line.startswith("GPT2")]
        self.assertEqual(2, len(rows), rows)
        for row in rows:
            self.assertNotIn(" - ", row)
            self.assertEqual(1, row.count("]^"), row)  # The paper quantizes to 8 bits.
        self.assertIn("[31.88]^a", rows[0])
        self.assertIn("[31.83]^a", rows[1])


class ScaleTest(unittest.TestCase):
    def test_check_lists_and_checks_the_scales(self):
        file = harness.ROOT / "sweeps/bondarenko-table1.yaml"
        self.assertIn("--scale small: 24 trials", harness.inlier("check", file).stdout)
        answer = harness.inlier_json("check", file)
        self.assertEqual({"small": 24}, answer["scales"])
        self.assertEqual("bondarenko-table1", answer["sweep"]["name"])
        self.assertNotIn("scales", answer["sweep"])
        small = harness.inlier_json("check", file, "--scale", "small", "--set", "training.steps=200")
        self.assertEqual("bondarenko-table1-small", small["sweep"]["name"])
        self.assertEqual(200, small["sweep"]["base"]["training"]["steps"])
        self.assertEqual(24, small["trials"])

    def test_set_is_for_the_scale_that_it_fits(self):
        file = harness.ROOT / "sweeps/bondarenko-table3.yaml"
        plain = harness.inlier_json("check", file)["scales"]
        # The small scale trains fewer updates than that.
        self.assertEqual(plain, harness.inlier_json("check", file, "--set", "training.schedule.warmup_steps=1000")["scales"])

    def test_an_unknown_scale_is_told_with_those_there_are(self):
        for verb in ["check", "run", "submit"]:
            harness.inlier(verb, harness.ROOT / "sweeps/bondarenko-table1.yaml", "--scale", "smal", fails=3, says='scales: "smal" is not a scale of this sweep; did you mean "small"?')

    def test_a_mistake_in_a_scale_fails_the_check_of_the_file(self):
        with harness.temporary_folder() as folder:
            file = folder / "sweep.yaml"
            file.write_text(harness.SMOKE.read_text() + "scales:\n  tiny:\n    base: {training: {steps: 5}}\n")
            harness.inlier("check", file, fails=3, says="training.schedule.warmup_steps: 20 is more than training.steps 5")


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
