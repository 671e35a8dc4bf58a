#!/usr/bin/env python3
"""A rolling upgrade with trainings that run: the coordinator first, then each worker drained and replaced; and releases that do not fit together.

One build is all that there is: INLIER_VERSION_OF_TESTS makes a program report another release. What differs between the messages of two
releases is for tests/coordinator/protocol/sync_test.cc and tests/spec/schema/message_form_test.cc."""
import json
import pathlib
import subprocess
import tarfile
import unittest

import daemons
import harness

SWEEP = """
name: rolling
base:
  model: {bert: {layers: 2, hidden_size: 64, heads: 4, ffn_size: 128}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 1500, batch_size: 8, checkpoint_every: 10}
  evaluation: {batches: 2, batch_size: 16}
axes: [{field: seed, values: [1, 2, 3]}]
"""


def this_release():
    text = subprocess.run([harness.BIN / "inlier-coordinator", "--version"], check=True, capture_output=True, text=True).stdout
    major, minor, _ = text.split()[1].split("+")[0].split(".")
    return int(major), int(minor)


MAJOR, MINOR = this_release()


def release(later):
    """The version that is so many minor releases after this one."""
    return f"{MAJOR}.{MINOR + later}.0"


def environment(later):
    return {"INLIER_VERSION_OF_TESTS": release(later)} if later else {}


class UpgradeTest(daemons.DaemonTest):
    def coordinator(self, later=0):
        return super().coordinator(f"coordinator-{release(later)}", further=environment(later), lease_ttl_ms=5000, lease_margin_ms=200)

    def worker(self, name, later=0):
        return super().worker(name, further=environment(later), threads_per_slot=1, trial_environment="INLIER_VERSION_OF_TESTS")

    def workers(self):
        """{name: status} of those that are connected."""
        return {worker["name"]: worker for worker in json.loads(self.inlier("workers", "--json").stdout).get("workers", []) if worker.get("connected")}

    def test_the_coordinator_first_then_each_worker(self):
        before = self.coordinator()
        old = self.worker("w1")
        sweep = self.inlier("submit", self.write("rolling.yaml", SWEEP), "--quiet").stdout.strip()
        running = "SELECT attempt.token FROM attempt JOIN artifact ON artifact.token = attempt.token WHERE attempt.ended_ms IS NULL"
        token = harness.wait_for("a training with a checkpoint", lambda: self.sql(running), 120)[0][0]

        # The coordinator is of the next minor release; the worker's training is adopted, and it gets further work.
        self.assertEqual(0, before.stop())
        self.coordinator(later=1)
        harness.wait_for("the worker of the release before", lambda: "w1" in self.workers())
        shown = self.workers()["w1"]
        self.assertEqual(release(0).rsplit(".", 1)[0], shown["version"].rsplit(".", 1)[0])
        self.assertFalse(shown.get("outdated", False), shown)
        adopted = f"SELECT outcome FROM attempts WHERE token = {token} AND outcome <> 'LIVE'"
        self.assertEqual([("SUCCEEDED",)], harness.wait_for("the end of the adopted training", lambda: self.sql(adopted), 120))
        later = harness.wait_for("another training of the worker of the release before", lambda: self.sql(
            f"{running} AND attempt.token > {token}"), 120)[0][0]

        # The worker is drained and replaced; its training resumes on the new one.
        self.inlier("drain", "w1", "--now")
        harness.wait_for("the end of the drained training", lambda: self.sql(
            f"SELECT 1 FROM attempt WHERE token = {later} AND ended_ms IS NOT NULL"), 60)
        self.assertEqual(0, old.stop())
        self.worker("w2", later=1)
        self.inlier("watch", sweep)
        self.assertEqual([(3, 3)], self.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
        self.assertEqual([(1,)], self.sql(
            "SELECT max(n) FROM (SELECT count(DISTINCT token) AS n FROM attempts WHERE outcome = 'SUCCEEDED' GROUP BY stage)"))
        resumed = self.sql(f"SELECT max(resumed_step) FROM attempts WHERE token > {later} AND stage = "
                                          f"(SELECT stage FROM attempts WHERE token = {later})")
        self.assertGreater(resumed[0][0], 0)

    def test_releases_that_are_too_far_apart_are_refused_with_the_side_to_upgrade(self):
        for coordinator, worker, remedy in ((2, 0, "upgrade the caller"), (0, 1, "upgrade the coordinator first")):
            with self.subTest(coordinator=release(coordinator), worker=release(worker)):
                one = self.coordinator(coordinator)
                refused = self.worker("w1", worker)
                harness.wait_for("the end of the worker", lambda: refused.process.poll() is not None)
                self.assertEqual(1, refused.process.returncode, refused.log())
                self.assertIn(remedy, refused.log())
                for version in (coordinator, worker):
                    self.assertIn(f"inlier {release(version).rsplit('.', 1)[0]}.", refused.log())
                one.stop()
                (self.state / "endpoint.json").unlink(missing_ok=True)

    def test_a_sweep_that_an_earlier_release_began_is_finished_with_its_results(self):
        begun = pathlib.Path(__file__).with_name("begun_sweep")
        self.state.mkdir()
        with tarfile.open(begun / "state.tar.xz") as archive:
            archive.extractall(self.state)
        results = "SELECT trial, perplexity, max_inf_norm FROM results ORDER BY trial"
        expected = json.loads((begun / "results.json").read_text())
        coordinator = self.coordinator()
        self.assertRegex(coordinator.log(), r"database_backed_up version=2 file=\S+\.v2\.")
        self.assertEqual({trial: numbers for trial, *numbers in harness.sql(self.state, results)}, {trial: expected[trial] for trial in ("t-1", "t-2")})
        self.worker("w2")
        done = self.inlier("watch", "s-1", check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr + self.inlier("why", "s-1", check=False).stdout)
        for trial, *numbers in harness.sql(self.state, results):
            for value, before in zip(numbers, expected.pop(trial)):  # On one machine they are equal; processors differ in the last bits of a product.
                self.assertLess(abs(value / before - 1), 0.02, (trial, value, before))
        self.assertEqual({}, expected)
        self.assertEqual([(600,)], harness.sql(self.state, "SELECT max(resumed_step) FROM attempts WHERE outcome = 'SUCCEEDED'"))

    def test_the_command_line_of_two_releases_before_is_refused(self):
        self.coordinator(later=2)
        self.inlier("status", fails=True, says="upgrade the caller")


if __name__ == "__main__":
    unittest.main()
