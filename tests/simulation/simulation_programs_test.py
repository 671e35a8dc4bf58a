#!/usr/bin/env python3
"""The two programs of the simulation: equal histories, and deliberate bugs in one of them alone."""
import argparse
import pathlib
import subprocess
import sys
import unittest

from bug_table import ROOT, bugs_of_sources, read_table

parser = argparse.ArgumentParser()
parser.add_argument("--simulation", type=pathlib.Path)
parser.add_argument("--bugs", type=pathlib.Path)
parser.add_argument("--coordinator", type=pathlib.Path)
OPTIONS, REST = parser.parse_known_args()


def traces(program, *flags):
    run = subprocess.run([program, "--traces", "--seeds=1..12", "--steps=500", *flags], capture_output=True, text=True, timeout=600)
    return run.returncode, run.stdout.splitlines()


class SimulationProgramsTest(unittest.TestCase):
    def test_a_seed_gives_one_history_optimised_or_not(self):
        status, first = traces(OPTIONS.simulation)
        self.assertEqual(0, status)
        self.assertEqual(12, len(first))
        self.assertEqual(12, len({line.split()[3] for line in first}), "different seeds, different histories")
        self.assertEqual((0, first), traces(OPTIONS.simulation))
        self.assertEqual((0, first), traces(OPTIONS.bugs))

    def test_wall_clocks_of_workers_that_are_off_change_nothing(self):
        self.assertEqual(traces(OPTIONS.simulation), traces(OPTIONS.simulation, "--true-clocks"))

    def test_every_deliberate_bug_stands_in_the_table_with_the_seed_that_catches_it(self):
        rows = read_table()
        self.assertEqual(bugs_of_sources(), [row[0] for row in rows], "tests/simulation/hunt_bugs.py writes it")
        self.assertGreaterEqual(len(rows), 40)
        for name, seed, what in rows:
            self.assertLessEqual(int(seed), 10000, name)
            self.assertTrue(what, name)

    def test_the_simulation_of_the_fleet_looks_for_every_bug_of_its_folder(self):
        source = (ROOT / "tests/fleet/simulation_test.cc").read_text()
        self.assertEqual([], [name for name in bugs_of_sources(["fleet"]) if f'"{name}"' not in source])

    def test_the_daemon_has_no_deliberate_bug(self):
        with_bugs, daemon = OPTIONS.bugs.read_bytes(), OPTIONS.coordinator.read_bytes()
        for name in bugs_of_sources():
            self.assertTrue(name.encode() in with_bugs, name)
        for name in bugs_of_sources(["coordinator", "worker", "fleet"]):
            self.assertFalse(name.encode() in daemon, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + REST)
