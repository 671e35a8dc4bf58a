#!/usr/bin/env python3
"""Writes cases.json beside this file: statistics of small samples as SciPy computes them. README.md has the versions."""
import itertools
import json
import pathlib

import numpy as np
from scipy import stats

RANDOM = np.random.default_rng(20240721)


def welch(a, b):
    return {"kind": "welch", "a": a, "b": b, "p": float(stats.ttest_ind(a, b, equal_var=False).pvalue)}


def paired(a, b):
    return {"kind": "paired", "a": a, "b": b, "p": float(stats.ttest_rel(a, b).pvalue)}


def paired_interval(a, b, confidence):
    found = stats.ttest_rel(a, b).confidence_interval(confidence)
    return {**paired(a, b), "confidence": confidence, "low": float(found.low), "high": float(found.high)}


def spearman(a, b):
    """p over all permutations of few points (an exact test), else SciPy's approximation by Student's t."""
    found = stats.spearmanr(a, b)
    p = found.pvalue
    if len(a) <= 9:
        size = [abs(stats.spearmanr(a, order).statistic) for order in itertools.permutations(b)]
        p = np.mean(np.array(size) >= abs(found.statistic) - 1e-9)
    return {"kind": "spearman", "a": a, "b": b, "rho": float(found.statistic), "p": float(p)}


def sample(n, mean, deviation):
    return [round(float(x), 6) for x in RANDOM.normal(mean, deviation, n)]


def main():
    cases = []
    tiny = [([1, 2], [3, 5]), ([4.49, 4.51], [4.39, 4.40]), ([1, 1], [2, 3]), ([1, 1], [1, 3]), ([0, 1e-9], [1e9, 2e9]),
            ([226.04, 226.57], [230.11, 229.8]), ([1, 2, 3], [1, 2, 3]), ([1, 2, 3], [2, 3, 4]), ([5, 5, 5], [5, 5, 6])]
    cases += [welch(a, b) for a, b in tiny] + [paired(a, b) for a, b in tiny if np.ptp(np.subtract(a, b)) > 0]
    for n, m, shift, spread in [(2, 2, 0.1, 1), (3, 3, 1, 0.1), (2, 5, 0.5, 2), (5, 5, 3, 1), (10, 3, 0, 5), (30, 30, 0.2, 1),
                                (5, 5, 40, 1), (100, 7, 0.3, 0.01)]:
        cases.append(welch(sample(n, 10, 1), sample(m, 10 + shift, spread)))
        a = sample(n, 10, 1)
        cases.append(paired(a, [round(x + y, 6) for x, y in zip(a, sample(n, shift, spread))]))
    for n in (1, 2, 3, 4, 5, 8, 31):
        values = sample(n, -2, 10)
        case = {"kind": "summary", "values": values, "median": float(np.median(values)), "mean": float(np.mean(values))}
        if n > 1:
            case["std"] = float(np.std(values, ddof=1))
        cases.append(case)
    for n, m, shift in [(5, 5, 1), (10, 10, 0), (30, 20, -2)]:
        a, b = sample(n, 10, 1), sample(m, 10 + shift, 2)
        found = stats.bootstrap((a, b), lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis), n_resamples=1_000_000, batch=10_000,
                                method="percentile", rng=np.random.default_rng(1)).confidence_interval
        cases.append({"kind": "bootstrap", "a": a, "b": b, "confidence": 0.95, "low": float(found.low), "high": float(found.high)})
    for n, confidence in [(2, 0.95), (3, 0.95), (5, 0.9), (30, 0.99)]:
        a = sample(n, 10, 1)
        cases.append(paired_interval(a, [round(x + y, 6) for x, y in zip(a, sample(n, 0.3, 0.5))], confidence))
    for n in (3, 4, 5, 6, 10, 12, 40):
        a = sample(n, 0, 1)
        cases.append(spearman(a, [round(x + y, 6) for x, y in zip(a, sample(n, 0, 1))]))
    for a, b in [([1, 2, 2, 3, 5], [7, 3, 3, 9, 1]), ([1, 1, 1, 2, 2, 2], [1, 2, 3, 4, 5, 6]),
                 ([1, 2, 2, 3, 5, 5, 5, 6, 8, 9, 9], [7, 3, 3, 9, 1, 1, 4, 2, 2, 0, 1])]:
        cases.append(spearman(a, b))
    pathlib.Path(__file__).with_name("cases.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
