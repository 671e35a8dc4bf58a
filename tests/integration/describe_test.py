#!/usr/bin/env python3
"""inlier.describe on dataclasses, argparse parsers and configurations of Hydra; its file is YAML with the fields of proto/inlier/v1/program.proto."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import stand_in
import yaml

PROTO = stand_in.ROOT / "proto/inlier/v1/program.proto"
DATACLASS = """
    import dataclasses, enum, pathlib, typing
    print("noise of the program")
    class Norm(enum.Enum):
        LAYER = "layer"
        RMS = "rms"
    @dataclasses.dataclass
    class Optimizer:
        name: typing.Literal["adam", "sgd"] = "adam"
        betas: typing.Tuple[float, float] = (0.9, 0.99)
        nesterov: bool = False
    @dataclasses.dataclass
    class Config:
        width: int
        lr: float = dataclasses.field(default=3e-4, metadata={"help": "Learning rate, of AdamW: \\"peak\\"."})
        norm: Norm = Norm.RMS
        data: pathlib.Path = pathlib.Path("/data")
        clip: typing.Optional[float] = None
        big: int = 10**12
        limit: float = float("inf")
        bits: typing.Literal[2, 3, 4] = 4
        note: str = "yes"
        seed: int = 1
        optimizer: Optimizer = dataclasses.field(default_factory=Optimizer)
    def train(p):
        trial.log(step=1, loss=1, accuracy=2, **{"a": 1})
        trial.log({"eval/loss": 1})
        trial.result({"perplexity": 3})
"""
PARSER = """
    import argparse, pathlib
    def make_parser():
        parser = argparse.ArgumentParser()
        parser.add_argument("data", type=pathlib.Path)
        parser.add_argument("--lr", type=float, default=1e-3, help="learning rate (default %(default)s)")
        parser.add_argument("--layers", type=int, default=4, choices=range(1, 13))
        parser.add_argument("--norm", choices=["layer", "rms"], required=True)
        parser.add_argument("--size", type=int, choices=[64, 128], default=64)
        parser.add_argument("--optimizer.name", default="adam")
        parser.add_argument("--fast", action="store_true")
        parser.add_argument("--plain", dest="fancy", action="store_false")
        parser.add_argument("-v", dest="verbose", action="count", default=0)
        parser.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.99))
        parser.add_argument("--steps", type=lambda text: int(float(text)), default="1e3", help="100%")
        parser.add_argument("--seed", type=int, default=1)
        return parser
    def main():
        try:
            arguments = make_parser().parse_args()
        except Exception:
            pass
        open("trained", "w").close()
    if __name__ == "__main__":
        main()
