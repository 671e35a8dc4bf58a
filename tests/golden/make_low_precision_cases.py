#!/usr/bin/env python3
"""Writes low_precision/: two linears with a GELU between them whose operands are rounded, and LSQ, with gradients, in float64.

    python3 tests/golden/make_low_precision_cases.py          # needs torch and NumPy

No reference code ran, for the authors' needs the hardware: the recipes of the papers (README-models.md) are written here once more, block after block and number
after number of a format's list. `fake_*` take their gradients from torch's autograd with the roundings detached (straight-through); the recipes that round gradients
are autograd functions of three products. The Hadamard matrix is part of the case, for its signs are drawn by inlier.
"""
import json
import pathlib

import torch
from make_attention_cases import write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent / "low_precision"
TOKENS, WIDTH, INNER = 48, 20, 36
torch.set_default_dtype(torch.float64)


def numbers_of(mantissa, smallest, largest):
    """All numbers of a small float format that are not negative, in order: those whose index is even have 0 as last bit."""
    found, exponent = [], smallest - 1
    while True:
        for i in range(2 ** mantissa):
            number = (i / 2 ** mantissa + (exponent >= smallest)) * 2.0 ** max(exponent, smallest)
            if number > largest:
                return torch.tensor(found)
            found.append(number)
        exponent += 1


E2M1, E4M3 = numbers_of(1, 0, 6), numbers_of(3, -6, 448)


def nearest(x, numbers):
    """Each x to the nearest number of the list, ties to the even index, what is above the last to the last."""
    size = x.abs().clamp(max=float(numbers[-1]))
    above = torch.searchsorted(numbers, size).clamp(max=len(numbers) - 1)
    below = (above - 1).clamp(min=0)
    to_above, to_below = numbers[above] - size, size - numbers[below]
    take_above = (to_above < to_below) | ((to_above == to_below) & (above % 2 == 0))
    return torch.where(take_above, numbers[above], numbers[below]) * x.sign()


def tiles_of(x, rows, columns):
    for i in range(0, x.shape[0], rows):
        for j in range(0, x.shape[1], columns):
            yield slice(i, i + rows), slice(j, j + columns)


def nvfp4(x, rows=1):
    of_tensor = x.abs().max() / (448 * 6)
    result = torch.empty_like(x)
    for tile in tiles_of(x, rows, 16):
        scale = nearest(x[tile].abs().max() / 6 / of_tensor, E4M3) * of_tensor
        result[tile] = nearest(x[tile] / scale, E2M1) * scale if scale else 0
    return result


def mxfp4(x):
    result = torch.empty_like(x)
    for tile in tiles_of(x, 1, 32):
        scale = 2.0 ** (torch.floor(torch.log2(x[tile].abs().max())) - 2)
        result[tile] = nearest(x[tile] / scale, E2M1) * scale
    return result


def fp8(x, rows, columns):
    result = torch.empty_like(x)
    for tile in tiles_of(x, rows, columns):
        scale = x[tile].abs().max() / 448
        result[tile] = nearest(x[tile] / scale, E4M3) * scale
    return result


def integers(x, bits, rows, columns):
    result, largest = torch.empty_like(x), 2 ** (bits - 1) - 1
    for tile in tiles_of(x, rows, columns):
        scale = x[tile].abs().max() / largest
        result[tile] = (x[tile] / scale).round().clamp(-largest, largest) * scale
    return result


class Recipe(torch.autograd.Function):
    """y = Q(x) Q(W)^T + b; dL/dx = Q(g) Q(W^T)^T; dL/dW = Q((R g)^T) Q((R x)^T)^T."""

    @staticmethod
    def forward(context, x, weight, bias, q, rotation):
        context.save_for_backward(x, weight)
        context.q, context.rotation = q, rotation
        return q["activations"](x) @ q["weights"](weight).T + bias

    @staticmethod
    def backward(context, g):
        (x, weight), q = context.saved_tensors, context.q
        turn = lambda a: a if context.rotation is None else torch.cat([context.rotation @ block for block in a.split(len(context.rotation))])
        of_input = q["gradients"](g) @ q["weights"](weight.T.contiguous()).T
        of_weight = q["gradients"](turn(g).T.contiguous()) @ q["activations"](turn(x).T.contiguous()).T
        return of_input, of_weight, g.sum(0), None, None


def fake(x, weight, bias, q, rotation):
    passing = lambda a, rounded: a + (rounded - a).detach()
    return passing(x, q["activations"](x)) @ passing(weight, q["weights"](weight)).T + bias


def hadamard(size, generator):
    matrix = torch.ones(1, 1)
    while len(matrix) < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix * torch.randint(0, 2, (size,), generator=generator).mul(2).sub(1) / size ** 0.5


