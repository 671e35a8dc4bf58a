#!/usr/bin/env python3
"""Every preset of CMakePresets.json can be configured: a preset that is not built for a while breaks unnoticed.

    presets_test.py [-DNAME=VALUE …]     settings for all of them
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = "release"  # The preset of the test run itself.
SETTINGS = []


class PresetsTest(unittest.TestCase):
    def test_each_is_configured(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        seen = 0
        for preset in presets:
            compiler = preset.get("cacheVariables", {}).get("CMAKE_CXX_COMPILER", "c++")
            if preset.get("hidden") or preset["name"] == BUILT or not shutil.which(compiler):
                continue
            seen += 1
            with self.subTest(preset=preset["name"]), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["cmake", "--preset", preset["name"], "-B", folder, *SETTINGS], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(0, done.returncode, done.stderr[-3000:])
        self.assertGreaterEqual(seen, 3)


if __name__ == "__main__":
    SETTINGS = [argument for argument in sys.argv[1:] if argument.startswith("-D")]
    unittest.main(argv=sys.argv[:1])
