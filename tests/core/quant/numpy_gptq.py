"""Smoothing and rounding with error correction, written out in numpy as the papers have them, in double."""
import numpy as np


def smoothing_factors(input_maximum, weights, alpha):
    """Xiao et al. 2023 (SmoothQuant), eq. 4. input_maximum: (in); weights: each (out, in)."""
    factors = np.ones(len(input_maximum))
    for j, of_input in enumerate(input_maximum.astype(np.float64)):
        of_weights = max(float(np.abs(weight[:, j]).max()) for weight in weights)
        if of_input != 0 and of_weights != 0:
            factors[j] = of_input**alpha / of_weights ** (1 - alpha)
    return factors


def input_moments(x, mask):
    """2/n sum x x^T over the n tokens of x (B, T, in) with mask (B, T) 1."""
    moments, count = np.zeros((x.shape[-1], x.shape[-1])), 0
    for row, real in zip(x.reshape(-1, x.shape[-1]).astype(np.float64), mask.ravel()):
        if real:
            moments += 2 * np.outer(row, row)
            count += 1
    return moments / count


def gptq(weight, moments, damping, by_size, round_column, group_size=0, begin_group=None):
    """Frantar et al. 2023 (GPTQ), algorithm 1, a column at a time. round_column(column (out), index of the input channel). With a group_size begin_group gets
    each group as it is when it is reached, as in the authors' code where a block is a group."""
    w, h = weight.astype(np.float64), moments.copy()
    channels = w.shape[1]
    for j in range(channels):
        if h[j, j] == 0:
            h[j, j] = 1
            w[:, j] = 0
    order = np.argsort(-np.diag(h), kind="stable") if by_size else np.arange(channels)
    w, h = w[:, order], h[np.ix_(order, order)]
    h += damping * np.diag(h).mean() * np.eye(channels)
    upper = np.linalg.cholesky(np.linalg.inv(h)).T  # H^-1 = U^T U.
    rounded = np.empty_like(weight)
    for j in range(channels):
        if group_size and j % group_size == 0:
            begin_group(w[:, j : j + group_size].astype(weight.dtype), j)
        rounded[:, order[j]] = round_column(w[:, j], order[j])
        error = (w[:, j] - rounded[:, order[j]]) / upper[j, j]
        for k in range(j + 1, channels):
            w[:, k] -= error * upper[j, k]
    return rounded


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
    """round_column of gptq, on grids made of `weight`."""
    grids = [[grid_of(row[i : i + group_size], bits) for i in range(0, len(row), group_size)] for row in weight]

    def round_column(column, index):
        rounded = np.empty_like(column)
        for row, value in enumerate(column):
            scale, zero, low, high = map(np.float64, grids[row][index // group_size])
            rounded[row] = (np.clip(np.rint(value / scale) + zero, low, high) - zero) * scale
        return rounded

    return round_column


class DynamicRounder:
    """round_column and begin_group of gptq: the grid of the group that was reached last."""

    def __init__(self, grid_of, bits):
        self.grid_of, self.bits = grid_of, bits

    def begin_group(self, group, first):
        self.round_group, self.first = rounder_of(group, self.grid_of, self.bits, group.shape[1]), first

    def round_column(self, column, index):
        return self.round_group(column, index - self.first)
