#!/usr/bin/env python3
"""Writes optim/wsd_schedules.json: the rates of Hugging Face's get_wsd_schedule, run.

    python3 tests/golden/make_schedule_cases.py          # needs torch and transformers

Its warm-up starts at the smallest rate and not at 0, so that no row has both a warm-up and a smallest rate.
"""
import json
import pathlib

import torch
import transformers

FILE = pathlib.Path(__file__).resolve().parent / "optim" / "wsd_schedules.json"


def rates(row):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=row["base_lr"])
    schedule = transformers.get_wsd_schedule(
        optimizer, num_warmup_steps=row["warmup"], num_decay_steps=row["decay"], num_training_steps=row["total"],
        decay_type=row["decay_type"], min_lr_ratio=row.get("min_lr_fraction", 0.0))
    found = []
    for _ in range(row["total"] + 1):
        found.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return found


def main():
    rows = []
    for decay_type in ("linear", "1-sqrt", "cosine"):
        for warmup, decay, total, least in ((0, 4, 20, 0), (5, 7, 20, 0), (3, 17, 20, 0), (0, 5, 25, 0.1), (0, 20, 20, 0.25)):
            row = {"kind": "wsd", "base_lr": 1e-3, "warmup": warmup, "total": total, "decay": decay, "decay_type": decay_type}
            if least:
                row["min_lr_fraction"] = least
            rows.append({**row, "lr": rates(row)})
    case = {"case": "wsd_schedules", "group": "optim", "rows": rows, "note": "lr[k] is the rate used by update k (k = 0 is the first update)",
            "tolerances": {"rel": 1e-12}, "made_with": {"torch": torch.__version__, "transformers": transformers.__version__}}
    FILE.write_text(json.dumps(case, indent=1) + "\n")


if __name__ == "__main__":
    main()
