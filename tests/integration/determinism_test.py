#!/usr/bin/env python3
"""The same spec and seed in two fresh folders: bit-equal measurements on the CPU."""
import os
import unittest

import harness

STATEMENT = ("SELECT labels, name, step, site, value FROM curves WHERE name NOT IN ('tokens_per_second', 'updates_per_second', 'train_seconds', 'evaluate_seconds') "
             "ORDER BY labels, name, step, site")


# One training of some seconds.
ALONE = """
name: alone
base:
  dropout: 0.1
  model: {bert: {layers: 2, hidden_size: 128, heads: 4, ffn_size: 512}}
  attention: {softmax: {clipped: {gamma: -0.03}}, gate: {linear: {pi_init: 0.5}}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 400, batch_size: 16, measure_every: 10, measure_outliers_every: 50, measure_quantized_every: 100, optimizer: {adamw: {learning_rate: 1e-3}}, schedule: {constant: {}, warmup_steps: 20}}
  evaluation: {batches: 4, batch_size: 32}
axes:
  - {field: seed, values: [1]}
"""


class DeterminismTest(unittest.TestCase):
    def test_two_runs_agree_to_the_last_bit(self):
        found = []
        for _ in range(2):
            with harness.temporary_folder() as folder:
                harness.inlier("run", harness.SMOKE, "--dir", folder, "--set", "training.steps=40", "--set", "dropout=0.1")
                found.append(harness.sql(folder, STATEMENT))
        self.assertGreater(len(found[0]), 50)
        self.assertEqual(found[0], found[1])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_a_training_that_borrows_the_cpus_of_an_idle_slot_is_the_same(self):
        found = []
        for slots in (1, 2):
            with harness.temporary_folder() as folder:
                sweep = folder / "alone.yaml"
                sweep.write_text(ALONE)
                harness.inlier("run", sweep, "--dir", folder, "--slots", slots, "--worker-set", "threads_per_slot=1")
                found.append(harness.sql(folder, STATEMENT))
                bound = [line for line in (folder / "logs/worker.log").read_text().splitlines() if "cpus_bound" in line]
                self.assertEqual(len(bound), slots - 1, bound)
        self.assertGreater(len(found[0]), 100)
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    unittest.main()
