"""A table of a paper: data frames in full precision, and text as in `inlier table`."""
from __future__ import annotations

import contextlib
import html
import json
import math
import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from inlier import _specs
from inlier.v1 import sweep_service_pb2, sweep_spec_pb2

_NUMBERS = ("mean", "std", "median", "best", "count", "trainings", "evaluations", "within_std", "pooled_std", "diverged", "missing", "failed",
            "cancelled", "unmeasured", "published_mean", "published_std", "difference", "difference_low", "difference_high", "welch_p", "paired_p", "pairs",
            "paired_difference", "paired_low", "paired_high")  # fmt: skip
_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "\\": r"\textbackslash{}", "\u03c1": r"$\rho$"}  # fmt: skip
_LATEX_HAS = "\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026"  # Beyond Latin letters.
_MARKDOWN = {character: "\\" + character for character in "\\|*_`<&~["}


def to_table_spec(table: Mapping[str, Any]) -> sweep_spec_pb2.TableSpec:
    return _specs.to_message(table, sweep_spec_pb2.TableSpec())


@contextlib.contextmanager
def table_file(table: Mapping[str, Any] | None) -> Iterator[list[str]]:
    """Arguments of `inlier table` for a table of one's own."""
    if table is None:
        yield ["--format", "json"]
        return
    with tempfile.TemporaryDirectory(prefix="inlier-") as folder:
        file = pathlib.Path(folder) / "table.yaml"
        file.write_text(json.dumps(dict(table)), encoding="utf-8")
        yield ["--format", "json", "--spec", str(file)]


