#!/usr/bin/env python3
"""The same spec and seed in two fresh folders: bit-equal measurements on the CPU."""
import sys
import unittest

import harness

STATEMENT = ("SELECT labels, name, step, site, value FROM curves WHERE name NOT IN ('tokens_per_second', 'train_seconds', 'evaluate_seconds') "
             "ORDER BY labels, name, step, site")


class DeterminismTest(unittest.TestCase):
    def test_two_runs_agree_to_the_last_bit(self):
        found = []
        for _ in range(2):
            with harness.temporary_folder() as folder:
                harness.inlier("run", harness.SMOKE, "--dir", folder, "--set", "training.steps=40", "--set", "dropout=0.1")
                found.append(harness.sql(folder, STATEMENT))
        self.assertGreater(len(found[0]), 50)
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
