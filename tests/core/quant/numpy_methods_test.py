#!/usr/bin/env python3
"""Number formats, keys and values bit for bit, and rotations, smoothing and GPTQ of a linear, against their formulas written out in numpy.
A format is the list of its numbers here: the nearest is taken, of two the one with an even place in the list."""
import unittest

import numpy as np

import numpy_gptq
from numpy_quantization_test import absmax, by_columns, by_rows, zeropoint
from numpy_round_tensors import BitsTest, round_tensors
from numpy_safetensors import TYPES

NORM, READER, WRITER = "transformer.h.0.ln_1", "transformer.h.0.attn.c_attn", "transformer.h.0.mlp.c_proj"


def numbers(exponent_bits, mantissa_bits, bias, largest):
    """All that are not negative, in order."""
    found = []
    for exponent in range(2**exponent_bits):
        for mantissa in range(2**mantissa_bits):
            fraction = mantissa / 2**mantissa_bits
            found.append((1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias))
    return np.array([number for number in found if number <= largest])


E4M3, E5M2, E2M1 = numbers(4, 3, 7, 448), numbers(5, 2, 15, 57344), numbers(2, 1, 1, 6)


def to_format(x, format):
    """To the nearest number, in double, where halves of sums of two numbers are exact."""
    wide = np.minimum(np.abs(x.astype(np.float64)), format[-1])
    above = np.clip(np.searchsorted(format, wide), 1, len(format) - 1)
    low, high = format[above - 1], format[above]
    middle = (low + high) / 2
    takes_high = (wide > middle) | ((wide == middle) & (above % 2 == 0))
    return np.copysign(np.where(takes_high, high, low), x).astype(x.dtype)


def fp8(format):
    def function(x, _):
        scale = np.abs(x).max() / x.dtype.type(format[-1])
        scale = x.dtype.type(1) if scale == 0 else scale
        return to_format(x / scale, format) * scale

    return function


def mxfp4(x):
    def function(block, _):
        largest = np.abs(block).max()
        scale = block.dtype.type(2.0 ** (np.floor(np.log2(np.float64(largest))) - 2) if largest else 1)
        return to_format(block / scale, E2M1) * scale

    return by_rows(function, x, 4, 32)


def nvfp4(x):
    of_tensor = np.abs(x).max() / x.dtype.type(448 * 6)

    def function(block, _):
        scale = to_format(np.abs(block).max() / x.dtype.type(6) / of_tensor, E4M3) * of_tensor
        return to_format(block / (scale if scale else x.dtype.type(1)), E2M1) * scale

    return by_rows(function, x, 4, 16)