class Table:
    """`message` is the whole answer."""

    def __init__(self, message: sweep_service_pb2.Table) -> None:
        self.message = message

    @property
    def title(self) -> str:
        return self.message.title

    def to_frame(self, statistic: str | None = None) -> pd.DataFrame:
        """A row for each row, a column for each column: the number that the cell shows, or `statistic` ("mean", "std", "count", ...),
        with all digits; NaN where there is none."""
        rows = [
            [_number(cell, statistic or self._statistic(column)) for column, cell in enumerate(row.cells)]
            for row in self.message.rows
        ]  # fmt: skip
        return pd.DataFrame(rows, index=self._index(), columns=pd.Index(list(self.message.column_headings)), dtype="float64")

    def cells(self) -> pd.DataFrame:
        """A row for each cell: labels, column, every number of it, and the trials behind it."""
        found = []
        for row in self.message.rows:
            for heading, cell in zip(self.message.column_headings, row.cells):
                numbers = {name: getattr(cell, name) if cell.HasField(name) else None for name in _NUMBERS}
                found.append({**dict(zip(self.message.row_headings, row.labels)), "column": heading, **numbers, "is_best": cell.is_best,
                              "published_differs_in": list(cell.published_differs_in), "chosen": cell.chosen if cell.HasField("chosen") else None,
                              "trials": list(cell.trials), "values": list(cell.values), "training_means": list(cell.training_means)})  # fmt: skip
        return pd.DataFrame(found)

    def to_text_frame(self, plus_minus: str = "±") -> pd.DataFrame:
        """As printed: "4.52 ± 0.01", with a word for each cell without a number."""
        rows = [[self._text(column, cell, plus_minus) for column, cell in enumerate(row.cells)] for row in self.message.rows]
        return pd.DataFrame(rows, index=self._index(), columns=pd.Index(list(self.message.column_headings)), dtype="object")

    def to_markdown(self) -> str:
        heads = [*self.message.row_headings, *self.message.column_headings]
        lines = [heads, ["---"] * len(self.message.row_headings) + ["---:"] * len(self.message.column_headings)]
        for row in self.message.rows:
            cells = [_escaped(self._text(i, cell, "±"), _MARKDOWN) for i, cell in enumerate(row.cells)]
            bold = [f"**{text}**" if cell.is_best else text for text, cell in zip(cells, row.cells)]
            lines.append([_escaped(label, _MARKDOWN) for label in row.labels] + bold)
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
        title = f"**{_escaped(self.title, _MARKDOWN)}**\n\n" if self.title else ""
        return title + text + "".join(f"\n{_escaped(note, _MARKDOWN)}\n" for note in self.notes())

    def to_latex(self) -> str:
        """A tabular for booktabs. `inlier table --format latex` also sets captions, footnotes and columns of siunitx, and Greek letters for
        pdfLaTeX, which this one needs LuaLaTeX or XeLaTeX for; a comment in the first line names them."""
        heads = [_escaped(text, _LATEX) for text in [*self.message.row_headings, *self.message.column_headings]]
        columns = "l" * len(self.message.row_headings) + "r" * len(self.message.column_headings)
        lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", " & ".join(heads) + r" \\", "\\midrule"]
        for row in self.message.rows:
            cells = [self._latex(i, cell) for i, cell in enumerate(row.cells)]
            lines.append(" & ".join([_latex_label(label) for label in row.labels] + cells) + r" \\")
        lines.append("\\bottomrule")
        lines += [f"\\multicolumn{{{len(heads)}}}{{l}}{{\\footnotesize {_escaped(note, _LATEX)}}} \\\\" for note in self.notes()]
        lines += ["\\end{tabular}", ""]
        others = sorted({character for character in "".join(lines) if character > "\u017f" and character not in _LATEX_HAS})
        if others:
            lines.insert(0, f"% pdfLaTeX has no character for {' '.join(others)}: compile with LuaLaTeX or XeLaTeX")
        return "\n".join(lines)

    def notes(self) -> list[str]:
        """The number of trainings behind the cells and of their evaluations, the reasons of missing ones, what is not compared, and rank correlations."""
        cells = [cell for row in self.message.rows for cell in row.cells]
        counts = sorted({cell.trainings or cell.count for cell in cells if cell.count})
        notes = [f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"] if counts else []
        evaluations = max((cell.evaluations for cell in cells), default=0)
        if evaluations > 1:
            notes.append(f"a training counts once, with the mean over its up to {evaluations} evaluations")
        for name, meaning in (("diverged", "the loss was not finite; in no mean"), ("failed", "`inlier why TRIAL` has the reason"),
                              ("cancelled", "by a person or by pruning"), ("unmeasured", "no such measurement for this data")):  # fmt: skip
            count = sum(getattr(cell, name) for cell in cells)
            if count:
                notes.append(f"{count} {name}: {meaning}")
        waiting = sum(_waiting(cell) for cell in cells)
        notes += [f"{waiting} not finished"] if waiting else []
        return notes + list(self.message.comparison_notes) + [_correlation(found) for found in self.message.correlations]

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"<p><b>{html.escape(self.title)}</b></p>{self.to_text_frame().to_html()}{notes}"

    def __repr__(self) -> str:
        return "\n".join([*([self.title, ""] if self.title else []), self.to_text_frame().to_string(), *self.notes()])

    def _index(self) -> pd.Index:
        labels = [tuple(row.labels) for row in self.message.rows]
        names = list(self.message.row_headings)
        if len(names) == 1:
            return pd.Index([label[0] for label in labels], name=names[0], dtype="object")
        return pd.MultiIndex.from_tuples(labels, names=names) if names else pd.RangeIndex(len(labels))

    def _statistic(self, column: int) -> str:
        if column < len(self.message.columns):
            return sweep_spec_pb2.TableColumn.Statistic.Name(self.message.columns[column].statistic).lower()
        return "mean"

    def _parts(self, column: int, cell: sweep_service_pb2.TableCell) -> tuple[str, str]:
        """The number and its deviation, with the column's decimals; empty where there is none."""
        decimals = self.message.decimals[column] if column < len(self.message.decimals) else 2
        statistic = self._statistic(column)
        value = _number(cell, statistic)
        if not cell.count or math.isnan(value):
            return "", ""
        deviation = f"{cell.std:.{decimals}f}" if statistic == "mean" and cell.HasField("std") else ""
        return f"{value:.{decimals}f}", deviation

    def _text(self, column: int, cell: sweep_service_pb2.TableCell, plus_minus: str) -> str:
        number, deviation = self._parts(column, cell)
        if not number:
            return _reasons(cell)
        text = f"{number} {plus_minus} {deviation}" if deviation else number
        text += f" ({cell.diverged} diverged)" if cell.diverged else ""
        return text + ("*" if cell.missing else "")

    def _latex(self, column: int, cell: sweep_service_pb2.TableCell) -> str:
        number, deviation = self._parts(column, cell)
        if not number:
            return _reasons(cell)
        text = f"{number} \\pm {deviation}" if deviation else number
        after = (f" ({cell.diverged} diverged)" if cell.diverged else "") + ("*" if cell.missing else "")
        return (f"$\\mathbf{{{text}}}$" if cell.is_best else f"${text}$") + after


def _number(cell: sweep_service_pb2.TableCell, statistic: str) -> float:
    known = cell.DESCRIPTOR.fields_by_name.get(statistic)
    if known is None or statistic not in _NUMBERS:
        raise ValueError(f"{statistic!r} is no number of a cell; known are {', '.join(_NUMBERS)}")
    return float(getattr(cell, statistic)) if cell.HasField(statistic) else math.nan


def _correlation(found: sweep_service_pb2.TableCorrelation) -> str:
    points = "trainings" if found.points == sweep_spec_pb2.RankCorrelation.TRAININGS else "rows"
    rho = f"{found.rho:.3f}" if found.HasField("rho") else "not defined"
    return f"Spearman's \u03c1 of {found.x} and {found.y} over {found.count} {points}: {rho}" + (f", p = {found.p:.3g}" if found.HasField("p") else "")


def _waiting(cell: sweep_service_pb2.TableCell) -> int:
    return max(0, cell.missing - cell.failed - cell.cancelled - cell.unmeasured)


def _reasons(cell: sweep_service_pb2.TableCell) -> str:
    """In place of a number: a word for each reason."""
    words = [("DIVERGED", cell.diverged), ("FAILED", cell.failed), ("CANCELLED", cell.cancelled), ("n/a", cell.unmeasured), ("-", _waiting(cell))]
    return ", ".join(word for word, count in words if count) or "-"


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)


def _latex_label(label: str) -> str:
    text = _escaped(label, _LATEX)
    return "{}" + text if text.startswith(("[", "*")) else text  # Else \\\\ of the line before takes it for its argument.
