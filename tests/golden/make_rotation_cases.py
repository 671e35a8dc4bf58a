#!/usr/bin/env python3
"""Writes rotations/: updates of orthogonal matrices by SpinQuant's own optimizer.

    python3 tests/golden/make_rotation_cases.py SPINQUANT      # needs torch, and a clone

SPINQUANT: github.com/facebookresearch/SpinQuant (8f47aa3f), whose `SGDG` runs with stiefel=True on 0.5 * sum((A R B - C)^2). It makes a matrix orthonormal by
chance, 1 update in 101; here `random.randint` is replaced, so that it does so in the updates that the case names, and in no other.
"""
import json
import pathlib
import random
import sys

import torch
from make_attention_cases import write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent / "rotations"


def updates(sgdg, name, size, rates, orthonormal, seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda: torch.randn(size, size, generator=generator, dtype=torch.float64)
    a, b, c = scale * draw(), draw(), draw()
    matrix = torch.nn.Parameter(torch.linalg.qr(draw())[0])
    tensors = {"input/start": matrix.detach().clone()}
    gradients, matrices = [], []
    for update, rate in enumerate(rates):
        random.randint = lambda low, high: 1 if update in orthonormal else 2
        optimizer = sgdg([matrix], lr=rate, stiefel=True)  # Without momentum an update has no memory.
        optimizer.zero_grad()
        (0.5 * (a @ matrix @ b - c).square().sum()).backward()
        gradients.append(matrix.grad.clone())
        optimizer.step()
        matrices.append(matrix.detach().clone())
    tensors |= {"input/gradients": torch.stack(gradients), "out/matrices": torch.stack(matrices)}
    config = {"learning_rates": rates, "orthonormal_before": orthonormal}
    case = {"case": name, "group": "rotations", "config": config, "made_with": {"SpinQuant": "8f47aa3f", "torch": torch.__version__.split("+")[0]}}
    (FOLDER / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    write_safetensors(FOLDER / f"{name}.safetensors", {key: x.contiguous().numpy() for key, x in tensors.items()})
    errors = [(m.T @ m - torch.eye(size, dtype=m.dtype)).abs().max().item() for m in matrices]
    print(name, size, "largest |R^T R - 1| of each update", [f"{error:.1e}" for error in errors])


def main():
    sys.path.insert(0, sys.argv[1])
    from train_utils.optimizer import SGDG

    FOLDER.mkdir(exist_ok=True)
    updates(SGDG, "bounded_steps", 8, [1.5, 1.2, 0.9, 0.6, 0.3, 0.1], [], 7101)  # 1 / |W| decides.
    updates(SGDG, "learning_rate_steps", 12, [0.3, 0.2, 0.1, 0.05, 0.02], [], 7102, scale=0.02)
    updates(SGDG, "made_orthonormal", 6, [1.5, 1.5, 1.5, 1.5], [2], 7103)


if __name__ == "__main__":
    main()
