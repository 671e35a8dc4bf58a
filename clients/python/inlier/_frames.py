"""Rows of SQL -> data frames without loss: whole numbers stay whole where some are missing, floats keep every digit."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd


def make_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    by_column = list(zip(*rows)) or [()] * len(columns)
    series = [_series(list(values)) for values in by_column]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index(columns)
    return frame


def _series(values: list[Any]) -> pd.Series:
    present = [value for value in values if value is not None]
    if present and all(type(value) is int for value in present):
        return pd.Series(values, dtype="int64" if len(present) == len(values) else "Int64")
    if present and all(type(value) in (int, float) for value in present):
        return pd.Series([float("nan") if value is None else float(value) for value in values], dtype="float64")
    return pd.Series(values, dtype="object")