"""


def names_of(message):
    body = re.search(rf"^message {message} {{\n(.*?)^}}", PROTO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    return set(re.findall(r"(\w+) = \d+(?: \[|;)", body))


class DescribeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "my program"
        self.folder.mkdir()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def describe(self, *arguments, status=0):
        done = subprocess.run([sys.executable, "-m", "inlier.describe", *map(str, arguments)], capture_output=True, text=True, check=False, cwd=self.folder.parent,
                              env={**os.environ, "PYTHONPATH": str(stand_in.CLIENT)})
        self.assertEqual(status, done.returncode, done.stderr)
        return done

    def described(self, *arguments):
        done = self.describe(*arguments)
        found = yaml.safe_load(done.stdout)
        self.assertLessEqual(set(found), names_of("ProgramDescription"))
        for parameter in found["parameters"].values():
            self.assertLessEqual(set(parameter), names_of("ProgramParameter"))
        return found, done.stdout, done.stderr

    def test_a_dataclass(self):
        found, text, messages = self.described(self.write("train.py", DATACLASS))
        self.assertEqual(("my-program", ["python3", "train.py"], ["*.py"]), (found["name"], found["command"], found["files"]))
        self.assertEqual({
            "width": {"type": "INTEGER", "required": True},
            "lr": {"type": "NUMBER", "default": 3e-4, "comment": 'Learning rate, of AdamW: "peak".'},
            "norm": {"type": "TEXT", "default": "RMS", "choices": ["LAYER", "RMS"]},
            "data": {"type": "TEXT", "default": "/data"},
            "clip": {"type": "NUMBER"},
            "big": {"type": "NUMBER", "default": 1e12},
            "bits": {"type": "INTEGER", "default": 4, "min": 2, "max": 4},
            "note": {"type": "TEXT", "default": "yes"},
            "optimizer.name": {"type": "TEXT", "default": "adam", "choices": ["adam", "sgd"]},
            "optimizer.nesterov": {"type": "TRUE_OR_FALSE", "default": False},
        }, found["parameters"])
        self.assertEqual({"loss": {"better": "LOWER"}, "accuracy": {"better": "HIGHER"}, "perplexity": {"better": "LOWER"}}, found["measurements"])
        self.assertIn("  # eval/loss: this is no name of a measurement", text)
        for name in ("limit", "optimizer.betas"):
            self.assertIn(f"  # {name}: ", text)
            self.assertIn(f"inlier.describe: {name}: ", messages)
        self.assertNotIn("noise", text)

    def test_another_dataclass_by_name(self):
        file = self.write("train.py", DATACLASS)
        self.assertEqual({"name", "nesterov"}, set(self.described(file, "--config", "Optimizer", "--name", "other")[0]["parameters"]))
        self.assertIn("train.py has no Confg; its dataclasses are Config", self.describe(file, "--config", "Confg", status=1).stderr)
        self.assertIn("Norm of train.py is no dataclass", self.describe(file, "--config", "Norm", status=1).stderr)

    def test_a_parser_that_the_program_reads_its_command_line_with(self):
        file = self.write("train.py", PARSER)
        found, text, messages = self.described(file)
        self.assertFalse((self.folder / "trained").exists(), "the program goes no further")
        expected = {
            "data": {"type": "TEXT", "required": True},
            "lr": {"type": "NUMBER", "default": 1e-3, "comment": "learning rate (default 0.001)"},
            "layers": {"type": "INTEGER", "default": 4, "min": 1, "max": 12},
            "norm": {"type": "TEXT", "required": True, "choices": ["layer", "rms"]},
            "optimizer.name": {"type": "TEXT", "default": "adam"},
            "fast": {"type": "TRUE_OR_FALSE", "default": False},
            "fancy": {"type": "TRUE_OR_FALSE", "default": True},
            "verbose": {"type": "INTEGER", "default": 0},
            "steps": {"type": "INTEGER", "default": 1000, "comment": "100%"},
        }
        self.assertEqual(expected, found["parameters"])
        for name in ("size", "betas"):
            self.assertIn(f"  # {name}: ", text)
            self.assertIn(f"inlier.describe: {name}: ", messages)
        self.assertEqual(expected, self.described(file, "--parser", "make_parser")[0]["parameters"])
        self.assertIn("main of train.py returned None", self.describe(self.write("train.py", PARSER.replace("make_parser().parse_args()", "1")), "--parser", "main", status=1).stderr)

    def test_a_file_without_either_is_not_run(self):
        file = self.write("train.py", "open('trained', 'w').close()\n")
        self.assertIn("reads no command line by argparse, and it has no dataclass: name one by --config", self.describe(file, status=1).stderr)
        self.assertFalse((self.folder / "trained").exists())
        self.assertIn("ended before it could be described:\n", self.describe(self.write("train.py", "import argparse, absent_package"), status=1).stderr)
        self.assertIn("absent.py is not there", self.describe("absent.py", status=1).stderr)

    def test_a_configuration_of_hydra(self):
        self.write("train.py", "trial.result(loss=1)")
        self.write("conf/optimizer.yaml", "wrong: 1")
        (self.folder / "conf/model").mkdir()
        self.write("conf/model/small.yaml", "layers: 2\nwidth: 64\n")
        file = self.write("conf/config.yaml", """
            defaults:
              - model: small
              - _self_
              - override hydra/launcher: joblib
            lr: 3e-4
            model: {width: 128}
            use_bias: true
            steps: 1000
            name: run-1
            data: {name: kjv}
            width2: ${model.width}
            source: ???
            limit: null
            betas: [0.9, 0.99]
            seed: 1
            hydra: {run: {dir: out}}
        """)
        found, text, messages = self.described(file)
        self.assertEqual(("my-program", ["python3", "train.py"], ["*.py", "conf/**"]), (found["name"], found["command"], found["files"]))
        self.assertEqual({
            "model.layers": {"type": "INTEGER", "default": 2},
            "model.width": {"type": "INTEGER", "default": 128},
            "lr": {"type": "NUMBER", "default": 3e-4},
            "use_bias": {"type": "TRUE_OR_FALSE", "default": True},
            "steps": {"type": "INTEGER", "default": 1000},
            "name": {"type": "TEXT", "default": "run-1"},
            "data.name": {"type": "TEXT", "default": "kjv", "column": "data_name"},
        }, found["parameters"])
        for name in ("width2", "source", "limit", "betas", "override hydra/launcher"):
            self.assertIn(f"  # {name}: ", text)
            self.assertIn(f"inlier.describe: {name}: ", messages)

    def test_the_examples_are_described_as_they_are_written(self):
        examples = stand_in.ROOT / "docs/examples/programs"
        for file in examples.glob("*/inlier-program.yaml"):
            described = yaml.safe_load(file.read_text(encoding="utf-8"))
            self.assertEqual(file.parent.name, described["name"])
            self.assertLessEqual(set(described), names_of("ProgramDescription"))
            for parameter in described["parameters"].values():
                self.assertLessEqual(set(parameter), names_of("ProgramParameter"), file)
            for measurement in described["measurements"].values():
                self.assertLessEqual(set(measurement), names_of("ProgramMeasurement"), file)


if __name__ == "__main__":
    unittest.main()
