#!/usr/bin/env python3
"""Smoothing factors, second moments and weights rounded by GPTQ against numpy_gptq.py: no rounded number may differ."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import numpy_gptq
from numpy_safetensors import TYPES, read_safetensors, write_safetensors

GPTQ_TENSORS = os.environ["INLIER_GPTQ_TENSORS"]


def absmax_grid(group, bits):
    """(scale, zero point, smallest, largest integer) of one group of a row."""
    largest = group.dtype.type(2 ** (bits - 1) - 1)
    scale = np.abs(group).max() / largest
    return (scale if scale != 0 else group.dtype.type(1)), group.dtype.type(0), -largest, largest


def zeropoint_grid(group, bits):
    levels = group.dtype.type(2**bits - 1)
    scale = (group.max() - group.min()) / levels
    return scale, np.rint(-group.min() / scale), group.dtype.type(0), levels


def rounder_of(weight, grid_of, bits, group_size):
    """round_column of numpy_gptq.gptq, on grids made of `weight`."""
    grids = [[grid_of(row[i : i + group_size], bits) for i in range(0, len(row), group_size)] for row in weight]

    def round_column(column, index):
        rounded = np.empty_like(column)
        for row, value in enumerate(column):
            scale, zero, low, high = map(np.float64, grids[row][index // group_size])
            rounded[row] = (np.clip(np.rint(value / scale) + zero, low, high) - zero) * scale
        return rounded

    return round_column


def make_tensors(dtype, channels):
    random = np.random.default_rng(7)
    tokens = random.standard_normal((4, 80, 12)) @ random.standard_normal((12, channels)) + 0.2 * random.standard_normal((4, 80, channels))
    tokens[..., 5] *= 30  # A feature of outliers.
    tokens[..., 11] = 0  # A dead one.
    mask = np.ones((4, 80))
    mask[0, 60:] = mask[2, :17] = 0
    weight, other_weight = random.standard_normal((2, 16, channels))
    other_weight[:, 20] *= 7
    tensors = {"weight": weight, "other_weight": other_weight, "input": tokens, "mask": mask}
    return {name: tensor.astype(dtype) for name, tensor in tensors.items()}


class NumpyGptqTest(unittest.TestCase):
    def computed(self, cases):
        """Results of inlier for each (spec, tensors); all in one process."""
        with tempfile.TemporaryDirectory() as folder:
            arguments = []
            for i, (spec, tensors) in enumerate(cases):
                paths = [pathlib.Path(folder) / f"{i}.{end}" for end in ("json", "in.safetensors", "out.safetensors")]
                paths[0].write_text(json.dumps(spec))
                write_safetensors(paths[1], tensors)
                arguments += paths
            done = subprocess.run([GPTQ_TENSORS, *arguments], capture_output=True, text=True)
            if done.returncode:
                raise ValueError(done.stderr)
            return [read_safetensors(path) for path in arguments[2::3]]

    def test_rounded_weights(self):
        """With rows and groups, in blocks that are full and not, for both orders of the channels."""
        cases, references = [], []
        for dtype in TYPES.values():
            for channels in (48, 150):
                tensors = make_tensors(dtype, channels)
                for scheme, grid_of, bits, group_size in (("absmax", absmax_grid, 4, channels), ("absmax", absmax_grid, 3, 32), ("zeropoint", zeropoint_grid, 4, 32)):
                    for damping, by_size in ((0.01, False), (0.01, True), (0.1, True)):
                        weights = {"bits": bits} if group_size == channels else {"bits": bits, "group_size": group_size}
                        cases.append(({"weights": weights, scheme: {}, "gptq": {"damping": damping, "by_size": by_size}}, tensors))
                        references.append((rounder_of(tensors["weight"], grid_of, bits, group_size), damping, by_size))
        for (spec, tensors), (round_column, damping, by_size), ours in zip(cases, references, self.computed(cases)):
            moments = numpy_gptq.input_moments(tensors["input"], tensors["mask"])
            np.testing.assert_allclose(ours["moments"], moments, rtol=1e-11, atol=1e-11)
            expected = numpy_gptq.gptq(tensors["weight"], moments, damping, by_size, round_column)
            self.assertEqual((ours["rounded"].dtype, ours["rounded"].shape), (expected.dtype, expected.shape))
            self.assertEqual(0, np.count_nonzero(ours["rounded"] != expected), f"{spec} {expected.shape}")
            nearest = np.stack([round_column(column, j) for j, column in enumerate(tensors["weight"].T)], axis=1)
            losses = [np.einsum("ij,jk,ik", e, moments, e) for e in (tensors["weight"] - expected, tensors["weight"] - nearest)]
            self.assertLess(losses[0], 0.5 * losses[1], f"{spec}")

    def test_smoothing_factors(self):
        cases = [({"weights": {"bits": 4}, "absmax": {}, "gptq": {}, "smoothing": {"alpha": alpha}}, make_tensors(dtype, 48))
                 for dtype in TYPES.values() for alpha in (0, 0.3, 0.5, 0.85, 1)]
        for (spec, tensors), ours in zip(cases, self.computed(cases)):
            largest = np.abs(tensors["input"]).max(axis=(0, 1))
            expected = numpy_gptq.smoothing_factors(largest, [tensors["weight"], tensors["other_weight"]], spec["smoothing"]["alpha"])
            self.assertEqual(ours["factors"].dtype, largest.dtype)
            np.testing.assert_allclose(ours["factors"], expected, rtol=2 * np.finfo(largest.dtype).eps, err_msg=f"{spec}")
            self.assertEqual(1, ours["factors"][11])

    def test_moments_that_are_not_finite_are_refused(self):
        tensors = make_tensors(np.float32, 48)
        tensors["input"][1, 3, 7] = np.nan
        with self.assertRaisesRegex(ValueError, "quantization.gptq: second moments .* not finite"):
            self.computed([({"weights": {"bits": 4}, "absmax": {}, "gptq": {}}, tensors)])


if __name__ == "__main__":
    unittest.main()
