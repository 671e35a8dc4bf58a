#!/usr/bin/env python3
"""The example client, stock grpcio with reflection, submits a sweep and follows it to the end."""
import json
import pathlib
import subprocess
import sys
import unittest

import harness

PYTHON = harness.ROOT / ".deps/python/bin/python"
EXAMPLE = harness.ROOT / "docs/examples/submit_and_watch.py"


class PythonClientTest(unittest.TestCase):
    def test_a_stranger_submits_and_follows_a_sweep(self):
        with harness.Local() as local:
            checked = harness.inlier_json("check", harness.SMOKE, "--set", "training.steps=30")
            spec = pathlib.Path(local.dir) / "sweep.json"
            spec.write_text(json.dumps(checked["sweep"]))
            done = subprocess.run([PYTHON, EXAMPLE, local.dir, spec], capture_output=True, text=True, timeout=240)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            self.assertIn("8 trials", done.stdout)
            self.assertIn("rows in results: 8", done.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
