#!/usr/bin/env python3
"""A worker with the slots of several nodes of a real Slurm: gangs whose ranks are on different nodes, and the processes that remain after kills."""
import json
import os
import signal
import unittest

import harness
from slurm import private_slurm
from slurm.fleet import FAKE_TRIAL, Fleet


@unittest.skipIf(private_slurm.why_not(), f"no private Slurm can run here: {private_slurm.why_not()}")
class SlurmMachinesTest(harness.FolderTest):
    def test_ranks_on_two_nodes_end_with_their_worker_and_another_one_goes_on(self):
        with private_slurm.PrivateSlurm(3) as slurm, Fleet(self.folder, slurm, fleet={"maximum": 1, "slurm": {"nodes": 3, "time_limit_minutes": 4}}) as fleet:
            sweep = fleet.submit("gangs", [600, 20, 20], processes=2, batch_size=8)
            harness.wait_for("a checkpoint", lambda: fleet.sql("SELECT count(*) FROM artifact WHERE step >= 40")[0][0] > 0, 90)
            # One job of three nodes, and one worker that has the slots of all.
            self.assertEqual(1, len(slurm.live_jobs()))
            workers = fleet.json("workers")["workers"]
            self.assertEqual([["cpu", "cpu@n2", "cpu@n3"]], [worker["devices"] for worker in workers])
            steps = slurm.run("squeue", "-s", "-h", "-o", "%i %N").splitlines()
            self.assertIn("n2", {step.split()[1] for step in steps if "." in step.split()[0]}, steps)
            self.assertEqual(2, len(harness.pids(FAKE_TRIAL.name, self.folder)))

            # The program between: its rank is lost, and the attempt is made again from its checkpoint.
            for srun in harness.pids("srun", self.folder):
                os.kill(srun, signal.SIGKILL)
            harness.wait_for("another attempt", lambda: fleet.sql("SELECT count(*) FROM attempts WHERE failure = 'CRASHED'")[0][0] > 0, 60)
            harness.wait_for("its ranks", lambda: fleet.sql("SELECT count(*) FROM attempts WHERE outcome = 'LIVE'")[0][0] > 0, 60)
            lost = set(harness.pids(FAKE_TRIAL.name, self.folder))
            # Between fork and exec, a child of the worker has its name, too.
            worker, = harness.wait_for("the worker alone", lambda: [found for found in [harness.pids("inlier-worker", self.folder)] if len(found) == 1], 10)[0]
            os.kill(worker, signal.SIGKILL)
            harness.wait_for("no trial of the killed worker", lambda: not lost & set(harness.pids(FAKE_TRIAL.name, self.folder)), 30)
            fleet.wait_complete(sweep)
            self.assertEqual([("SUCCEEDED", 3)], fleet.sql("SELECT state, count(*) FROM trials GROUP BY state"))
            self.assertGreater(fleet.sql("SELECT max(resumed_step) FROM attempts")[0][0], 0)
            harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
            self.assertEqual([], harness.pids(FAKE_TRIAL.name, self.folder))

    @unittest.skipUnless((harness.BIN / "inlier-trial").exists() and harness.DATA.is_dir(), "inlier-trial is not built, or there are no corpora")
    def test_a_training_on_two_nodes_is_that_of_two_processes_of_one(self):
        results = []
        with private_slurm.PrivateSlurm(2) as slurm:
            for nodes, slots in ((2, 1), (1, 2)):
                folder = self.folder / f"nodes{nodes}"
                folder.mkdir()
                with Fleet(folder, slurm, fleet={"maximum": 1, "slots": slots, "slurm": {"nodes": nodes, "time_limit_minutes": 6}}) as fleet:
                    config = json.loads(fleet.worker_config.read_text())
                    config.update(data_dir=str(harness.DATA), trial_program=str(harness.BIN / "inlier-trial"))
                    fleet.worker_config.write_text(json.dumps(config))
                    fleet.wait_complete(fleet.submit("two", [40], processes=2, batch_size=8), 300)
                    self.assertEqual([(2,)], fleet.sql("SELECT max(processes) FROM attempts"))
                    results.append(fleet.sql(
                        "SELECT name, step, site, value FROM measurement WHERE name IN ('train_loss', 'perplexity', 'max_inf_norm', 'avg_kurtosis') ORDER BY 1, 2, 3"))
                    harness.wait_for("no job", lambda: not slurm.live_jobs(), 60)
        self.assertGreaterEqual({row[0] for row in results[0]}, {"train_loss", "perplexity"})
        self.assertEqual(results[0], results[1])


if __name__ == "__main__":
    if reason := private_slurm.why_not():
        print(f"skipped: no private Slurm can run here: {reason}")
    unittest.main()
