#!/usr/bin/env python3
"""kill -9 at ten updates of a training, resumed each time from what is on disk: the trained model is the same file."""
import hashlib
import json
import os
import random
import subprocess
import unittest

import harness

KILLS = 10
STEPS = 150
SPEC = {
    "seed": 5, "dropout": 0.1, "model": {"bert": {"preset": "tiny", "layers": 2}},
    "attention": {"dropout": 0.1, "softmax": {"clipped": {"gamma": -0.03}}, "gate": {"linear": {}}},
    "data": {"text": {"corpus": "kjv", "tokenizer": {"bytePair": {"vocabSize": 1000}}, "sequenceLength": 32}},
    "training": {"steps": STEPS, "batchSize": 8, "gradientAccumulation": 2, "checkpointEvery": 3, "schedule": {"warmupSteps": 50}},
}


class Attempt:
    """One process of the trial program, its events on a pipe."""

    def __init__(self, folder, number, spec, resume_from):
        self.output = folder / f"attempt-{number}"
        self.output.mkdir()
        attempt = {"stageId": "stage", "token": number + 1, "kind": "TRAIN_STAGE", "spec": spec, "outputDir": str(self.output),
                   "dataDir": str(harness.DATA), "cacheDir": str(folder.parent / "cache"), "threads": 1, "device": "cpu"}
        if resume_from:
            attempt["resumeFrom"] = str(resume_from)
        (self.output / "spec.json").write_text(json.dumps(attempt))
        read, write = os.pipe()
        with open(self.output / "log", "wb") as log:
            # The program writes its events to descriptor 3.
            self.process = subprocess.Popen(["/bin/sh", "-c", f'exec "$0" "$@" 3>&{write}', str(harness.BIN / "inlier-trial"), str(self.output / "spec.json")],
                                            pass_fds=[write], stdout=log, stderr=log)
        os.close(write)
        self.events = os.fdopen(read, encoding="utf-8")

    def started(self):
        """Waits until the training runs; the updates that were already done."""
        for line in self.events:
            event = json.loads(line)
            if "started" in event:
                return event["started"].get("resumed_step", 0)
            if "outcome" in event:
                raise AssertionError(f"ended before it began: {line}")
        raise AssertionError((self.output / "log").read_text()[-2000:])

    def wait_for_update(self, number):
        """Reads events until one is of this update or a later one."""
        for line in self.events:
            event = json.loads(line)
            if "outcome" in event:
                raise AssertionError(f"ended before update {number}: {line}")
            if any(int(about.get("step", 0)) >= number for about in event.values() if isinstance(about, dict)):
                return
        raise AssertionError((self.output / "log").read_text()[-2000:])

    def outcome(self):
        """Reads to the end; the last event."""
        with self.events:
            last = json.loads(list(self.events)[-1])
        self.process.wait(120)
        return last["outcome"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.events.close()


def newest_checkpoint(folder):
    """What a worker would resume from: the checkpoint of the most updates that any attempt left."""
    found = sorted(folder.glob("attempt-*/step-*.safetensors"), key=lambda path: path.name)
    return found[-1] if found else None


class ResumeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = cls.enterClassContext(harness.temporary_folder())  # With one cache of the text's tokens for all.

    def train_through_kills(self, folder, spec, seed):
        steps = []
        # The last leaves room: the training runs on while its events are read.
        for attempt, update in enumerate(sorted(random.Random(seed).sample(range(1, STEPS - 40), KILLS))):
            trial = Attempt(folder, attempt, spec, newest_checkpoint(folder))
            steps.append(trial.started())
            trial.wait_for_update(update)
            trial.kill()
        trial = Attempt(folder, KILLS, spec, newest_checkpoint(folder))
        steps.append(trial.started())
        self.assertEqual("SUCCEEDED", trial.outcome()["kind"])
        return steps, folder / f"attempt-{KILLS}" / "model.safetensors"

    def compare(self, optimizer, seed, **training):
        spec = json.loads(json.dumps(SPEC))
        spec["training"] |= {"optimizer": optimizer, **training}
        straight, killed = (self.root / f"{kind}-{seed}" for kind in ("straight", "killed"))
        straight.mkdir()
        whole = Attempt(straight, 0, spec, None)
        whole.started()
        self.assertEqual("SUCCEEDED", whole.outcome()["kind"])
        killed.mkdir()
        steps, model = self.train_through_kills(killed, spec, seed)
        print(f"{next(iter(optimizer))}: killed {KILLS} times (seed {seed}), resumed at updates {steps} of {STEPS}")
        self.assertGreater(len(set(steps)), 3, "the kills all hit the beginning")
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (straight / "attempt-0/model.safetensors", model)]
        self.assertEqual(digests[0], digests[1], f"seed {seed}")

    def test_adamw(self):
        self.compare({"adamw": {"learningRate": 0.002}}, seed=1)

    def test_ortho_adam(self):
        self.compare({"orthoAdam": {"learningRate": 0.002, "side": "BOTH"}}, seed=2)

    def test_muon(self):
        self.compare({"muon": {"learningRate": 0.002}}, seed=3)

    def test_soap_with_a_penalty_and_quantized_curves(self):
        self.compare({"soap": {"learningRate": 0.002, "refreshEvery": 7}}, seed=4, regularizer={"kurtosis": {"weight": 0.01}},
                     measureQuantizedEvery=20, quantizedCurve={"calibration": {"batches": 2}})

    def test_the_best_step_is_the_same(self):
        """The rate rises over its warm-up until it ruins the model: the best point is in the midst, before most of the kills."""
        self.compare({"adamw": {"learningRate": 0.2}}, seed=5, checkpoint="BEST", measureOutliersEvery=6, schedule={"constant": {}, "warmupSteps": 150})


if __name__ == "__main__":
    unittest.main()
