#!/usr/bin/env python3
"""Writes formats/: microscaling formats, tiles of FP8 and KIVI's cache, by the authors' own code where there is some.

    python3 tests/golden/make_format_cases.py MICROXCALING KIVI      # needs torch, and clones of both

MICROXCALING: github.com/microsoft/microxcaling (7bc41952), whose `_quantize_mx` runs with round="even", as OCP Microscaling 1.0 has it.
KIVI: github.com/jy-yuan/KIVI (876b4d2d), whose `quant_and_pack_kcache`, `quant_and_pack_vcache` and their inverses run; the loop over tokens around them is
ours, by algorithm 1 of the paper. FP8 in tiles has no code of authors here: torch's own float8_e4m3fn of x / s, with s = max|x| / 448.
"""
import json
import math
import pathlib
import sys

import torch
from make_attention_cases import write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent / "formats"
MX = {"MXFP4": "fp4_e2m1", "MXFP8_E4M3": "fp8_e4m3", "MXFP8_E5M2": "fp8_e5m2", "MXINT8": "int8"}


def write(name, config, tensors, made_with):
    case = {"case": name, "group": "formats", "config": config, "made_with": made_with | {"torch": torch.__version__.split("+")[0]}}
    (FOLDER / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    write_safetensors(FOLDER / f"{name}.safetensors", {key: x.contiguous().numpy() for key, x in tensors.items()})
    print(name, {key: tuple(x.shape) for key, x in tensors.items()})


def microscaling(quantize):
    generator = torch.Generator().manual_seed(7001)
    x = torch.randn(12, 80, generator=generator) * 2.0 ** torch.randint(-12, 12, (12, 80), generator=generator)
    x[1] = torch.randn(80, generator=generator)
    x[2, :32] = 0
    x[3, :8] = torch.tensor([1.0, 1.9921875, 1.9999, 0.0078125, 0.0234375, -1.9921875, -1.0078125, 0.5])  # INT8's ends and ties.
    x[4, :6] = torch.tensor([256.0, 448.0, 464.0, 480.0, -500.0, 0.001])
    x[5] *= 1e-30
    out = {f"out/{ours}": quantize(x.clone(), 8, theirs, axes=[-1], block_size=32, round="even") for ours, theirs in MX.items()}
    write("microscaling", {}, {"input/x": x} | out, {"microxcaling": "7bc41952"})


def tiles():
    config = {"format": "FP8_E4M3", "group_size": 16, "group_rows": 16}
    generator = torch.Generator().manual_seed(7002)
    weight = torch.randn(40, 50, generator=generator) * 2.0 ** torch.randint(-8, 8, (40, 50), generator=generator)
    weight[:16, :16] = 0
    inputs = torch.randn(2, 5, 50, generator=generator) * 2.0 ** torch.randint(-8, 8, (2, 5, 50), generator=generator)

    def to_fp8(x):
        scale = x.abs().max() / 448
        scale = scale if scale else torch.tensor(1.0)
        return (x / scale).to(torch.float8_e4m3fn).to(torch.float32) * scale

    of_weight, of_input = torch.empty_like(weight), torch.empty_like(inputs)
    for column in range(0, 50, 16):
        for row in range(0, 40, 16):
            at = (slice(row, row + 16), slice(column, column + 16))
            of_weight[at] = to_fp8(weight[at])
        for i in range(2):
            for token in range(5):
                of_input[i, token, column:column + 16] = to_fp8(inputs[i, token, column:column + 16])
    write("tiles", config, {"input/weight": weight, "input/x": inputs, "out/weight": of_weight, "out/x": of_input}, {})


def kivi(pack, bits):
    config = {"bits": bits, "group_size": 8, "residual": 16, "heads": 2, "tokens": 41, "width": 32}
    group, residual, heads, tokens, width = (config[key] for key in ("group_size", "residual", "heads", "tokens", "width"))
    generator = torch.Generator().manual_seed(7002 + bits)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    x, weights = draw(1, tokens, width), {name: draw(width, width) / 4 for name in "qkv"}
    weights["k"][3] *= 10  # A channel of large keys.
    q, k, v = ((x @ weights[name].T).unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv")  # (B, heads, T, h)

    def keys_of(part):
        return pack.unpack_and_dequant_kcache(*pack.quant_and_pack_kcache(part.contiguous(), group, bits), group, bits)

    def values_of(part):
        return pack.unpack_and_dequant_vcache(*pack.quant_and_pack_vcache(part.contiguous(), group, bits), group, bits)

    old_keys, new_keys, old_values, new_values, contexts = k[:, :, :0], k[:, :, :0], v[:, :, :0], v[:, :, :0], []
    for t in range(tokens):
        new_keys, new_values = torch.cat([new_keys, k[:, :, t:t + 1]], 2), torch.cat([new_values, v[:, :, t:t + 1]], 2)
        scores = q[:, :, t:t + 1] @ torch.cat([old_keys, new_keys], 2).transpose(2, 3) / math.sqrt(width // heads)
        contexts.append(scores.softmax(-1) @ torch.cat([old_values, new_values], 2))
        if new_keys.shape[2] == residual:
            old_keys, new_keys = torch.cat([old_keys, keys_of(new_keys)], 2), new_keys[:, :, :0]
        if new_values.shape[2] > residual:
            old_values, new_values = torch.cat([old_values, values_of(new_values[:, :, :1])], 2), new_values[:, :, 1:]
    tensors = {f"param/{name}_proj.weight": weight for name, weight in weights.items()} | {"input/x": x}
    tensors |= {"out/context": torch.cat(contexts, 2).transpose(1, 2).flatten(2), "out/keys": old_keys.transpose(1, 2), "out/values": old_values.transpose(1, 2)}
    write(f"kivi_{bits}_bits", config, tensors, {"KIVI": "876b4d2d"})


def main():
    sys.path[:0] = sys.argv[1:3]
    from mx.mx_ops import _quantize_mx
    from quant import new_pack

    FOLDER.mkdir(exist_ok=True)
    microscaling(_quantize_mx)
    tiles()
    for bits in (2, 4):
        kivi(new_pack, bits)


if __name__ == "__main__":
    main()
