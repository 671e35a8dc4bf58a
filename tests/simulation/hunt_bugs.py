#!/usr/bin/env python3
"""Finds, for each deliberate bug of the sources, the first seed that catches it, and writes tests/simulation/bugs.tsv.

    tests/simulation/hunt_bugs.py build/release/tests/simulation_bugs [--seeds 10000] [NAME ...]

With names, only those are looked for again; the other lines stay.
"""
import argparse
import pathlib
import re
import subprocess
import sys

from bug_table import TABLE, bugs_of_sources, read_table

HEADER = "# Deliberate bug\tfirst seed that catches it\twhat caught it (written by hunt_bugs.py)\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known = {row[0]: row for row in read_table()} if TABLE.exists() else {}
    missed = []
    rows = []
    for name in bugs_of_sources():
        if options.names and name not in options.names:
            if name in known:
                rows.append(known[name])
            continue
        run = subprocess.run([options.program, f"--bug={name}", f"--seeds=1..{options.seeds}"], capture_output=True, text=True)
        line = run.stdout.strip().split("\n")[-1]
        print(line, flush=True)
        if run.returncode == 0:
            rows.append(tuple(re.sub(r"/\S*inlier-test-\S*/", "", line).split("\t")))
        else:
            missed.append(name)
    TABLE.write_text(HEADER + "".join("\t".join(row) + "\n" for row in sorted(rows)))
    if missed:
        sys.exit(f"not caught within {options.seeds} seeds: {', '.join(missed)}")


if __name__ == "__main__":
    main()
