#!/usr/bin/env python3
"""kill -9 of the trial, the worker and the coordinator in the middle of a sweep: it ends complete, one result a trial, training resumed."""
import sys
import unittest

import harness


class KillTest(unittest.TestCase):
    def test_the_sweep_survives_the_death_of_each_process(self):
        with harness.Local("--slots", "2", "--coordinator-set", "lease_ttl_ms=2000", "--coordinator-set", "lease_margin_ms=200") as local:
            sweep = local.submit(harness.SMOKE, "--set", "training.steps=900", "--set", "training.checkpoint_every=10")

            def checkpoints():
                return local.sql("SELECT count(*) FROM artifact")[0][0]

            for program in ("inlier-trial", "inlier-worker", "inlier-coordinator"):
                seen = checkpoints()
                harness.wait_for("a new checkpoint", lambda: checkpoints() > seen + 1, 120)
                killed = local.kill(program)
                harness.wait_for(f"{program} again", lambda: any(pid != killed for pid in local.pids(program)), 60)
            done = local.inlier("watch", sweep, check=False, timeout=300)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr + local.log())

            self.assertEqual([("SUCCEEDED", 8)], local.sql("SELECT state, count(*) FROM trials GROUP BY state"))
            self.assertEqual([(8, 8)], local.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
            # One attempt succeeded for every stage, never two.
            self.assertEqual([(1,)], local.sql("SELECT max(n) FROM (SELECT count(DISTINCT token) AS n FROM attempts WHERE outcome = 'SUCCEEDED' GROUP BY stage)"))
            # What was killed went on from a checkpoint, not from the start.
            resumed = local.sql("SELECT count(DISTINCT token) FROM attempts WHERE resumed_step > 0")[0][0]
            self.assertGreaterEqual(resumed, 2)


if __name__ == "__main__":
    sys.exit(unittest.main())
