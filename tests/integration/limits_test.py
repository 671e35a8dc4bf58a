#!/usr/bin/env python3
"""Limits on time with real processes: a sweep that is stopped by its time, and a training whose attempts are."""
import unittest

import harness

SWEEP = """
name: {name}
base:
  model: {{bert: {{layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}}}
  data: {{text: {{path: {text}, tokenizer: {{byte_pair: {{vocab_size: 400}}}}, sequence_length: 16, validation_fraction: 0.2}}}}
  training: {{steps: 10000000, batch_size: 8}}
axes: [{{field: seed, values: [{seed}]}}]
retry: {{max_crashes: 2}}
limits: {{{limits}}}
"""


class LimitsTest(harness.FolderTest):
    def submit(self, local, name, seed, limits):
        file = local.dir / f"{name}.yaml"
        file.write_text(SWEEP.format(name=name, text=self.folder / "mine.txt", seed=seed, limits=limits))
        return local.submit(file)

    def test_time_of_a_sweep_and_of_attempts(self):
        self.write("mine.txt", harness.words(1))
        with harness.Local("--slots", "1", "--data-dir", self.folder, "--worker-set", "stop_grace_ms=5000") as local:
            stopped = self.submit(local, "stopped", 1, f"sweep_hours: {5 / 3600}")
            watched = local.inlier("watch", stopped, check=False)
            self.assertNotEqual(0, watched.returncode)
            self.assertIn("limits.sweep_hours", watched.stdout)
            status = local.inlier_json("status", stopped)["sweep"]
            self.assertEqual("STOPPED_BY_TIME", status["state"])
            self.assertEqual("1", str(status["trials"]["cancelled"]))
            self.assertIn("stopped by time", local.inlier("status", stopped).stdout)
            local.inlier("retry", stopped, fails=True, says=f"inlier edit {stopped} --set limits.sweep_hours=HOURS")
            local.inlier("edit", stopped, "--set", "limits.sweep_hours=1", "--yes")
            local.inlier("retry", stopped)
            self.assertEqual("ACTIVE", local.inlier_json("status", stopped)["sweep"]["state"])
            local.inlier("cancel", stopped)

            slow = self.submit(local, "slow", 2, f"attempt_hours: {5 / 3600}")
            local.inlier("watch", slow, check=False)
            self.assertEqual([("FAILED",)], local.sql(f"SELECT state FROM trials WHERE sweep_id = '{slow}'"))
            attempts = local.sql(f"SELECT failure, token, coalesce(resumed_step, 0), seconds FROM attempts WHERE sweep_id = '{slow}' ORDER BY token")
            self.assertEqual(["TIMED_OUT", "TIMED_OUT"], [failure for failure, *_ in attempts])
            for _, _, _, seconds in attempts:
                self.assertTrue(5 <= seconds < 12, attempts)
            saved = local.sql(f"SELECT coalesce(max(step), 0) FROM artifact WHERE token = {attempts[0][1]}")[0][0]
            self.assertEqual(saved, attempts[1][2], "the second resumes where the first was stopped")
            message = local.sql(f"SELECT message FROM trials WHERE sweep_id = '{slow}'")[0][0]
            self.assertRegex(message, r"TIMED_OUT: it ran for .* limits\.attempt_hours of s-2 is .*retry\.max_crashes = 2")


if __name__ == "__main__":
    unittest.main()
