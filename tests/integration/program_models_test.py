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
NUMBERS = "perplexity, max_inf_norm, avg_kurtosis, weight_bits"


class ProgramModelsTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.text = self.write("text.txt", harness.words(1))
        for name, content in (("ours.yaml", OURS), ("theirs.yaml", SWEEP), ("inlier-program.yaml", DESCRIPTION), ("train.sh", TRAIN)):
            self.write(name, content.replace("TEXT", str(self.text)))

    def run_sweep(self, name, *arguments, **options):
        return harness.inlier("run", self.folder / name, "--dir", self.folder / "state", *arguments, **options)

    def numbers(self, sweep):
        return harness.sql(self.folder / "state", f"SELECT bits, {NUMBERS} FROM trials JOIN results USING (trial) WHERE sweep = '{sweep}' ORDER BY trial")

    def test_a_saved_model_has_the_numbers_of_our_own(self):
        self.run_sweep("ours.yaml")
        harness.inlier("export", "t-1", self.folder / "model", "--dir", self.folder / "state")
        print(self.run_sweep("theirs.yaml").stdout)
        self.assertEqual(self.numbers("ours"), self.numbers("theirs"))


if __name__ == "__main__":
    unittest.main()
