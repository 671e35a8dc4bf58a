#!/usr/bin/env python3
"""Smoothing factors, second moments and weights rounded by GPTQ against numpy_gptq.py: no rounded number may differ."""
import os
import unittest

import numpy as np

import numpy_gptq
from numpy_round_tensors import computed
from numpy_safetensors import TYPES


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
    def test_rounded_weights(self):
        """With rows and groups, in blocks that are full and not, for both orders of the channels."""
        cases, references = [], []
        for dtype in TYPES.values():
            for channels in (48, 150):
                tensors = make_tensors(dtype, channels)
                for scheme, grid_of, bits, group_size in (("absmax", numpy_gptq.absmax_grid, 4, channels), ("absmax", numpy_gptq.absmax_grid, 3, 32), ("zeropoint", numpy_gptq.zeropoint_grid, 4, 32)):
                    for damping, by_size in ((0.01, False), (0.01, True), (0.1, True)):
                        weights = {"bits": bits} if group_size == channels else {"bits": bits, "group_size": group_size}
                        cases.append(({"weights": weights, scheme: {}, "gptq": {"damping": damping, "by_size": by_size}}, tensors))
                        references.append((numpy_gptq.rounder_of(tensors["weight"], grid_of, bits, group_size), damping, by_size))
        for (spec, tensors), (round_column, damping, by_size), ours in zip(cases, references, computed(os.environ["INLIER_GPTQ_TENSORS"], cases)):
            moments = numpy_gptq.input_moments(tensors["input"], tensors["mask"])
            np.testing.assert_allclose(ours["moments"], moments, rtol=1e-11, atol=1e-11)
            expected = numpy_gptq.gptq(tensors["weight"], moments, damping, by_size, round_column)
            self.assertEqual((ours["rounded"].dtype, ours["rounded"].shape), (expected.dtype, expected.shape))
            self.assertEqual(0, np.count_nonzero(ours["rounded"] != expected), f"{spec} {expected.shape}")
            nearest = np.stack([round_column(column, j) for j, column in enumerate(tensors["weight"].T)], axis=1)
            losses = [np.einsum("ij,jk,ik", e, moments, e) for e in (tensors["weight"] - expected, tensors["weight"] - nearest)]
            self.assertLess(losses[0], 0.5 * losses[1], f"{spec}")

    def test_groups_with_scales_of_corrected_weights(self):
        """A scale is a float of sums in another order, so that numbers agree to its rounding."""
        cases, references = [], []
        for dtype in TYPES.values():
            for channels in (48, 160):
                tensors = make_tensors(dtype, channels)
                for scheme, grid_of, bits, group_size in (("absmax", numpy_gptq.absmax_grid, 3, 16), ("zeropoint", numpy_gptq.zeropoint_grid, 4, 16)):
                    spec = {"weights": {"bits": bits, "group_size": group_size}, scheme: {}, "gptq": {"dynamic_groups": True}}
                    cases.append((spec, tensors))
                    references.append((numpy_gptq.DynamicRounder(grid_of, bits), group_size))
        for (spec, tensors), (rounder, group_size), ours in zip(cases, references, computed(os.environ["INLIER_GPTQ_TENSORS"], cases)):
            moments = numpy_gptq.input_moments(tensors["input"], tensors["mask"])
            expected = numpy_gptq.gptq(tensors["weight"], moments, 0.01, False, rounder.round_column, group_size, rounder.begin_group)
            np.testing.assert_allclose(ours["rounded"], expected, rtol=1e-5, atol=1e-6, err_msg=f"{spec}")

    def test_smoothing_factors(self):
        cases = [({"weights": {"bits": 4}, "absmax": {}, "gptq": {}, "smoothing": {"alpha": alpha}}, make_tensors(dtype, 48))
                 for dtype in TYPES.values() for alpha in (0, 0.3, 0.5, 0.85, 1)]
        for (spec, tensors), ours in zip(cases, computed(os.environ["INLIER_GPTQ_TENSORS"], cases)):
            largest = np.abs(tensors["input"]).max(axis=(0, 1))
            expected = numpy_gptq.smoothing_factors(largest, [tensors["weight"], tensors["other_weight"]], spec["smoothing"]["alpha"])
            self.assertEqual(ours["factors"].dtype, largest.dtype)
            np.testing.assert_allclose(ours["factors"], expected, rtol=2 * np.finfo(largest.dtype).eps, err_msg=f"{spec}")
            self.assertEqual(1, ours["factors"][11])

    def test_moments_that_are_not_finite_are_refused(self):
        tensors = make_tensors(np.float32, 48)
        tensors["input"][1, 3, 7] = np.nan
        with self.assertRaisesRegex(ValueError, "quantization.gptq: second moments .* not finite"):
            computed(os.environ["INLIER_GPTQ_TENSORS"], [({"weights": {"bits": 4}, "absmax": {}, "gptq": {}}, tensors)])


if __name__ == "__main__":
    unittest.main()
