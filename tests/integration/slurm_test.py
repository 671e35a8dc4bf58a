#!/usr/bin/env python3
"""A fleet on a real Slurm of eight nodes: workers come and go with the work, through kills of every daemon; nothing is lost, nothing is submitted twice.

Trials are fake_trial's: trainings of a stated length that write checkpoints and resume.
"""
import collections
import subprocess
import threading
import unittest

import guide_page
import harness
from slurm import private_slurm
from slurm.fleet import FAKE_TRIAL, STEP_MS, Fleet


class SeenJobs:
    """Every name and id of a job that Slurm ever shows, seen twice a second."""

    def __init__(self, slurm):
        self.ids = collections.defaultdict(set)  # Name -> ids of jobs or arrays.
        self._slurm, self._end = slurm, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self):
        while not self._end.wait(0.5):
            for job, name, _ in self._slurm.jobs():
                self.ids[name].add(job.split("_")[0])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()


@unittest.skipIf(private_slurm.why_not(), f"no private Slurm can run here: {private_slurm.why_not()}")
class SlurmTest(harness.FolderTest):
    def assert_whole(self, fleet, sweep, trials):
        """Each trial has one result, by one attempt a stage."""
        self.assertEqual([("SUCCEEDED", trials)], fleet.sql(f"SELECT state, count(*) FROM trials WHERE sweep_id = '{sweep}' GROUP BY state"))
        self.assertEqual([(trials, trials)], fleet.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
        self.assertEqual([(1,)], fleet.sql(
            "SELECT max(n) FROM (SELECT count(DISTINCT token) AS n FROM attempts WHERE outcome = 'SUCCEEDED' GROUP BY stage)"))

    def assert_none_doubled(self, fleet, seen):
        """A submission became one job or one array, and the store has what Slurm has seen."""
        rows = fleet.sql("SELECT number, jobs, state, job FROM fleet_submission ORDER BY number")
        fleet_id, = fleet.sql("SELECT id FROM fleet")[0]
        print(f"submissions: {rows}")
        for name, ids in seen.ids.items():
            self.assertEqual(1, len(ids), f"{name} is {ids}")
        taken = {f"inlier-{fleet_id}-{number}": job for number, _, _, job in rows if job}
        self.assertEqual(taken, {name: min(ids) for name, ids in seen.ids.items()})

    def test_a_sweep_survives_kills_of_every_daemon_and_ends_with_no_job(self):
        with private_slurm.PrivateSlurm(8) as slurm, SeenJobs(slurm) as seen, Fleet(self.folder, slurm, fleet={}) as fleet:
            self.assertEqual([], slurm.live_jobs())
            sweep = fleet.submit("many", [10] * 196 + [1400] * 4)  # Four trainings of 70 s in jobs that run 60 s.
            harness.wait_for("eight workers", lambda: sum("worker" in job and job["worker"] != "" for job in fleet.status()["jobs"]) == 8, 60)

            slurm.kill("slurmctld")
            harness.wait_for("the reason", lambda: "Slurm does not answer" in fleet.why(sweep), 60)
            slurm.start("slurmctld")
            for name in slurm.slurmds()[:3]:
                slurm.kill(name)
                slurm.start(name)
            fleet.kill()
            fleet.start()
            harness.wait_for("jobs again", lambda: any(job["state"] == "FLEET_JOB_RUNNING" for job in fleet.status()["jobs"]), 60)
            running = [job for job, _, state in slurm.jobs() if state == "RUNNING"]
            slurm.run("scancel", *running[::2])

            fleet.wait_complete(sweep)
            self.assert_whole(fleet, sweep, 200)
            # The long trainings resumed from their checkpoints, in several jobs.
            resumed = fleet.sql("SELECT stage, count(*), max(resumed_step) FROM attempts GROUP BY stage HAVING max(resumed_step) > 0")
            self.assertGreaterEqual(len(resumed), 4)
            self.assertEqual([], fleet.sql("SELECT failure, message FROM attempts WHERE outcome = 'FAILED' AND failure NOT IN ('LOST')"))
            harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
            harness.wait_for("a look that finds none", lambda: not fleet.status()["jobs"], 30)
            self.assert_none_doubled(fleet, seen)

    def test_a_coordinator_that_dies_around_sbatch_submits_no_job_twice(self):
        with private_slurm.PrivateSlurm(2) as slurm, SeenJobs(slurm) as seen, Fleet(self.folder, slurm, fleet={"maximum": 2}) as fleet:
            fleet.kill()
            fleet.start(failpoints="fleet.submit.after=kill@1")
            sweep = fleet.submit("few", [10] * 4)
            fleet.process.wait(30)
            self.assertEqual([(1, 2, "ASKED", None)], fleet.sql("SELECT number, jobs, state, job FROM fleet_submission"))
            fleet.start()
            fleet.wait_complete(sweep)
            harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
            # The other side: stored, and never asked for.
            fleet.kill()
            fleet.start(failpoints="fleet.submit.before=kill@1")
            sweep = fleet.submit("more", [11] * 4)
            fleet.process.wait(30)
            fleet.start()
            harness.wait_for("the reason", lambda: "it is not known whether Slurm took" in fleet.why(sweep), 30)
            fleet.wait_complete(sweep)
            self.assertIn(("LOST",), fleet.sql("SELECT state FROM fleet_submission"))
            self.assertEqual([(8, 8)], fleet.sql("SELECT count(*), count(DISTINCT trial) FROM results"))
            harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
            self.assert_none_doubled(fleet, seen)

    def test_people_make_scale_and_stop_a_fleet_and_see_what_slurm_refuses(self):
        with private_slurm.PrivateSlurm(2) as slurm, Fleet(self.folder, slurm) as fleet:
            sweep = fleet.submit("few", [240] * 3)
            flags = ["--worker-config", fleet.worker_config, "--maximum", 2, "--idle", 4, "--set", "look_seconds=1", "--set", "slots=1", "--set", "slurm.notice_seconds=60",
                     "--set", f"slurm.options=--export=ALL,FAKE_STEP_MS={STEP_MS}"]
            fleet.inlier("fleet", "slurm", "--partition", "tiny", "--time-limit", 2, *flags)
            harness.wait_for("the refusal", lambda: "partition tiny refuses a job: Batch job submission failed: Requested time limit is invalid" in fleet.why(sweep), 60)
            self.assertEqual([], slurm.live_jobs())
            fleet.inlier("fleet", "slurm", "--partition", "work", "--time-limit", 2, *flags)
            harness.wait_for("two trainings", lambda: fleet.sql("SELECT count(*) FROM attempts WHERE outcome = 'LIVE'")[0][0] == 2, 60)
            fleet.inlier("fleet", "stop", "--now")
            harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
            self.assertIn("the fleet is stopped", fleet.why(sweep))
            self.assertEqual(2, fleet.sql("SELECT count(*) FROM attempts WHERE outcome = 'PREEMPTED'")[0][0])
            fleet.inlier("fleet", "scale", "--maximum", 1)
            fleet.inlier("fleet", "stop", "--resume")
            harness.wait_for("one job", lambda: len(slurm.live_jobs()) == 1, 60)
            fleet.wait_complete(sweep)
            self.assert_whole(fleet, sweep, 3)
            fleet.inlier("fleet", "slurm", "--partition", "a b", "--time-limit", 2, *flags, fails=3, says="fleet.slurm.partition: 'a b'")

    def test_the_commands_of_the_guide(self):
        page = guide_page.read_page((harness.ROOT / "docs/guides/slurm.md").read_text(encoding="utf-8"))
        blocks = [block for block in page.blocks if block.not_run == "run by tests/integration/slurm_test.py"]
        self.assertEqual(["yaml", "sh", "sh"], [block.language for block in blocks])
        with private_slurm.PrivateSlurm(2) as slurm, Fleet(self.folder, slurm) as fleet:
            def here(text):
                for old, new in (("/shared/inlier", str(self.folder)), ("head:7420", fleet.address), ("sweeps/", f"{harness.ROOT}/sweeps/")):
                    text = text.replace(old, new)
                return text

            own = f"data_dir: {self.folder}/data\ntrial_program: {FAKE_TRIAL}\nthreads_per_slot: 1\n"
            fleet.worker_config.write_text(here(blocks[0].text) + own)
            environment = {**slurm.environment, "PATH": f"{harness.BIN}:{slurm.environment['PATH']}", "INLIER_SERVER": fleet.address}
            script = here("".join(block.text for block in blocks[1:]))
            ran = subprocess.run(["bash", "-e"], input=script, capture_output=True, text=True, env=environment, timeout=300, check=False)
            self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
            self.assertEqual([(8, 8)], fleet.sql("SELECT count(*), count(DISTINCT trial) FROM results"))

    def test_a_preempted_job_is_queued_again_and_its_training_goes_on(self):
        with private_slurm.PrivateSlurm(1) as slurm, Fleet(self.folder, slurm, fleet={"maximum": 1}) as fleet:
            sweep = fleet.submit("one", [500])
            harness.wait_for("a checkpoint", lambda: fleet.sql("SELECT count(*) FROM artifact WHERE step >= 60")[0][0] > 0, 60)
            slurm.run("sbatch", "--partition=urgent", "--output=/dev/null", "--wrap=sleep 5")
            harness.wait_for("the preemption", lambda: fleet.sql("SELECT count(*) FROM attempts WHERE outcome = 'PREEMPTED'")[0][0] > 0, 60)
            fleet.wait_complete(sweep)
            self.assert_whole(fleet, sweep, 1)
            self.assertGreater(fleet.sql("SELECT max(resumed_step) FROM attempts")[0][0], 0)
            self.assertEqual([(1,)], fleet.sql("SELECT count(*) FROM fleet_submission WHERE number = 1"))


if __name__ == "__main__":
    if reason := private_slurm.why_not():
        print(f"skipped: no private Slurm can run here: {reason}")
    unittest.main()
