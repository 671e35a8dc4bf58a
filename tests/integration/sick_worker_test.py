#!/usr/bin/env python3
"""A worker on which every trial fails is put in quarantine after a few, the sweep ends on the other, and a probe brings it back."""
import json
import unittest

import daemons
import harness

SWEEP = """
name: {name}
base:
  model: {{bert: {{layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}}}
  data: {{text: {{path: {text}, tokenizer: {{byte_pair: {{vocab_size: 400}}}}, sequence_length: 16, validation_fraction: 0.2}}}}
  training: {{steps: 20, batch_size: 8}}
  evaluation: {{batches: 2, batch_size: 8}}
axes: [{{field: seed, values: {seeds}}}]
"""
# Its trials fail until the file is there; --version and digests work as on any machine.
SICK = """#!/bin/sh
case "$1" in
  *.json) [ -e "{mended}" ] || {{ echo "CUDA error: an illegal memory access was encountered" >&2; exit 1; }} ;;
esac
exec "{program}" "$@"
"""


class SickWorkerTest(daemons.DaemonTest):
    def start_worker(self, name, program):
        self.worker(name, state_dir=self.folder / name, trial_program=program, data_dir=self.folder / "data", threads_per_slot=1)

    def submit(self, name, seeds):
        file = self.write(f"{name}.yaml", SWEEP.format(name=name, text=self.folder / "data/mine.txt", seeds=list(seeds)))
        return self.inlier("submit", file, "--quiet").stdout.strip()

    def quarantined(self):
        workers = json.loads(self.inlier("workers", "--json").stdout)["workers"]
        return [worker["name"] for worker in workers if worker.get("quarantined")]

    def attempts_of(self, worker):
        return self.sql("SELECT outcome, failure, attempt.message FROM attempt JOIN worker ON worker.incarnation = attempt.worker "
                        f"WHERE worker.name = '{worker}' ORDER BY token")

    def test_it_gets_few_trials_and_comes_back_by_its_probe(self):
        (self.folder / "data").mkdir()
        self.write("data/mine.txt", harness.words(1))
        coordinator = self.coordinator()
        mended = self.folder / "mended"
        self.start_worker("well", harness.BIN / "inlier-trial")
        self.start_worker("sick", self.write("sick-trial", SICK.format(mended=mended, program=harness.BIN / "inlier-trial"), 0o755))
        harness.wait_for("two workers", lambda: len(json.loads(self.inlier("workers", "--json").stdout).get("workers", [])) == 2)
        sweep = self.submit("first", range(1, 9))
        harness.wait_for("the quarantine", lambda: self.quarantined() == ["sick"])
        self.assertIn("quarantine", self.inlier("workers").stdout)
        self.assertIn("attempts in a row failed on it", self.inlier("workers").stdout)
        self.assertIn("\ninlier_devices_quarantined 1\n", coordinator.get("/metrics")[1])
        self.inlier("watch", sweep)
        self.assertEqual([("COMPLETE", 8, 0)], self.sql(f"SELECT state, succeeded, failed FROM sweeps WHERE sweep_id = '{sweep}'"))
        failed = self.attempts_of("sick")
        self.assertLessEqual(3, len(failed))
        self.assertLessEqual(len(failed), 5, failed)  # Three, and probes if it took minutes.
        classes = {failure for _, failure, _ in failed}
        self.assertLessEqual(classes, {"CRASHED", "SICK_DEVICE"})
        self.assertEqual("SICK_DEVICE", failed[-1][1])
        self.assertRegex(failed[-1][2], r"by \S+ of worker sick, where other attempts fail too \(CRASHED: ")

        mended.touch()
        self.inlier("drain", "well")
        second = self.submit("second", [11, 12])
        self.inlier("watch", second)  # Its probe is due a minute after the last failure.
        self.assertEqual([], self.quarantined())
        self.assertEqual([("SUCCEEDED", None)] * 4, [(outcome, failure) for outcome, failure, _ in self.attempts_of("sick")[len(failed):]])
        self.assertIn("\ninlier_devices_quarantined 0\n", coordinator.get("/metrics")[1])
        events = self.sql("SELECT kind FROM event WHERE kind LIKE 'device_%' ORDER BY id")
        self.assertEqual(["device_quarantined", "device_released"], [kind for kind, in events])


if __name__ == "__main__":
    unittest.main()
