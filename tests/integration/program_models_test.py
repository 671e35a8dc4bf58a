#!/usr/bin/env python3
"""inlier's evaluation of what a program of one's own has trained: the numbers of our own evaluation, known again, run again where text or source have
changed, and what it cannot read named."""
import os
import shutil
import unittest

import harness

OURS = """
name: ours
base:
  model: {opt: {layers: 1, hidden_size: 16, heads: 2, ffn_size: 32, vocab_size: 300}}
  data: {text: {path: TEXT, sequence_length: 16, validation_fraction: 0.1, tokenizer: {byte_pair: {vocab_size: 300}}}}
  training: {steps: 30, batch_size: 8}
axes:
  - name: bits
    variants:
      - {label: FP32, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2}}}}
"""
SWEEP = """
name: theirs
program: copy
base: {data: {text: {path: TEXT, sequence_length: 16, validation_fraction: 0.1}}}
axes:
  - name: bits
    variants:
      - {label: FP32, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2}}}}
"""
DESCRIPTION = """
name: copy
command: [sh, train.sh]
evaluate: [inlier]
files: [train.sh]
parameters: {size: {type: INTEGER, default: 1}}
measurements: {files: {}}
"""
# Takes the folder `model` beside it as its trained model, where the text is the sweep's.
TRAIN = """
output=$(sed -n 's/.*"output_dir": "\\(.*\\)".*/\\1/p' "$INLIER_TRIAL")
grep -q '"path": "TEXT"' "$INLIER_TRIAL" && grep -q '"validation_fraction": 0.1' "$INLIER_TRIAL" || exit 3
cp -r model "$output/trained"
echo '{"checkpoint": {"path": "trained", "step": 1, "final": true}}' >&3
echo '{"measurement": {"name": "files", "value": 3, "final": true}}' >&3
echo '{"outcome": {"kind": "SUCCEEDED"}}' >&3
"""
NUMBERS = "label, loss, perplexity, accuracy, max_inf_norm, avg_kurtosis, kurtosis_first, weight_bits"


class ProgramModelsTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.text = self.write("text.txt", harness.words(1))
        for name, content in (("ours.yaml", OURS), ("theirs.yaml", SWEEP), ("inlier-program.yaml", DESCRIPTION), ("train.sh", TRAIN)):
            self.write(name, content.replace("TEXT", str(self.text)))

    def run_sweep(self, name, **options):
        return harness.inlier("run", self.folder / name, "--dir", self.folder / "state", **options)

    def sql(self, statement):
        return harness.sql(self.folder / "state", statement)

    def numbers(self, sweep):
        return self.sql(f"SELECT {NUMBERS} FROM results WHERE sweep_id = '{sweep}' ORDER BY trial")

    def attempts(self):
        return dict(self.sql("SELECT kind, count(DISTINCT token) FROM attempts GROUP BY 1"))

    def messages(self, sweep):
        return "\n".join(message for message, in self.sql(f"SELECT message FROM trials WHERE sweep_id = '{sweep}'"))

    def test_a_saved_model_has_the_numbers_of_our_own(self):
        self.run_sweep("ours.yaml")
        harness.inlier("export", "t-1", self.folder / "model", "--dir", self.folder / "state")
        self.assertIn("perplexity  max_inf_norm  avg_kurtosis", self.run_sweep("theirs.yaml").stdout)
        ours = self.numbers("s-1")
        self.assertNotEqual(ours[0][1], ours[1][1], "W8A8 rounds")
        self.assertEqual(ours, self.numbers("s-2"))
        self.assertEqual([(3.0,)], self.sql("SELECT DISTINCT files FROM results WHERE sweep_id = 's-2'"))

        counted = self.attempts()
        self.run_sweep("theirs.yaml")
        self.assertEqual(counted, self.attempts(), "known")
        self.write("text.txt", harness.words(2))
        self.run_sweep("theirs.yaml")
        self.assertEqual({"TRAIN": counted["TRAIN"] + 1, "EVALUATE": counted["EVALUATE"] + 2}, self.attempts(), "another text")
        self.assertNotEqual(ours[0][1], self.numbers("s-4")[0][1])
        self.write("train.sh", (self.folder / "train.sh").read_text() + "# another\n")
        self.run_sweep("theirs.yaml")
        self.assertEqual({"TRAIN": counted["TRAIN"] + 2, "EVALUATE": counted["EVALUATE"] + 4}, self.attempts(), "other source")

        for keep, says in (("head -c 100 model/config.json >\"$output/trained\"", "which is not a folder with a config.json; report a folder that save_pretrained"),
                           ("cp -r model \"$output/trained\"; rm \"$output\"/trained/*token* \"$output\"/trained/vocab*", "has no tokenizer"),
                           ("cp -r model \"$output/trained\"; sed -i s/relu/relu7/ \"$output/trained/config.json\"", "activation_function")):
            self.write("train.sh", TRAIN.replace("TEXT", str(self.text)).replace("cp -r model \"$output/trained\"", keep))
            self.run_sweep("theirs.yaml", fails=True)
            sweep, = self.sql("SELECT 's-' || max(CAST(substr(sweep_id, 3) AS INTEGER)) FROM trials")
            self.assertIn(says, self.messages(*sweep))
        self.assertEqual([], list((self.folder / "state/attempts").glob("*/*/model")), "what was unpacked is gone")

    def test_a_text_that_is_not_there_is_refused_before_anything_runs(self):
        (self.folder / "model").mkdir()
        self.text.unlink()
        self.run_sweep("theirs.yaml", fails=3, says="text.txt")
        self.assertFalse((self.folder / "state/inlier.db").exists())


if __name__ == "__main__":
    unittest.main()
