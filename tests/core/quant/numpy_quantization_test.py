#!/usr/bin/env python3
"""Weights and inputs of a quantized linear against the formulas written out in numpy, bit for bit: absmax (Dettmers et al. 2022) and zeropoint
(Kaul et al. 2025), with a scale a row, a group of input channels, a token or a feature."""
import unittest

import numpy as np

from numpy_round_tensors import BitsTest, round_tensors
from numpy_safetensors import TYPES


def absmax(x, bits):
    """One slice."""
    largest = x.dtype.type(2 ** (bits - 1) - 1)
    scale = np.abs(x).max() / largest
    if scale == 0:
        scale = x.dtype.type(1)
    return np.clip(np.rint(x / scale), -largest, largest) * scale


def zeropoint(x, bits):
    levels = x.dtype.type(2**bits - 1)
    low = x.min()
    scale = (x.max() - low) / levels
    if scale == 0:
        return x
    zero = np.rint(-low / scale)
    return (np.clip(np.rint(x / scale) + zero, 0, levels) - zero) * scale


def by_rows(function, x, bits, group_size=None):
    rows = x.reshape(-1, x.shape[-1])
    size = group_size or x.shape[-1]
    rounded = [np.concatenate([function(row[i : i + size], bits) for i in range(0, len(row), size)]) for row in rows]
    return np.stack(rounded).reshape(x.shape)


def by_columns(function, x, bits):
    return by_rows(function, x.reshape(-1, x.shape[-1]).T, bits).T.reshape(x.shape)


class NumpyQuantizationTest(BitsTest):
    def rounded(self, cases):
        """What inlier rounds the weight and the input of each (spec, weight, input) to."""
        rounded = round_tensors([(spec, {"linear.weight": weight, "linear.input": inputs}) for spec, weight, inputs in cases])
        return [{name.split(".")[1]: tensor for name, tensor in tensors.items()} for tensors in rounded]

    def tensors(self, dtype, channels):
        random = np.random.default_rng(1)
        weight = random.standard_normal((24, channels)).astype(dtype)
        weight[3] = 0
        weight[5, :7] *= 40
        weight[7] = np.abs(weight[7])
        inputs = random.standard_normal((2, 5, channels)).astype(dtype)
        inputs[..., 3] *= 60  # A feature of outliers.
        inputs[1, 2] = 0
        return weight, inputs

    def test_tokens_and_channels_with_absmax_and_zeropoint(self):
        """Absmax with a scale a token and a row is the vector-wise W8A8 of LLM.int8()."""
        cases, functions = [], []
        for dtype in TYPES.values():
            weight, inputs = self.tensors(dtype, 96)
            for scheme, function in (("absmax", absmax), ("zeropoint", zeropoint)):
                for axis, of_input in (("TOKEN", by_rows), ("FEATURE", by_columns)):
                    for bits in (8, 6, 4):
                        spec = {"weights": {"bits": bits}, "activations": {"bits": bits}, scheme: {"activation_axis": axis}}
                        cases.append((spec, weight, inputs))
                        functions.append((function, of_input, bits))
        for (spec, weight, inputs), (function, of_input, bits), ours in zip(cases, functions, self.rounded(cases)):
            self.assert_same_bits(ours["weight"], by_rows(function, weight, bits), f"{spec}")
            self.assert_same_bits(ours["input"], of_input(function, inputs, bits), f"{spec}")

    def test_groups_of_input_channels(self):
        """Also where the last group of a row is smaller, and where it is the only one."""
        cases, functions = [], []
        for dtype in TYPES.values():
            for channels in (256, 160, 48):
                weight, inputs = self.tensors(dtype, channels)
                for scheme, function in (("absmax", absmax), ("zeropoint", zeropoint)):
                    for size in (32, 64, 128):
                        for bits in (8, 4, 3):
                            spec = {"weights": {"bits": bits, "group_size": size}, "activations": {"bits": 8}, scheme: {"activation_axis": "TOKEN"}}
                            cases.append((spec, weight, inputs))
                            functions.append((function, size, bits))
        for (spec, weight, inputs), (function, size, bits), ours in zip(cases, functions, self.rounded(cases)):
            self.assert_same_bits(ours["weight"], by_rows(function, weight, bits, size), f"{spec} {weight.shape}")
            self.assert_same_bits(ours["input"], by_rows(function, inputs, 8), f"{spec}")

    def test_smaller_groups_have_smaller_errors(self):
        weight, inputs = self.tensors(np.float32, 256)
        sizes = ({}, {"group_size": 128}, {"group_size": 32})
        rounded = self.rounded([({"weights": {"bits": 4, **size}, "absmax": {}}, weight, inputs) for size in sizes])
        errors = [float(np.square(ours["weight"].astype(np.float64) - weight).sum()) for ours in rounded]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertGreater(errors[0], 2 * errors[2])
        self.assert_same_bits(rounded[0]["input"], inputs, "float")

    def test_groups_of_a_scale_a_tensor_are_refused(self):
        weight, inputs = self.tensors(np.float32, 32)
        with self.assertRaisesRegex(ValueError, "quantization.weights.group_size"):
            self.rounded([({"weights": {"group_size": 32}, "absmax": {"granularity": "MODERATE"}}, weight, inputs)])


if __name__ == "__main__":
    unittest.main()
