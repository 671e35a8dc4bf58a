#!/usr/bin/env python3
"""A worker on which every trial fails is put in quarantine after a few, the sweep ends on the other, and a probe brings it back."""
import json
import random
import subprocess
import unittest
import urllib.request

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


class SickWorkerTest(unittest.TestCase):
    def setUp(self):
        folder_context = harness.temporary_folder()
        self.folder = folder_context.__enter__()
        self.addCleanup(folder_context.__exit__, None, None, None)
        self.state = self.folder / "state"
        for folder in (self.state, self.folder / "data"):
            folder.mkdir(mode=0o700)
        draw = random.Random(1)
        vocabulary = ["".join(draw.choices("abcdefghij", k=5)) for _ in range(60)]
        (self.folder / "data/mine.txt").write_text("".join(" ".join(draw.choices(vocabulary, k=8)) + "\n" for _ in range(400)))
        self.start("inlier-coordinator", "coordinator", f"state_dir={self.state}", "listen=127.0.0.1:0", "http_listen=127.0.0.1:0")
        endpoint = self.state / "endpoint.json"
        harness.wait_for("the coordinator", lambda: endpoint.exists() and endpoint.stat().st_size > 0)
        self.addresses = json.loads(endpoint.read_text())
        self.mended = self.folder / "mended"
        self.sick_program = self.folder / "sick-trial"
        self.sick_program.write_text(SICK.format(mended=self.mended, program=harness.BIN / "inlier-trial"))
        self.sick_program.chmod(0o755)

    def start(self, program, name, *settings):
        log = open(self.folder / f"{name}.log", "w", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(harness.BIN / program), *(word for setting in settings for word in ("--set", setting))], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def start_worker(self, name, program):
        self.start("inlier-worker", name, f"state_dir={self.folder / name}", f"name={name}", f"coordinator={self.addresses['grpc']}", f"trial_program={program}",
                   f"data_dir={self.folder / 'data'}", "slots=1", "threads_per_slot=1", "http_listen=127.0.0.1:0")

    def inlier(self, *arguments, **options):
        return harness.inlier("--server", self.addresses["grpc"], *arguments, **options)

    def sql(self, statement):
        return harness.sql(self.state, statement)

    def submit(self, name, seeds):
        file = self.folder / f"{name}.yaml"
        file.write_text(SWEEP.format(name=name, text=self.folder / "data/mine.txt", seeds=list(seeds)))
        return self.inlier("submit", file, "--quiet").stdout.strip()

    def quarantined(self):
        workers = json.loads(self.inlier("workers", "--json").stdout)["workers"]
        return [worker["name"] for worker in workers if worker.get("quarantined")]

    def gauge(self, name):
        with urllib.request.urlopen(f"http://{self.addresses['http']}/metrics", timeout=5) as answer:
            return next(float(line.split()[1]) for line in answer.read().decode().splitlines() if line.startswith(name + " "))

    def attempts_of(self, worker):
        return self.sql("SELECT outcome, failure, attempt.message FROM attempt JOIN worker ON worker.incarnation = attempt.worker "
                        f"WHERE worker.name = '{worker}' ORDER BY token")

    def test_it_gets_few_trials_and_comes_back_by_its_probe(self):
        self.start_worker("well", harness.BIN / "inlier-trial")
        self.start_worker("sick", self.sick_program)
        harness.wait_for("two workers", lambda: len(json.loads(self.inlier("workers", "--json").stdout).get("workers", [])) == 2)
        sweep = self.submit("first", range(1, 9))
        harness.wait_for("the quarantine", lambda: self.quarantined() == ["sick"])
        self.assertIn("quarantine", self.inlier("workers").stdout)
        self.assertIn("attempts in a row failed on it", self.inlier("workers").stdout)
        self.assertEqual(1, self.gauge("inlier_devices_quarantined"))
        self.inlier("watch", sweep)
        self.assertEqual([("COMPLETE", 8, 0)], self.sql(f"SELECT state, succeeded, failed FROM sweeps WHERE sweep_id = '{sweep}'"))
        failed = self.attempts_of("sick")
        self.assertLessEqual(3, len(failed))
        self.assertLessEqual(len(failed), 5, failed)  # Three, and probes if it took minutes.
        classes = {failure for _, failure, _ in failed}
        self.assertLessEqual(classes, {"CRASHED", "SICK_DEVICE"})
        self.assertEqual("SICK_DEVICE", failed[-1][1])
        self.assertRegex(failed[-1][2], r"by \S+ of worker sick, where other attempts fail too \(CRASHED: ")

        self.mended.touch()
        self.inlier("drain", "well")
        second = self.submit("second", [11, 12])
        self.inlier("watch", second)  # Its probe is due a minute after the last failure.
        self.assertEqual([], self.quarantined())
        self.assertEqual([("SUCCEEDED", None)] * 4, [(outcome, failure) for outcome, failure, _ in self.attempts_of("sick")[len(failed):]])
        self.assertEqual(0, self.gauge("inlier_devices_quarantined"))
        events = self.sql("SELECT kind FROM event WHERE kind LIKE 'device_%' ORDER BY id")
        self.assertEqual(["device_quarantined", "device_released"], [kind for kind, in events])


if __name__ == "__main__":
    unittest.main()
