#!/usr/bin/env python3
"""The Python client in a fresh environment: its wheel is built and installed as the guide shows, then every case of python_client/ runs in it.

No network: packages are those of .deps/client-wheels. With INLIER_TEST_EXPORTERS=1 (make test-exporters) also mypy, ruff, and the exporters to
W&B and MLflow. INLIER_CLIENT_PYTHON names the Python of an environment that is ready, for work on one case.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import harness

CASES = pathlib.Path(__file__).resolve().parent / "python_client"
WHEELS = harness.ROOT / ".deps/client-wheels"
GUIDE = harness.ROOT / "docs/guides/python.md"
NOTEBOOK = harness.ROOT / "docs/examples/sweep_to_figure.ipynb"
EXPORTERS = os.environ.get("INLIER_TEST_EXPORTERS") == "1"
TOOLS = ["matplotlib", "nbclient", "ipykernel", "inlier[optuna]"]
MORE_TOOLS = ["inlier[wandb,mlflow]", "mypy", "ruff", "pandas-stubs", "types-PyYAML", "types-protobuf", "types-tqdm", "grpc-stubs"]


def blocks(language):
    """Code blocks of the guide."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class Fresh:
    """A virtual environment with the package, and a folder to work in."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "clients").symlink_to(harness.ROOT / "clients")
        (folder / "sweeps").symlink_to(harness.ROOT / "sweeps")
        ready = os.environ.get("INLIER_CLIENT_PYTHON")
        bin_folder = pathlib.Path(ready).parent if ready else folder / "venv/bin"
        self.python = bin_folder / "python"
        self.environment = {
            **os.environ, "PATH": f"{bin_folder}:{harness.BIN}:{os.environ['PATH']}", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(WHEELS), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1", "HOME": str(folder),
            "PYTHONPATH": f"{CASES}:{CASES.parent}", "PYTHONWARNINGS": "error::UserWarning:inlier",
            # Modules are compiled when they are first imported: pip would compile all, tests of packages too. Its switch is on when it is false.
            "PIP_NO_COMPILE": "0", "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
        }  # fmt: skip
        if not ready:
            self.install()

    def install(self):
        run([sys.executable, "-m", "venv", self.folder / "venv"])
        self.shell(blocks("sh")[0])
        self.shell("pip install --find-links dist " + " ".join(map(repr, TOOLS + (MORE_TOOLS if EXPORTERS else []))))

    def shell(self, script, **more):
        return run(["bash", "-euc", script], cwd=self.folder, env={**self.environment, **more})

    def cases(self, name, *arguments, **more):
        return run([self.python, CASES / name, *map(str, arguments)], cwd=self.folder, env={**self.environment, **more})


class PythonClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fresh = Fresh(cls.enterClassContext(harness.temporary_folder()))

    def test_client(self):
        self.fresh.cases("client_cases.py")

    def test_connections(self):
        self.fresh.cases("connection_cases.py")

    def test_optimize(self):
        self.fresh.cases("optimize_cases.py")
        self.fresh.cases("search_cases.py")

    def test_importance(self):
        self.fresh.cases("importance_cases.py")

    def test_guide_and_notebook(self):
        """One coordinator for both: they submit the same trainings, and the exporters read them."""
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        self.assertEqual([], [cell["outputs"] for cell in notebook["cells"] if cell.get("outputs")], "the stored notebook has no outputs")
        with harness.Local("--slots", "2") as local:
            (self.fresh.folder / ".inlier").symlink_to(local.dir)
            self.fresh.cases("notebook_cases.py", NOTEBOOK)
            code = self.fresh.folder / "guide.py"
            code.write_text("\n".join(blocks("python")), encoding="utf-8")
            printed = run([self.fresh.python, code], cwd=self.fresh.folder, env=self.fresh.environment)
            self.assertIn("COMPLETE 4 0", printed)
            for block in blocks("sh")[1:]:
                self.fresh.shell(block)
            for folder in ("runs", "runs-of-the-folder"):
                self.assertEqual(4, len(list((self.fresh.folder / folder).glob("methods-s-*/*/events.out.tfevents.*"))), folder)
            self.fresh.cases("exporter_cases.py", local.dir, INLIER_TEST_EXPORTERS="1" if EXPORTERS else "0")

    @unittest.skipUnless(EXPORTERS, "make test-exporters")
    def test_types_and_style(self):
        config = harness.ROOT / "clients/python/pyproject.toml"
        run([self.fresh.python, "-m", "mypy", "--config-file", config, "-p", "inlier"], cwd=self.fresh.folder, env=self.fresh.environment)
        run([self.fresh.python, "-m", "ruff", "check", "--no-cache", "--config", config, config.parent], cwd=self.fresh.folder, env=self.fresh.environment)


class ReflectionTest(unittest.TestCase):
    """The example without this package: stock grpcio with reflection submits a sweep and follows it to the end."""

    def test_a_stranger_submits_and_follows_a_sweep(self):
        with harness.Local() as local:
            checked = harness.inlier_json("check", harness.SMOKE, "--set", "training.steps=30")
            spec = pathlib.Path(local.dir) / "sweep.json"
            spec.write_text(json.dumps(checked["sweep"]))
            python = harness.ROOT / ".deps/python/bin/python"
            printed = run([python, harness.ROOT / "docs/examples/submit_and_watch.py", local.dir, spec])
            self.assertIn("8 trials", printed)
            self.assertIn("rows in results: 8", printed)


if __name__ == "__main__":
    unittest.main()
