#!/usr/bin/env python3
"""Sweeps that share a training are tagged, archived, removed, restored and freed: lists, sizes and the tables of the other before and after."""
import os
import time
import unittest

import harness

SWEEP = """
name: {name}
base:
  model: {{bert: {{preset: tiny, layers: 1}}}}
  data: {{text: {{corpus: kjv, tokenizer: {{byte_pair: {{vocab_size: 400}}}}, sequence_length: 16}}}}
  training: {{steps: 6, batch_size: 4}}
  evaluation: {{batches: 1}}
axes:
  - {{field: seed, values: {seeds}}}
  - {{field: quantization.weights.bits, values: [8, 4]}}
"""


class OrderTest(harness.FolderTest):
    def submitted(self, local, name, seeds):
        sweep = local.submit(self.write(f"{name}.yaml", SWEEP.format(name=name, seeds=seeds)))
        harness.wait_for(f"the end of {name}", lambda: local.inlier_json("status", sweep)["sweep"]["state"] == "COMPLETE", 120)
        return sweep

    def listed(self, local, *arguments):
        return [sweep["name"] for sweep in local.inlier_json("list", *arguments)["sweeps"]]

    @staticmethod
    def files(local):
        return {path: path.stat().st_size for folder in ("artifacts", "attempts") for path in (local.dir / folder).rglob("*") if path.is_file()}

    def models(self, local):
        return {path.name: size for path, size in self.files(local).items() if path.parent.name == "artifacts" and path.suffix == ".safetensors"}

    def age(self, local):
        for path in self.files(local):
            os.utime(path, (time.time() - 7200,) * 2)

    def test_remove_restore_archive_and_gc(self):
        with harness.Local("--slots", "2") as local:
            self.submitted(local, "kept", "[1, 2]")
            gone = self.submitted(local, "gone", "[2, 3]")
            results = local.inlier("table", "kept").stdout
            own = local.inlier("table", "gone").stdout
            before = self.models(local)
            self.assertEqual(3, len(before))

            # Labels, and lists by them.
            local.inlier("tag", "kept", "+paper", "+draft")
            self.assertEqual(["paper"], local.inlier_json("tag", "kept", "-draft")["tags"])
            local.inlier("note", "kept", "--file", self.write("note.md", "# Seeds\n1 and 2\n"))
            self.assertEqual("# Seeds\n1 and 2\n", local.inlier("note", "kept").stdout)
            self.assertEqual(["kept"], self.listed(local, "--tag", "paper"))
            self.assertEqual(["kept"], self.listed(local, "seeds"))
            self.assertEqual(["gone", "kept"], self.listed(local, "--owner", "me", "--sort", "name"))
            self.assertEqual(["gone"], self.listed(local, "--where", "seed = 3 AND perplexity > 1"))
            local.inlier("list", "--where", "no_such > 1", fails=3, says="no_such")
            local.inlier("archive", "kept")
            self.assertEqual(["gone"], self.listed(local))
            self.assertEqual(["gone", "kept"], self.listed(local, "--all"))
            self.assertEqual(results, local.inlier("table", "kept").stdout)
            local.inlier("rename", gone, "kept", says=f"note: s-1 has the name kept, too: as a name it means {gone}, the newest")
            self.assertIn("s-1 (kept) is in the lists again", local.inlier("unarchive", "kept").stdout)
            local.inlier("rename", gone, "away")
            local.inlier("remove", "away", "no-such", "--yes", fails=5, says="no-such")
            self.assertEqual(["away", "kept"], self.listed(local))  # None is removed where one is not there.

            # Removed, and back as it was.
            plan = local.inlier_json("remove", "away", "--dry-run")
            self.assertEqual((4, 4, 1, 1), tuple(int(plan[field]) for field in ("trials", "results", "trainings", "shared")))
            self.assertIn(int(plan["bytes"]), before.values())
            local.inlier("remove", "away", fails=6, says="--yes")
            local.inlier("remove", "away", "--yes")
            self.assertEqual(["kept"], self.listed(local))
            self.assertEqual(["away"], self.listed(local, "--removed"))
            local.inlier("table", gone, fails=5, says=f"inlier restore {gone}")
            self.assertEqual([(4,)], local.sql("SELECT count(*) FROM results"))
            local.inlier("restore", "away")
            local.inlier("rename", gone, "gone")
            self.assertEqual(own, local.inlier("table", "gone").stdout)

            # Freed: what the other needs stays.
            local.inlier("remove", "gone", "--yes")
            self.age(local)
            told = local.inlier_json("gc", "--dry-run")
            self.assertEqual([("s-2", "gone", True)], [(one["sweep_id"], one["name"], one["freed"]) for one in told["sweeps"]])
            self.assertEqual(before, self.models(local))
            sizes = self.files(local)
            local.inlier("gc", fails=6, says="to free 1 removed sweep")
            self.assertEqual(sizes, self.files(local))
            freed = local.inlier_json("gc", "--yes")
            left = self.files(local)
            self.assertEqual(int(told["sweeps"][0]["bytes"]), int(freed["sweeps"][0]["bytes"]))
            self.assertEqual(int(freed["bytes_total"]), sum(sizes.values()) - sum(left.values()))
            after = self.models(local)
            self.assertEqual(2, len(after))
            self.assertEqual(int(plan["bytes"]), sum(before.values()) - sum(after.values()))
            print(f"files {len(sizes)} -> {len(left)}, bytes {sum(sizes.values())} -> {sum(left.values())}, models {len(before)} -> {len(after)}")
            self.assertEqual(results, local.inlier("table", "kept").stdout)
            local.inlier("restore", gone, fails=6, says="freed it for good")
            harness.wait_for("its rows are gone", lambda: not local.sql("SELECT 1 FROM stage WHERE fate = 'FREED'"))

            # It runs again under a new id; what was shared is known.
            again = self.submitted(local, "gone", "[2, 3]")
            self.assertEqual("s-3", again)
            self.assertEqual(own, local.inlier("table", again).stdout)
            self.assertEqual(before, self.models(local))

            # A rule for models: the best of each sweep stays, and so do all results.
            self.age(local)
            local.inlier("gc", "--keep-best", "1", fails=3, says="--by")
            local.inlier("gc", "--keep-last", "1", fails=6, says="--yes")
            self.assertIn(local.inlier_json("gc", "--keep-best", "1", "--by", "perplexity", "--dry-run")["models"], ("1", "2"))
            self.assertEqual("0", local.inlier_json("gc", "--keep-last", "1", "--keep", "kept", "--of", "gone", "--dry-run")["models"])
            self.assertEqual("1", local.inlier_json("gc", "--keep-last", "1", "--yes")["models"])  # Seed 3 is the last of gone, and 1 or 2 of kept.
            self.assertEqual(2, len(self.models(local)))
            self.assertEqual(results, local.inlier("table", "kept").stdout)
            self.assertEqual(own, local.inlier("table", again).stdout)
            local.inlier("doctor")


if __name__ == "__main__":
    unittest.main()
