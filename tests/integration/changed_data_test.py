#!/usr/bin/env python3
"""Files that change under their paths, and machines whose files differ: known trials run again where, and only where, their data are others."""
import json
import shutil
import unittest

import daemons
import harness

SWEEP = """
name: {name}
base:
  model: {{bert: {{layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}}}
  data: {{text: {{{source}, tokenizer: {{byte_pair: {{vocab_size: 400}}}}, sequence_length: 16, validation_fraction: 0.2}}}}
  training: {{steps: 20, batch_size: 8{start}}}
  evaluation: {{batches: 2, batch_size: 8}}
axes:
  - {{field: seed, values: [{seeds}]}}
"""


class ChangedDataTest(daemons.DaemonTest):
    def sweep(self, local, name, source, start="", seeds="1"):
        """Submits a sweep and follows it to its end; its id."""
        path = local.dir / f"{name}.yaml"
        path.write_text(SWEEP.format(name=name, source=source, start=start, seeds=seeds))
        id = local.submit(path)
        local.inlier("watch", id, check=False)
        return id

    def results(self, local, sweep_id):
        return local.sql(f"SELECT dataset_digest, perplexity FROM results WHERE sweep_id = '{sweep_id}'")

    def attempts(self, local):
        return local.sql("SELECT count(DISTINCT token) FROM attempts")[0][0]

    def test_replaced_text_and_model_run_again_by_themselves_and_both_results_stay(self):
        data = self.data("data", 1)
        with harness.Local("--slots", "1", "--data-dir", data) as local:
            text = data / "mine.txt"
            source = f"path: {text}"
            first = self.sweep(local, "text", source)
            ran = self.attempts(local)
            again = self.sweep(local, "text", source)
            self.assertEqual(ran, self.attempts(local), "nothing runs again on the same text")
            self.assertEqual(self.results(local, first), self.results(local, again))

            text.write_text(harness.words(2))
            changed = self.sweep(local, "text", source)
            self.assertEqual(ran + 2, self.attempts(local), "a training and an evaluation run on the new text")
            (old_digest, old), (new_digest, new) = self.results(local, first)[0], self.results(local, changed)[0]
            self.assertNotEqual(old_digest, new_digest)
            self.assertNotEqual(old, new)
            text.write_text(harness.words(1))
            self.assertEqual(self.results(local, first), self.results(local, self.sweep(local, "text", source)))
            self.assertEqual(ran + 2, self.attempts(local), "the old text is known")

            self.sweep(local, "seed", source, seeds="2")
            models = [local.dir / "artifacts" / f"{sha}.safetensors" for (sha,) in local.sql(
                "SELECT checkpoint FROM stage WHERE kind = 'TRAIN_STAGE' ORDER BY id")]
            model = data / "start.safetensors"
            start = f", start_from: {{checkpoint: {model}}}"
            shutil.copy(models[0], model)
            tuned = self.sweep(local, "tuned", source, start)
            ran = self.attempts(local)
            self.sweep(local, "tuned", source, start)
            self.assertEqual(ran, self.attempts(local), "nothing runs again from the same model")
            shutil.copy(models[2], model)
            other = self.sweep(local, "tuned", source, start)
            self.assertEqual(ran + 2, self.attempts(local))
            self.assertNotEqual(self.results(local, tuned)[0][0], self.results(local, other)[0][0])
            self.assertNotEqual(self.results(local, tuned)[0][1], self.results(local, other)[0][1])
            shutil.copy(models[1], model)
            refused = self.sweep(local, "tuned", source, start)
            self.assertEqual([], self.results(local, refused), "the vocabulary of the other text has other tokens under the same ids")

    def test_other_questions_are_evaluated_anew_without_a_training(self):
        data = self.data("data", 1)
        questions = data / "questions.jsonl"
        lines = [json.dumps({"task": f"task {i % 2}", "context": " ".join(words[:5]), "choices": [words[5], "zzzz", words[6] + " " + words[7]], "gold": i % 3})
                 for i, words in enumerate(line.split() for line in (data / "mine.txt").read_text().splitlines()) if len(words) > 7]
        questions.write_text("\n".join(lines[:8]))
        sweep = self.folder / "questions.yaml"
        sweep.write_text(SWEEP.format(name="questions", source=f"path: {data / 'mine.txt'}", start="", seeds="1").replace("bert", "gpt2").replace(
            "evaluation: {", f"evaluation: {{multiple_choice: {{path: {questions}}}, ") + "  - {name: bits, variants: [{label: W8, set: {quantization: {weights: {bits: 8}, absmax: {}}}}]}\n")

        def run():
            id = local.submit(sweep)
            local.inlier("watch", id, check=False)
            return local.sql(f"SELECT choice_accuracy, choice_accuracy_norm, bits_per_byte, perplexity FROM results WHERE sweep_id = '{id}'")

        with harness.Local("--slots", "1", "--data-dir", data) as local:
            first = run()
            accuracy, norm, bits, _ = first[0]
            self.assertTrue(0 <= accuracy <= 1 and 0 <= norm <= 1 and 0 < bits < 8, first)
            self.assertEqual([("task 0",), ("task 1",)], [tuple(row) for row in local.sql("SELECT DISTINCT site FROM sites WHERE name = 'task_choice_accuracy' ORDER BY 1")])
            self.assertEqual(2, self.attempts(local))
            self.assertEqual(first, run(), "known")
            self.assertEqual(2, self.attempts(local))
            questions.write_text("\n".join(json.dumps({**json.loads(line), "choices": ["a", "a"], "gold": 0}) for line in lines[:8]))
            changed = run()
            self.assertEqual(3, self.attempts(local), "one evaluation, and no training")
            self.assertEqual((1, 1), tuple(changed[0][:2]), "the first of two equal choices is taken")
            self.assertEqual(first[0][2:], changed[0][2:])

    def test_again_says_what_differs(self):
        data = self.data("data", 1)
        with harness.Local("--slots", "1", "--data-dir", data) as local:
            text = data / "mine.txt"
            self.sweep(local, "text", f"path: {text}")
            done = local.inlier("submit", local.dir / "text.yaml", "--again", "--watch")
            self.assertIn("equal to the last digit", done.stdout)
            self.assertEqual(4, self.attempts(local))
            text.write_text(harness.words(2))
            done = local.inlier("submit", local.dir / "text.yaml", "--again", "--watch")
            self.assertRegex(done.stdout, r"perplexity [0-9.]+ before, [0-9.]+ now.*; on other data: ")

    def test_workers_with_other_data_under_one_name_are_refused_with_both_digests(self):
        with harness.Local("--slots", "1", "--data-dir", self.data("one", 1)) as local:
            other = self.worker("other", coordinator=local.addresses["grpc"], data_dir=self.data("two", 2), state_dir=local.dir,
                                cache_dir=local.dir / "cache-of-other", trial_program=harness.BIN / "inlier-trial", token_file=local.dir / "worker.token")
            harness.wait_for("two workers", lambda: len(local.inlier_json("workers")["workers"]) == 2)
            sweep = self.sweep(local, "named", "corpus: mine", seeds="1, 2, 3, 4")
            other.stop()
            digests = {digest for digest, _ in self.results(local, sweep)}
            self.assertEqual(4, len(self.results(local, sweep)))
            self.assertEqual(1, len(digests), "one sweep, one digest")
            refused = local.sql("SELECT message, dataset_digest FROM attempts WHERE failure = 'OTHER_DATA'")
            self.assertTrue(refused)
            for message, digest in refused:
                self.assertIn(digest, message)
                self.assertIn(next(iter(digests)), message)
                self.assertIn("worker other", message)
                self.assertNotIn(digest, digests)

    def data(self, name, seed):
        folder = self.folder / name
        folder.mkdir()
        (folder / "mine.txt").write_text(harness.words(seed))
        return folder


if __name__ == "__main__":
    unittest.main()
