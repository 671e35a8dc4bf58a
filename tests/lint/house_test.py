#!/usr/bin/env python3
"""The house rules that a compiler does not check: layers, size, leftovers, header guards."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES_MAX = 500
PRECOMPILED = "cmake/precompiled/"  # Lists of includes; no source includes them by name.
SOURCE_FOLDERS = ("base", "proto", "spec", "rpc", "s3", "notify", "fleet", "results", "coordinator", "worker", "cli", "core", "dashboard")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def layer_rules():
    rules = {}
    for line in (ROOT / "tests/lint/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            folder, *allowed = line.split()
            rules[folder] = allowed
    return rules


class HouseTest(unittest.TestCase):
    def test_sources_include_only_from_the_layers_below(self):
        rules = layer_rules()
        wrong = []
        for path in tracked("*.h", "*.cc", "*.cu", "*.cuh"):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(SOURCE_FOLDERS):
                continue
            folder = max((f for f in rules if name.startswith(f + "/")), key=len, default=None)
            if folder is None:
                wrong.append(f"{name}: its folder is not in tests/lint/layers.txt")
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'#include "([a-z_]+/[^"]+)"', line)
                if not match or not match[1].startswith(tuple(f + "/" for f in SOURCE_FOLDERS)):
                    continue
                allowed = rules[folder] + [folder]
                if not any(match[1] == a or match[1].startswith(a + "/") for a in allowed):
                    wrong.append(f"{name}:{number}: {folder} may not include {match[1]}")
        self.assertEqual([], wrong)

    def test_torch_is_included_by_core_alone(self):
        wrong = [str(p.relative_to(ROOT)) for p in tracked("*.h", "*.cc", "*.cu", "*.cuh")
                 if not p.relative_to(ROOT).as_posix().startswith(("core/", "tests/core/", "bench/", PRECOMPILED))
                 and re.search(r"#include [<\"](torch|ATen|c10)/", p.read_text())]
        self.assertEqual([], wrong)

    def test_sizes_are_within_the_limits_of_tools_sizes(self):
        checked = subprocess.run([sys.executable, ROOT / "tools/sizes", "--check"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((0, ""), (checked.returncode, checked.stdout + checked.stderr))

    def test_the_page_of_files_is_what_the_headers_say(self):
        done = subprocess.run([ROOT / "tools/index", "--check"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_no_source_file_is_too_long(self):
        long = [f"{p.relative_to(ROOT)}: {n} lines" for p in tracked("*.h", "*.cc", "*.cu", "*.cuh", "*.py", "*.proto")
                if (n := p.read_text().count("\n")) > LINES_MAX]
        self.assertEqual([], long)

    def test_the_command_line_writes_through_its_one_printer(self):
        # Texts of other users must not control a terminal: cli/output.cc shows it.
        wrong = []
        for path in tracked("cli/*.h", "cli/*.cc"):
            name = path.relative_to(ROOT).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if name != "cli/output.cc" and re.search(r"\bcout\b|\bcerr\b|\bclog\b|\bf?printf\(|\bf?puts\(|\bfwrite\(|\bfputc\(", line):
                    wrong.append(f"{name}:{number}: {line.strip()}")
        self.assertEqual([], wrong)

    def test_no_co_await_in_a_conditional_expression(self):
        # GCC 12 makes code of `a ? co_await b : c` that crashes.
        wrong = [f"{p.relative_to(ROOT)}: {found[0]}" for p in tracked("*.h", "*.cc")
                 for found in re.finditer(r"co_await[^;{}\"]*\?[^;]*;|\?[^;{}\"]*co_await[^;]*;", re.sub(r"//.*", "", p.read_text()))]
        self.assertEqual([], wrong)

    def test_no_leftovers(self):
        words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X{3}|not imple" + r"mented|place" + r"holder)\b")
        wrong = []
        for path in tracked("*.h", "*.cc", "*.cu", "*.cuh", "*.py", "*.proto", "*.cmake", "*.yaml", "*.md", "*.sql"):
            if "tests/golden" in path.as_posix():
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if words.search(line):
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
        self.assertEqual([], wrong)

    def test_header_guards_name_their_file(self):
        wrong = []
        for path in tracked("*.h", "*.cuh"):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(PRECOMPILED):
                continue
            guard = "INLIER_" + re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_"
            if f"#ifndef {guard}\n" not in path.read_text():
                wrong.append(f"{name}: expected {guard}")
        self.assertEqual([], wrong)

    def test_task_is_not_a_word_of_the_code(self):
        wrong = []
        for path in tracked("*.h", "*.cc", "*.cu", "*.cuh", "*.proto"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                # But for a key of files that users have.
                if re.search(r"\b[Tt]asks?\b", re.sub(r'\\?"tasks?\\?"', "", line)):
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
        self.assertEqual([], wrong)


if __name__ == "__main__":
    unittest.main()
