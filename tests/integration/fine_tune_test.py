#!/usr/bin/env python3
"""A sweep that pre-trains and fine-tunes in one file, from one submission, over a restart of the coordinator."""
import json
import unittest

import harness

SWEEP = harness.ROOT / "sweeps/fine-tune.yaml"


class FineTuneTest(unittest.TestCase):
    def test_one_submission_pre_trains_and_fine_tunes(self):
        with harness.Local("--slots", "2", "--data-dir", harness.DATA) as local:
            local.submit(SWEEP)
            first_losses = "SELECT labels->>'seed', value FROM curves WHERE name = 'train_loss' AND step = 1 AND labels->>'phase' = '{}' ORDER BY 1"

            why = json.dumps(local.inlier_json("why", "t-2"))
            self.assertIn("waits for the training of t-1, which its start_from names", why)
            harness.wait_for("a pre-training that runs", lambda: local.sql("SELECT 1 FROM attempts WHERE outcome = 'LIVE'"))
            local.kill("inlier-coordinator")

            harness.wait_for("results", lambda: local.sql("SELECT count(*) FROM results") == [(6,)], 300)
            fine_tuned, fresh = (dict(local.sql(first_losses.format(phase))) for phase in ("fine-tuning", "fresh"))
            self.assertEqual({"1", "2"}, set(fine_tuned))
            for seed, loss in fine_tuned.items():
                self.assertLess(loss, fresh[seed] - 0.5, f"seed {seed}: it starts from trained weights")

            rows = local.sql("SELECT result.labels->>'seed', result.start_from, result.start_stage = source.train_stage, result.start_checkpoint, "
                             "length(result.dataset_digest) FROM results AS result JOIN trials AS source ON source.labels->>'seed' = "
                             "result.labels->>'seed' AND source.labels->>'phase' = 'pre-training' WHERE result.labels->>'phase' = 'fine-tuning'")
            self.assertEqual(2, len(rows))
            self.assertEqual(2, len({checkpoint for _, _, _, checkpoint, _ in rows}), "each starts from the model of its own seed")
            for _, member, same, checkpoint, digest in rows:
                self.assertEqual(("training", 1, 64), (member, same, digest))
                self.assertTrue((local.dir / "artifacts" / f"{checkpoint}.safetensors").exists())

            started = "SELECT min(event.started_at) FROM attempts AS event JOIN trials USING (trial) WHERE labels->>'phase' = '{}' AND kind = 'TRAIN'"
            ended = "SELECT min(ended_at) FROM attempts JOIN trials USING (trial) WHERE labels->>'phase' = 'pre-training' AND kind = 'TRAIN' AND outcome = 'SUCCEEDED'"
            self.assertGreaterEqual(local.sql(started.format("fine-tuning"))[0][0], local.sql(ended)[0][0])

            # The same file again: everything is known, fine-tunings too. Another fine-tuning of one of its trials: the model is there.
            ran = local.sql("SELECT count(DISTINCT token) FROM attempts")
            again = local.inlier("submit", SWEEP, "--watch").stdout
            self.assertIn("6 with known results", again)
            self.assertEqual(ran, local.sql("SELECT count(DISTINCT token) FROM attempts"))
            other = local.dir / "other.yaml"
            other.write_text(SWEEP.read_text().split("axes:")[0].replace("name: fine-tune", "name: other").replace(
                "steps: 300", "steps: 20, start_from: {trial: t-1}"))
            local.inlier("submit", other, "--watch")
            self.assertEqual([("SUCCEEDED", 1)], local.sql("SELECT state, start_stage = (SELECT train_stage FROM trials WHERE trial = 't-1') "
                                                          "FROM results WHERE sweep = 'other'"))


if __name__ == "__main__":
    unittest.main()
