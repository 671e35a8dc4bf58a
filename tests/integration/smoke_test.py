#!/usr/bin/env python3
"""From a file to a table, twice: the first time it trains, the second time nothing runs again and the numbers are the same."""
import contextlib
import json
import subprocess
import unittest

import harness


class SmokeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.temporary_folder())
        cls.first = harness.inlier("run", harness.SMOKE, "--dir", cls.folder)

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

    def test_every_model_is_exported_with_its_tokenizer_and_what_loads_it(self):
        weights = {"config.json", "model.safetensors"}
        tokenizer = {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}
        code = {"configuration_inlier.py", "modeling_inlier.py"}
        classes = []
        for model in sorted(self.folder.glob("artifacts/*.safetensors")):
            target = self.folder / "exports" / model.stem
            done = harness.inlier("export", model, target)
            kind = json.loads((target / "config.json").read_text())["model_type"]
            self.assertEqual(weights | tokenizer | (code if kind.startswith("inlier_") else set()), {file.name for file in target.iterdir()})
            classes.append(f"{kind}: {done.stdout.split('transformers.')[1].split('.')[0]}{' trust_remote_code' * ('trust_remote_code=True' in done.stdout)}")
        self.assertEqual(["bert: AutoModelForMaskedLM", "inlier_bert: AutoModelForMaskedLM trust_remote_code", "inlier_opt: AutoModelForCausalLM trust_remote_code",
                          "opt: AutoModelForCausalLM"], sorted(classes))

    def test_a_quantized_trial_is_exported_with_its_scales_and_nothing_is_overwritten(self):
        quantized, plain = (harness.sql(self.folder, f"SELECT trial FROM trials WHERE weight_bits IS {bits} ORDER BY trial LIMIT 1")[0][0] for bits in ("8", "NULL"))
        target = self.folder / "exports" / "quantized"
        done = harness.inlier("export", quantized, target, "--dir", self.folder)
        self.assertIn("inlier_quantization.json", done.stdout)
        rules = json.loads((target / "inlier_quantization.json").read_text())
        self.assertEqual({8}, {rule["bits"] for part in ("weights", "activations") for rule in rules[part].values()})
        before = (target / "config.json").read_text()
        harness.inlier("export", plain, target, "--dir", self.folder, fails=True, says="nothing in it is overwritten; name another folder, or give --force")
        self.assertEqual(before, (target / "config.json").read_text())
        harness.inlier("export", plain, target, "--dir", self.folder, "--force")
        self.assertFalse((target / "inlier_quantization.json").exists())
        harness.inlier("export", quantized, target, "--dir", self.folder, "--force", "--weights-only")
        self.assertEqual({"config.json", "model.safetensors"}, {file.name for file in target.iterdir()})

    def test_again_nothing_runs_and_the_table_is_the_same(self):
        attempts = harness.sql(self.folder, "SELECT count(DISTINCT token) FROM attempts")
        second = harness.inlier("run", harness.SMOKE, "--dir", self.folder)
        self.assertIn("8 with known results", second.stdout)
        self.assertEqual(harness.table_of(self.first.stdout), harness.table_of(second.stdout))
        self.assertEqual(attempts, harness.sql(self.folder, "SELECT count(DISTINCT token) FROM attempts"))


class SeveralAtOnceTest(unittest.TestCase):
    SWEEP = """
name: {name}
base: {{model: {{bert: {{preset: tiny, layers: 1}}}}, data: {{text: {{corpus: gcide, sequence_length: 32}}}}, training: {{steps: {steps}, batch_size: 4}}, evaluation: {{batches: 1}}}}
"""

    def test_the_daemons_of_the_first_outlast_it_while_the_second_needs_them(self):
        with harness.temporary_folder() as folder:
            runs = []
            for name, steps in (("short", 2), ("long", 600)):
                sweep = folder / f"{name}.yaml"
                sweep.write_text(self.SWEEP.format(name=name, steps=steps))
                runs.append(subprocess.Popen([harness.INLIER, "run", sweep, "--dir", folder / "state", "--slots", "2"],
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
                harness.wait_for("the start of the daemons", (folder / "state/start.lock").exists)
            (short, short_text), (long, long_text) = ((run, run.communicate(timeout=120)[0]) for run in runs)
            self.assertEqual((0, 0), (short.returncode, long.returncode), short_text + long_text)
            self.assertIn("starting coordinator", short_text)
            self.assertIn("Another `inlier run` uses the coordinator", short_text)
            self.assertNotIn("starting coordinator", long_text)
            self.assertEqual([(2,)], harness.sql(folder / "state", "SELECT count(*) FROM results"))
            self.assertFalse((folder / "state/endpoint.json").exists())

    def test_several_folders_start_at_the_same_moment(self):
        with harness.temporary_folder() as folder, contextlib.ExitStack() as stack:
            starts = []
            for name in "abcd":
                start = subprocess.Popen([harness.INLIER, "up", "--dir", folder / name, "--json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                stack.callback(lambda start=start: (start.terminate(), start.communicate()))
                starts.append(start)
            addresses = [json.loads(start.stdout.readline()) for start in starts]
            self.assertEqual(12, len({address for one in addresses for address in one.values()}), addresses)


if __name__ == "__main__":
    unittest.main()
