#!/usr/bin/env python3
"""kill -9 of the coordinator during a sweep while a standby waits on the same folder: it takes over, no acknowledged result is lost or doubled."""
import time
import unittest

import daemons
import harness

TAKEOVER_SECONDS = 30  # On a machine whose two cores train meanwhile; usually below one.


class StandbyTest(daemons.DaemonTest):
    def coordinator(self, label, standby):
        daemon = self.start("inlier-coordinator", label, listen=self.server, standby=str(standby).lower(), lease_ttl_ms=5000, lease_margin_ms=200)
        daemon.wait_for_log("standby_waits " if standby else "started ")
        return daemon

    def results(self):
        """{stage: token of its result} of all that is committed."""
        return dict(self.sql("SELECT id, result_token FROM stage WHERE result_token IS NOT NULL"))

    def test_a_standby_takes_over_from_a_killed_coordinator(self):
        first = self.coordinator("first", standby=False)
        second = self.coordinator("second", standby=True)
        self.assertEqual((503, "standby\n"), second.get("/readyz"))
        self.assertEqual((200, "standby\n"), second.get("/healthz"))
        self.assertIn("\ninlier_standby 1\n", second.get("/metrics")[1])
        self.assertEqual((200, "ready\n"), first.get("/readyz"))
        self.worker("w1", slots=2, threads_per_slot=1)
        sweep = self.inlier("submit", harness.SMOKE, "--quiet", "--set", "training.steps=800").stdout.strip()
        harness.wait_for("a result and a training that runs", lambda: self.results() and self.sql(
            "SELECT 1 FROM attempt JOIN artifact ON artifact.token = attempt.token WHERE attempt.ended_ms IS NULL"), 120)

        acknowledged = self.results()
        running = {token for token, in self.sql("SELECT token FROM attempt WHERE ended_ms IS NULL")}
        first.kill()
        killed = time.monotonic()
        harness.wait_for("the standby to work", lambda: second.get("/readyz") == (200, "ready\n"), TAKEOVER_SECONDS)
        print(f"the standby works {time.monotonic() - killed:.1f} s after the kill")
        self.assertIn("standby_takes_over ", second.log())
        self.assertIn("\ninlier_standby 0\n", second.get("/metrics")[1])
        self.assertEqual(acknowledged, {stage: token for stage, token in self.results().items() if stage in acknowledged})

        # The former coordinator comes back as the standby, and takes nothing.
        third = self.coordinator("third", standby=True)
        self.assertEqual((503, "standby\n"), third.get("/readyz"))

        # Clients and the worker continue with the address that they have.
        done = self.inlier("watch", sweep, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr + second.log()[-4000:])
        self.assertEqual([("SUCCEEDED", 8)], self.sql("SELECT state, count(*) FROM trials GROUP BY state"))
        self.assertEqual([(8, 8)], self.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
        self.assertEqual([(1,)], self.sql(
            "SELECT max(n) FROM (SELECT count(DISTINCT token) AS n FROM attempts WHERE outcome = 'SUCCEEDED' GROUP BY stage)"))
        self.assertEqual(acknowledged, {stage: token for stage, token in self.results().items() if stage in acknowledged})
        # The attempts that ran at the kill were adopted: each ended as the same attempt.
        self.assertTrue(running)
        self.assertEqual({"SUCCEEDED"}, {outcome for token, outcome in self.sql("SELECT token, outcome FROM attempts") if token in running})

        # An orderly stop hands over as well.
        self.assertEqual(0, second.stop(), second.log()[-4000:])
        harness.wait_for("the third to work", lambda: third.get("/readyz") == (200, "ready\n"), TAKEOVER_SECONDS)
        self.assertIn(sweep, self.inlier("status").stdout)

    def test_a_standby_that_is_stopped_ends_at_once(self):
        first = self.coordinator("first", standby=False)
        second = self.coordinator("second", standby=True)
        self.assertEqual(0, second.stop())
        self.assertIn("stopped reason=SIGTERM", second.log())
        self.assertEqual((200, "ready\n"), first.get("/readyz"))


if __name__ == "__main__":
    unittest.main()