def write(name, config, tensors):
    FOLDER.mkdir(exist_ok=True)
    case = {"case": name, "group": "low_precision", "config": config, "made_with": {"torch": torch.__version__.split("+")[0]}}
    (FOLDER / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    write_safetensors(FOLDER / f"{name}.safetensors", {key: x.detach().contiguous().numpy() for key, x in tensors.items()})
    print(name, {key: tuple(x.shape) for key, x in tensors.items()})


def network(name, low_precision, q, linear, rotation_size=0):
    generator = torch.Generator().manual_seed(4500 + len(name))
    draw = lambda *shape: torch.randn(*shape, generator=generator)
    tensors = {"x": draw(TOKENS, WIDTH), "first.weight": draw(INNER, WIDTH) / 6, "first.bias": draw(INNER), "second.weight": draw(WIDTH, INNER) / 6, "second.bias": draw(WIDTH)}
    tensors["x"][:, 3] *= 20  # A feature of large activations.
    tensors["x"][0] *= 10
    coefficients = draw(TOKENS, WIDTH) * 2.0 ** torch.randint(-6, 3, (TOKENS, 1), generator=generator)
    inputs = {f"input/{key}": value.clone() for key, value in tensors.items()} | {"input/coefficients": coefficients}
    rotation = hadamard(rotation_size, generator) if rotation_size else None
    if rotation is not None:
        inputs["input/rotation"] = rotation
    for value in tensors.values():
        value.requires_grad_()
    inner = torch.nn.functional.gelu(linear(tensors["x"], tensors["first.weight"], tensors["first.bias"], q, rotation))
    y = linear(inner, tensors["second.weight"], tensors["second.bias"], q, rotation)
    (y * coefficients).sum().backward()
    write(name, {"low_precision": low_precision}, inputs | {"out/y": y} | {f"grad/{key}": value.grad for key, value in tensors.items()})


def lsq(bits):
    generator = torch.Generator().manual_seed(4600 + bits)
    v, g = torch.randn(30, 20, generator=generator), torch.randn(30, 20, generator=generator)
    below, above = 2.0 ** (bits - 1), 2.0 ** (bits - 1) - 1
    s = 2 * v.abs().mean() / above ** 0.5 * 0.7
    ratio = v / s
    of_scale = torch.where(ratio <= -below, torch.tensor(-below), torch.where(ratio >= above, torch.tensor(above), ratio.round() - ratio))
    inside = (ratio > -below) & (ratio < above)
    tensors = {"input/v": v, "input/scale": s.reshape(1), "input/gradient": g, "out/v": ratio.clamp(-below, above).round() * s, "out/initial_scale": (2 * v.abs().mean() / above ** 0.5).reshape(1)}
    tensors |= {"grad/v": g * inside, "grad/scale": ((g * of_scale).sum() / (v.numel() * above) ** 0.5).reshape(1)}
    write(f"lsq_{bits}_bits", {"bits": bits}, tensors)


def main():
    every = 10 ** 6
    network("fake_w8a8", {"weights": {"bits": 8}, "activations": {"bits": 8, "scale_axis": "TOKEN"}},
            {"weights": lambda w: integers(w, 8, every, every), "activations": lambda x: integers(x, 8, 1, every)}, fake)
    network("fake_w4a8", {"weights": {"bits": 4, "group_size": 32}, "activations": {"bits": 8}},
            {"weights": lambda w: integers(w, 4, 1, 32), "activations": lambda x: integers(x, 8, every, every)}, fake)
    tile = {"format": "FP8_E4M3", "group_size": 16}
    network("fp8_tiles", {"weights": tile | {"group_rows": 16}, "activations": tile, "gradients": tile},
            {"weights": lambda w: fp8(w, 16, 16), "activations": lambda x: fp8(x, 1, 16), "gradients": lambda g: fp8(g, 1, 16)}, Recipe.apply)
    network("mxfp4", {part: {"format": "MXFP4"} for part in ("weights", "activations", "gradients")}, {"weights": mxfp4, "activations": mxfp4, "gradients": mxfp4}, Recipe.apply)
    network("nvfp4_hadamard", {"weights": {"format": "NVFP4", "group_rows": 16}, "activations": {"format": "NVFP4"}, "gradients": {"format": "NVFP4"}, "hadamard_size": 16},
            {"weights": lambda w: nvfp4(w, 16), "activations": nvfp4, "gradients": nvfp4}, Recipe.apply, rotation_size=16)
    for bits in (4, 8):
        lsq(bits)


if __name__ == "__main__":
    main()
