#!/usr/bin/env python3
"""What a user types every day: status on 80 columns, names for Tab, measurements of a sweep, and null, merge keys and paths of a sweep's file."""
import os
import subprocess
import unittest

import harness
from terminal_test import Terminal, needs_terminals

NAME = "a-sweep-with-a-rather-long-name-of-forty-and-more-letters"
SWEEP = f"""
name: {NAME}
base:
  model: {{bert: {{preset: tiny, layers: 1}}}}
  data: {{text: {{path: '${{TEXTS}}/words.txt', tokenizer: {{byte_pair: {{vocab_size: 300}}}}, sequence_length: 16}}}}
  training: &training {{steps: 4, batch_size: 4, measure_every: 2}}
  evaluation: {{batches: 1}}
axes:
  - {{field: attention.gate.linear.pi_init, values: [null, 0.25]}}
  - name: a name of several words
    variants:
      - {{label: a label of several words, set: {{training: {{<<: *training, steps: 6}}}}}}
"""


class HabitsTest(harness.FolderTest):
    def shown(self, local, *arguments):
        """The lines that a terminal of 80 columns gets."""
        terminal = Terminal(*arguments, "--dir", local.dir, columns=80)
        terminal.process.wait(60)
        terminal.read()
        os.close(terminal.slave)
        os.close(terminal.master)
        return terminal.raw.decode().replace("\r\n", "\n").splitlines()

    def names(self, local, *arguments):
        return harness.inlier("__complete", *arguments, "--dir", local.dir).stdout.split("\n")[:-1]

    @needs_terminals
    def test_a_day(self):
        (self.folder / "words.txt").write_text(harness.words(1))
        file = self.write("s.yaml", SWEEP)
        harness.inlier("check", file, fails=3, says="the environment variable TEXTS is not set")
        environment = {**os.environ, "TEXTS": str(self.folder)}
        with harness.Local("--slots", "1", "--worker-set", f"data_roots={self.folder}") as local:
            sweep = local.inlier("submit", file, "--quiet", env=environment).stdout.strip()
            harness.wait_for("its end", lambda: local.inlier_json("status", sweep)["sweep"]["state"] == "COMPLETE", 120)
            spec = local.inlier_json("status", sweep)["sweep"]["spec"]
            self.assertEqual(f"{self.folder}/words.txt", spec["base"]["data"]["text"]["path"])
            self.assertEqual([None, 0.25], spec["axes"][0]["values"])
            self.assertEqual([("null",), ("0.25",)], local.sql("SELECT labels ->> 'pi_init' FROM trial ORDER BY id"))
            self.assertEqual([(4,), (4,)], local.sql("SELECT json_extract(spec, '$.training.batch_size') FROM stage WHERE kind = 'TRAIN_STAGE' ORDER BY id"))

            for arguments in (("status",), ("status", sweep), ("status", sweep, "--failed"), ("list",), ("workers",)):
                lines = self.shown(local, *arguments)
                self.assertTrue(lines, arguments)
                self.assertLessEqual(max(map(len, lines)), 80, "\n".join(lines))
            heading, *rows = self.shown(local, "status")
            column = slice(heading.index("name"), heading.index("state"))
            self.assertEqual(NAME, "".join(row[column].strip() for row in rows))
            self.assertIn(NAME, local.inlier("status").stdout)  # A pipe has one line a sweep.

            self.assertEqual(["pi_init"], self.names(local, "axes", sweep))  # The other would have to be quoted.
            self.assertIn("train_loss", self.names(local, "measurements", sweep))
            measured = {one["name"] for one in local.inlier_json("measurements", sweep)}
            self.assertLessEqual({"train_loss", "perplexity", "max_inf_norm"}, measured)
            self.assertNotIn("peak_gpu_memory_mib", measured)  # On the CPU there is none.
            local.inlier("plot", sweep, "--kind", "curves", "--y", "train_loss", "--dpi", "300", "-o", self.folder / "c.svg", fails=3, says="--dpi 300: ")
            header = subprocess.run(["sh", "-c", f"'{harness.INLIER}' logs t-1 --dir '{local.dir}'"], capture_output=True, text=True, timeout=60, check=True).stdout
            self.assertIn("--- st-1\n", header)


if __name__ == "__main__":
    unittest.main()
