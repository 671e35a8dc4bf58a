#!/usr/bin/env python3
"""Models and checkpoints that have changed on disk: never another number, and the reason where there is none."""
import os
import signal
import time
import unittest

import harness

SWEEP = """
name: {name}
base:
  model: {{gpt2: {{layers: 1, hidden_size: 16, heads: 2, ffn_size: 32}}}}
  data: {{backcopy: {{}}}}
  training: {{steps: {steps}, batch_size: 4, checkpoint_every: {every}, optimizer: {{adamw: {{learning_rate: 1e-3}}}}}}
  evaluation: {{batches: 1, batch_size: 4}}
axes:
  - name: bits
    variants: [{variants}]
"""
FLOAT = "{label: float, set: {}}"
W8A8 = "{label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, absmax: {}}}}"


def flip(file):
    """One bit of the last tensor; size and time stay."""
    times = file.stat()
    content = bytearray(file.read_bytes())
    content[-7] ^= 64
    file.write_bytes(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


class DamagedFilesTest(unittest.TestCase):
    def sweep(self, local, name, variants, steps=20, every=10):
        path = local.dir / f"{name}.yaml"
        path.write_text(SWEEP.format(name=name, variants=variants, steps=steps, every=every))
        return local.submit(path)

    def run_to_end(self, local, *sweep):
        id = self.sweep(local, *sweep)
        local.inlier("watch", id, check=False)
        return id

    def numbers(self, local):
        return sorted(set(local.sql("SELECT label, perplexity FROM results")))

    def model(self, local):
        return next((local.dir / "artifacts").glob("*.safetensors"))

    def test_a_model_of_which_a_bit_has_changed_gives_no_number(self):
        with harness.Local("--slots", "1") as local:
            self.run_to_end(local, "sound", f"{FLOAT}, {W8A8}")
            right = self.numbers(local)
            self.assertEqual(2, len(right))
        with harness.Local("--slots", "1") as local:
            self.run_to_end(local, "first", FLOAT)
            file, content = self.model(local), self.model(local).read_bytes()
            flip(file)
            second = self.run_to_end(local, "second", f"{FLOAT}, {W8A8}")
            self.assertEqual(1, len(self.numbers(local)), "only the number from before")
            trial = local.sql(f"SELECT trial FROM trials WHERE sweep_id = '{second}' AND state = 'FAILED'")[0][0]
            for answer in (local.inlier("why", trial).stdout, local.inlier("doctor", check=False).stdout,
                           local.inlier("export", trial, local.dir / "exported", check=False).stderr):
                self.assertIn(f"{file.name} has the SHA-256", answer)
            self.assertFalse((local.dir / "exported").exists())
            file.write_bytes(content)
            local.inlier("retry", second)
            local.inlier("watch", second)
            self.assertEqual(right, self.numbers(local))
            self.assertEqual(0, local.inlier("doctor").returncode)

    def test_a_training_whose_checkpoints_are_damaged_ends_with_the_same_model(self):
        steps, every = 400, 20
        with harness.Local("--slots", "1") as local:
            self.run_to_end(local, "straight", FLOAT, steps, every)
            right = self.model(local).name
        for how in ("flipped", "cut off", "all gone"):
            with self.subTest(how), harness.Local("--slots", "1") as local:
                sweep = self.sweep(local, "killed", FLOAT, steps, every)
                saved = lambda: sorted(local.dir.glob("attempts/*/*/step-*.safetensors"))
                known = lambda: {row[0] for row in local.sql("SELECT path FROM artifact WHERE final = 0")}
                harness.wait_for("two checkpoints", lambda: len(saved()) >= 2, 60)
                # No checkpoint comes any more, and the coordinator knows those that are there; then both die.
                reported = lambda: known() >= {str(file.relative_to(local.dir)) for file in saved()}
                signal_trials = lambda number: [os.kill(pid, number) for pid in local.pids("inlier-trial")]
                signal_trials(signal.SIGSTOP)
                for _ in range(100):
                    time.sleep(0.2)
                    if reported():
                        break
                    signal_trials(signal.SIGCONT)  # The stop fell between a file and its report.
                    time.sleep(0.05)
                    signal_trials(signal.SIGSTOP)
                self.assertTrue(reported())
                worker = local.pids("inlier-worker")[0]
                os.kill(worker, signal.SIGSTOP)
                signal_trials(signal.SIGKILL)
                os.kill(worker, signal.SIGKILL)
                files = saved()
                for file in files if how == "all gone" else files[-1:]:
                    if how == "flipped":
                        flip(file)
                    elif how == "cut off":
                        os.truncate(file, file.stat().st_size // 2)
                    else:
                        file.unlink()
                local.inlier("watch", sweep)
                self.assertEqual([right], sorted(file.name for file in (local.dir / "artifacts").glob("*.safetensors")))
                notice = local.sql("SELECT message FROM events WHERE kind = 'checkpoint_passed_over'")
                self.assertEqual(1, len(notice), local.log())
                self.assertIn("training starts from the beginning" if how == "all gone" else "training resumes from", notice[0][0])
                self.assertIn(notice[0][0][:40], local.inlier("why", "t-1").stdout)
                self.assertEqual([], local.sql("SELECT token FROM attempts WHERE failure = 'CRASHED'"))


if __name__ == "__main__":
    unittest.main()
