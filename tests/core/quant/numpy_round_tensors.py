"""The programs round_tensors and gptq_tensors, each called for many cases at once."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

from numpy_safetensors import read_safetensors, write_safetensors


def computed(program, cases):
    """The tensors that `program` makes of each (spec, tensors); all in one process."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for i, (spec, tensors) in enumerate(cases):
            paths = [pathlib.Path(folder) / f"{i}.{end}" for end in ("json", "in.safetensors", "out.safetensors")]
            paths[0].write_text(json.dumps(spec))
            write_safetensors(paths[1], tensors)
            arguments += paths
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr)
        return [read_safetensors(path) for path in arguments[2::3]]


def round_tensors(cases):
    return computed(os.environ["INLIER_ROUND_TENSORS"], cases)


class BitsTest(unittest.TestCase):
    def assert_same_bits(self, ours, expected, what):
        self.assertEqual((ours.dtype, ours.shape), (expected.dtype, expected.shape), what)
        self.assertEqual(ours.tobytes(), np.ascontiguousarray(expected).tobytes(), what)
