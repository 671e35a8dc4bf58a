#!/usr/bin/env python3
"""Checkpoints in a bucket of a real S3 server: it is killed and comes back, an object is damaged and made again."""
import hashlib
import os
import subprocess
import sys
import unittest

import daemons
import harness

sys.path.insert(0, str(harness.ROOT / "tests/support"))
import s3_server  # noqa: E402

SWEEP = """
name: {name}
base:
  model: {{bert: {{layers: 2, hidden_size: 64, heads: 4, ffn_size: 128}}}}
  data: {{text: {{corpus: kjv, tokenizer: {{byte_pair: {{vocab_size: 600}}}}, sequence_length: 32, mask_probability: 0.3}}}}
  training: {{steps: {steps}, batch_size: 16, checkpoint_every: 20}}
  evaluation: {{batches: 4, batch_size: 32}}
  quantization: {{weights: {{bits: {bits}}}, activations: {{bits: {bits}}}}}
axes: [{{field: seed, values: [1]}}]
"""


class S3Test(daemons.DaemonTest):
    @classmethod
    def setUpClass(cls):
        cls.s3 = s3_server.S3Server(cls.enterClassContext(harness.temporary_folder()) / "s3").start()
        cls.addClassCleanup(cls.s3.kill)

    def setUp(self):
        super().setUp()
        self.prefix = self._testMethodName
        self.bucket = {"s3.endpoint": self.s3.endpoint, "s3.bucket": self.s3.bucket, "s3.prefix": self.prefix}

    def coordinator(self, label="coordinator", **settings):
        return super().coordinator(label, further=s3_server.KEY, lease_ttl_ms=5000, **self.bucket, **settings)

    def worker(self, name, key=s3_server.KEY):
        return super().worker(name, state_dir=self.folder / name, further=key)

    def submit(self, name, steps, bits):
        return self.inlier("submit", self.write(f"{name}.yaml", SWEEP.format(name=name, steps=steps, bits=bits)), "--quiet").stdout.strip()

    def watch(self, sweep):
        done = self.inlier("watch", sweep, check=False, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr + "".join(p.read_text()[-3000:] for p in self.folder.glob("*.log")))

    def why_of_an_upload(self):
        text = self.inlier("why", "t-1").stdout
        return text if "uploading, try" in text else None

    def key(self, sha256):
        return f"{self.prefix}/{sha256}.safetensors"

    def test_a_sweep_waits_for_the_killed_server_and_loses_nothing(self):
        self.coordinator()
        worker = self.worker("w1")
        sweep = self.submit("killed", steps=200, bits=8)
        first = harness.wait_for("a checkpoint in the bucket", lambda: self.sql("SELECT sha256 FROM artifact WHERE final = 0"), 120)[0][0]
        self.assertIn("artifacts mode=S3", worker.log())
        self.assertEqual(first, hashlib.sha256(self.s3.get(self.key(first))).hexdigest())

        self.s3.kill()
        # The training ends meanwhile; its model waits, and `why` has the reason.
        self.assertIn(self.s3.endpoint, harness.wait_for("an upload that is tried again", self.why_of_an_upload, 300))
        self.assertEqual([], self.sql("SELECT token FROM attempt WHERE outcome IS NOT NULL"))
        self.s3.start()
        self.watch(sweep)
        # One training, one evaluation, no failure.
        self.assertEqual([("SUCCEEDED", 2)], self.sql("SELECT outcome, count(*) FROM attempt GROUP BY outcome"))
        model, = self.sql("SELECT checkpoint FROM stage WHERE checkpoint IS NOT NULL")[0]
        self.assertEqual(model, hashlib.sha256(self.s3.get(self.key(model))).hexdigest())
        self.assertEqual([], list((self.state / "artifacts").glob("*.safetensors")))
        collected = harness.inlier_json("gc", "--dry-run", "--server", self.server)
        self.assertGreaterEqual(int(collected["files_kept"]), 2)
        self.assertNotIn(model, str(collected.get("files", [])))
        doctor = harness.inlier("doctor", "--dir", self.state)
        self.assertIn(f"s3://{self.s3.bucket}/{self.prefix}", doctor.stdout)

    def test_a_damaged_object_is_noticed_and_made_again(self):
        self.coordinator()
        self.worker("maker")
        self.watch(self.submit("first", steps=40, bits=8))
        model, = self.sql("SELECT checkpoint FROM stage WHERE checkpoint IS NOT NULL")[0]
        sound = self.s3.get(self.key(model))
        damaged = sound[:-1] + bytes([sound[-1] ^ 1])
        self.s3.put(self.key(model), damaged)

        # Another worker, which has no copy, finds it.
        self.inlier("drain", "maker")  # It is connected, and evaluates nothing.
        self.worker("other")
        sweep = self.submit("second", steps=40, bits=6)
        why = harness.wait_for("an attempt that finds the damage", lambda: self.sql("SELECT message FROM attempt WHERE failure = 'LOST'"), 120)[0][0]
        self.assertIn(f"s3://{self.s3.bucket}/{self.key(model)} is damaged and was moved to s3://{self.s3.bucket}/{self.prefix}/damaged/{model}", why)
        self.assertEqual(damaged, self.s3.get(f"{self.prefix}/damaged/{model}.safetensors"))
        # The worker that made it sends its copy again, and the other evaluates that.
        self.watch(sweep)
        self.assertEqual([("other",)], self.sql("SELECT DISTINCT worker.name FROM attempt JOIN worker ON worker.incarnation = attempt.worker "
                                                "JOIN stage ON stage.id = attempt.stage WHERE attempt.outcome = 'SUCCEEDED' AND stage.kind = 'EVALUATE_STAGE' "
                                                "AND attempt.number > 1"))
        self.assertEqual(sound, self.s3.get(self.key(model)))
        # No training ran twice.
        self.assertEqual([(1,)], self.sql("SELECT count(*) FROM attempt JOIN stage ON stage.id = attempt.stage WHERE kind = 'TRAIN_STAGE'"))

    def test_what_is_wrong_at_the_start_is_named(self):
        refused = subprocess.run([str(harness.BIN / "inlier-coordinator"), "--set", f"state_dir={self.folder / 'none'}", "--set", "listen=127.0.0.1:0", "--set", "http_listen=127.0.0.1:0",
                                  "--set", "s3.bucket=checkpoints"], capture_output=True, text=True, timeout=60,
                                 env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")})
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", refused.stderr)
        # A worker without a key pair takes no attempt further than that, and `why` has the remedy.
        self.coordinator()
        self.worker("w1", key=dict.fromkeys(s3_server.KEY, ""))
        self.submit("keyless", steps=20, bits=8)
        harness.wait_for("the reason", lambda: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in self.inlier("why", "t-1").stdout, 60)

    def test_a_prefix_of_another_coordinator_is_named_and_not_used(self):
        self.coordinator().wait_for_log("s3_found", 30)
        self.server = harness.free_address()
        second = self.coordinator("second", state_dir=self.folder / "second")
        self.worker("w1")
        self.submit("shared", steps=20, bits=8)
        harness.wait_for("the reason", lambda: "give this one an s3.prefix of its own" in self.inlier("why", "t-1").stdout, 60)
        self.assertIn("s3_unavailable", second.log())

    def test_a_bucket_that_is_not_there_is_named(self):
        # The coordinator runs: the bucket may come.
        self.bucket["s3.bucket"] = "no-such-bucket"
        coordinator = self.coordinator()
        coordinator.wait_for_log("s3_unavailable", 30)
        self.assertIn("make the bucket, or correct s3.bucket", coordinator.log())
        for secret in s3_server.KEY.values():
            self.assertNotIn(secret, coordinator.log())


if __name__ == "__main__":
    unittest.main()
