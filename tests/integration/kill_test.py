#!/usr/bin/env python3
"""kill -9 of the trial, the worker and the coordinator in the middle of a sweep: it ends complete, one result a trial, training resumed."""
import os
import pathlib
import signal
import unittest

import harness


class KillTest(unittest.TestCase):
    def test_the_sweep_survives_the_death_of_each_process(self):
        with harness.Local("--slots", "2", "--coordinator-set", "lease_ttl_ms=5000", "--coordinator-set", "lease_margin_ms=200") as local:
            sweep = local.submit(harness.SMOKE, "--set", "training.steps=900", "--set", "training.checkpoint_every=10")

            def training():
                """Tokens of trainings that run, have a committed checkpoint, and are far from their end."""
                return [token for token, in local.sql(
                    "SELECT attempt.token FROM attempt JOIN artifact ON artifact.token = attempt.token WHERE attempt.ended_ms IS NULL "
                    "GROUP BY attempt.token HAVING max(artifact.step) < 450 ORDER BY attempt.token")]

            def trial_of(token):
                return [pid for pid in local.pids("inlier-trial") if f"/{token}/" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]

            token = harness.wait_for("a training with a checkpoint", training, 120)[0]
            os.kill(trial_of(token)[0], signal.SIGKILL)
            interrupted = [token]
            harness.wait_for("the end of the killed attempt", lambda: token not in training(), 60)

            interrupted += harness.wait_for("a training with a checkpoint", training, 120)
            worker = local.kill("inlier-worker")
            harness.wait_for("another worker", lambda: any(pid != worker for pid in local.pids("inlier-worker")), 60)
            harness.wait_for("the end of the lost attempts", lambda: not set(training()) & set(interrupted), 60)

            adopted = harness.wait_for("a training with a checkpoint", training, 120)
            local.kill("inlier-coordinator")

            done = local.inlier("watch", sweep, check=False, timeout=300)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr + local.log())
            self.assertEqual([("SUCCEEDED", 8)], local.sql("SELECT state, count(*) FROM trials GROUP BY state"))
            self.assertEqual([(8, 8)], local.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
            # One attempt succeeded for every stage, never two.
            self.assertEqual([(1,)], local.sql(
                "SELECT max(n) FROM (SELECT count(DISTINCT token) AS n FROM attempts WHERE outcome = 'SUCCEEDED' GROUP BY stage)"))
            # An attempt that died with its process or worker was resumed from a checkpoint by another attempt, not from the start.
            for token in interrupted:
                self.assertEqual([("FAILED",)], local.sql(f"SELECT DISTINCT outcome FROM attempts WHERE token = {token}"))
                later = local.sql(f"SELECT resumed_step FROM attempts WHERE token > {token} AND stage = "
                                  f"(SELECT stage FROM attempts WHERE token = {token}) ORDER BY token")
                self.assertTrue(later and later[0][0] > 0, f"token {token}: {later}")
            # An attempt that ran while the coordinator was away was adopted and ended as the same attempt.
            for token in adopted:
                self.assertEqual([("SUCCEEDED",)], local.sql(f"SELECT DISTINCT outcome FROM attempts WHERE token = {token}"))


if __name__ == "__main__":
    unittest.main()