class NumpyMethodsTest(BitsTest):
    def tensors(self, dtype, channels):
        random = np.random.default_rng(2)
        weight = (random.standard_normal((12, channels)) * 2.0 ** random.integers(-6, 6, (12, channels))).astype(dtype)
        weight[3] = 0
        weight[5, : channels // 2] *= dtype(1e-6)  # Blocks whose E4M3 scale is 0.
        weight[6, :8] = [0.25, -0.75, 1.25, -1.75, 2.5, -3.5, 5, 6]  # Ties of E2M1.
        inputs = random.standard_normal((2, 5, channels)).astype(dtype)
        inputs[..., 3] *= 60
        inputs[1, 2] = 0
        return weight, inputs

    def test_the_lists_of_numbers(self):
        self.assertEqual(E2M1.tolist(), [0, 0.5, 1, 1.5, 2, 3, 4, 6])
        self.assertEqual((len(E4M3), E4M3[1], E4M3[-1]), (127, 2.0**-9, 448))
        self.assertEqual((len(E5M2), E5M2[1], E5M2[-1]), (124, 2.0**-16, 57344))

    def test_fp8_with_a_scale_a_row_a_tensor_a_feature(self):
        cases, functions = [], []
        for dtype in TYPES.values():
            weight, inputs = self.tensors(dtype, 48)
            for name, format in (("FP8_E4M3", E4M3), ("FP8_E5M2", E5M2)):
                function = fp8(format)
                whole = lambda x, function=function: function(x.ravel(), 8).reshape(x.shape)
                rows, columns = (lambda x, function=function: by_rows(function, x, 8)), (lambda x, function=function: by_columns(function, x, 8))
                for scheme, of_weight, of_input in (
                    ({}, rows, rows),
                    ({"activation_axis": "FEATURE"}, rows, columns),
                    ({"granularity": "MODERATE"}, whole, whole),
                ):
                    spec = {"weights": {"format": name}, "activations": {"format": name}, "absmax": scheme}
                    cases.append((spec, {"linear.weight": weight, "linear.input": inputs}))
                    functions.append((of_weight, of_input))
        for (spec, tensors), (of_weight, of_input), ours in zip(cases, functions, round_tensors(cases)):
            self.assert_same_bits(ours["linear.weight"], of_weight(tensors["linear.weight"]), f"{spec}")
            self.assert_same_bits(ours["linear.input"], of_input(tensors["linear.input"]), f"{spec}")

    def test_four_bits_in_blocks(self):
        """Also where the last block of a row is shorter."""
        cases, functions = [], []
        for dtype in TYPES.values():
            for channels in (64, 56, 24, 12):
                weight, inputs = self.tensors(dtype, channels)
                for name, function in (("MXFP4", mxfp4), ("NVFP4", nvfp4)):
                    spec = {"weights": {"format": name}, "activations": {"format": name}, "absmax": {}}
                    cases.append((spec, {"linear.weight": weight, "linear.input": inputs}))
                    functions.append(function)
        for (spec, tensors), function, ours in zip(cases, functions, round_tensors(cases)):
            for name, tensor in tensors.items():
                self.assert_same_bits(ours[name], function(tensor), f"{spec} {tensor.shape}")

    def test_keys_and_values(self):
        """One range a token and head, with any scheme."""
        cases = []
        for dtype in TYPES.values():
            random = np.random.default_rng(3)
            tensors = {"attn.keys": random.standard_normal((2, 5, 3, 8)).astype(dtype), "attn.values": random.standard_normal((2, 5, 3, 8)).astype(dtype)}
            tensors["attn.keys"][0, 1, 2] = 4  # Without extent.
            for bits in (8, 4, 2):
                cases += [({"kv_cache": {"bits": bits}, scheme: {}}, tensors) for scheme in ("absmax", "zeropoint")]
        for (spec, tensors), ours in zip(cases, round_tensors(cases)):
            for name, tensor in tensors.items():
                self.assert_same_bits(ours[name], by_rows(zeropoint, tensor, spec["kv_cache"]["bits"]), f"{spec} {name}")

    def rotation(self, size, site, extra):
        """Q or H: the input of a linear that nothing rounds, an identity."""
        tensors = {f"{site}.input": np.eye(size), f"{site}.weight": np.eye(size)} | extra
        return round_tensors([({"absmax": {}, "rotation": {"seed": 5}}, tensors)])[0][f"{site}.input"]

    def test_linears_are_rounded_in_the_rotated_basis(self):
        random = np.random.default_rng(4)
        gain = random.uniform(0.5, 2, 24)
        q = self.rotation(24, READER, {f"{NORM}.gain": np.ones(24)})
        h = self.rotation(40, WRITER, {})
        for matrix in (q, h):
            np.testing.assert_allclose(matrix.T @ matrix, np.eye(len(matrix)), atol=1e-13)
        tensors = {
            f"{NORM}.gain": gain,
            f"{READER}.input": random.standard_normal((2, 3, 24)),
            f"{READER}.weight": random.standard_normal((10, 24)),
            f"{WRITER}.input": random.standard_normal((2, 3, 40)),
            f"{WRITER}.weight": random.standard_normal((24, 40)),
        }
        for scheme, function in (("absmax", absmax), ("zeropoint", zeropoint)):
            spec = {"weights": {"bits": 4}, "activations": {"bits": 4}, scheme: {"activation_axis": "TOKEN"}, "rotation": {"seed": 5}}
            (ours,) = round_tensors([(spec, tensors)])
            expected = {
                f"{READER}.input": by_rows(function, tensors[f"{READER}.input"] / gain @ q, 4),
                f"{READER}.weight": by_rows(function, tensors[f"{READER}.weight"] * gain @ q, 4),
                f"{WRITER}.input": by_rows(function, tensors[f"{WRITER}.input"] @ h, 4),
                f"{WRITER}.weight": q @ by_rows(function, q.T @ tensors[f"{WRITER}.weight"] @ h, 4),
            }
            for name, tensor in expected.items():
                np.testing.assert_allclose(ours[name], tensor, rtol=0, atol=1e-12, err_msg=f"{scheme} {name}")

    def test_gptq_and_smoothing_through_a_linear(self):
        random = np.random.default_rng(5)
        inputs = random.standard_normal((40, 7, 16)) @ random.standard_normal((16, 24))
        inputs[..., 3] *= 30
        weight = random.standard_normal((10, 24))
        moments = numpy_gptq.input_moments(inputs, np.ones(inputs.shape[:2]))
        smooth = numpy_gptq.smoothing_factors(np.abs(inputs).max((0, 1)), [weight], 0.6)
        gain = random.uniform(0.5, 2, 24)
        q = self.rotation(24, READER, {f"{NORM}.gain": np.ones(24)})
        bits, size = 3, 8
        for scheme, function, grid_of in (("absmax", absmax, numpy_gptq.absmax_grid), ("zeropoint", zeropoint, numpy_gptq.zeropoint_grid)):
            for method, turn in (({}, np.eye(24)), ({"smoothing": {"alpha": 0.6}}, np.diag(1 / smooth)), ({"rotation": {"seed": 5}}, np.diag(1 / gain) @ q)):
                basis = weight @ np.linalg.inv(turn).T
                round_column = numpy_gptq.rounder_of(basis, grid_of, bits, size)
                expected = numpy_gptq.gptq(basis, turn.T @ moments @ turn, 0.01, False, round_column)
                spec = {"weights": {"bits": bits, "group_size": size}, "activations": {"bits": 16}, scheme: {}, "gptq": {}} | method
                (ours,) = round_tensors([(spec, {f"{NORM}.gain": gain, f"{READER}.weight": weight, f"{READER}.calibration": inputs})])
                np.testing.assert_allclose(ours[f"{READER}.weight"], expected, rtol=0, atol=1e-9, err_msg=f"{spec}")
                self.assertGreater(np.abs(expected - by_rows(function, basis, bits, size)).max(), 1e-3, "the nearest is something else")


if __name__ == "__main__":
    unittest.main()
