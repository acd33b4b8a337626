"""How far compiled operators are from what they mean: rows of a report, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet import options
from hidet.errors import Place
from hidet.types import DType, dtype

LIMITS = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}
"""The error to be expected of one operator by its type: what users know, and for bfloat16 the
eight times larger distance between its neighbours."""
COARSE = 0.25
"""The same for floats of eight bits."""
WIDEST = 80
"""Characters of an operator that a table shows."""


@dataclass(frozen=True)
class Row:
    """One line: `error` is None where nothing was compared, `limit` what is to be expected."""

    kind: str
    operator: str
    dtype: str
    error: float | None = None
    limit: float = 0.0
    place: Place | None = None
    within: str = ""
    """The bodies of control flow that the operator lies in, as `loop.body.if.then`."""

    @property
    def name(self) -> str:
        """The operator, after the bodies that it lies in."""
        return f"{self.within}: {self.operator}" if self.within else self.operator

    @property
    def is_out_of_line(self) -> bool:
        """Whether the error is larger than is to be expected; NaN is."""
        return self.error is not None and not self.error <= self.limit


@dataclass(frozen=True)
class Report:
    """Inputs, operators and outputs of a graph in order, each with its harmonic error.

    Operators are given what those before them should have computed, so that a wrong one shows in
    its own row only; outputs are those of the whole compiled graph.
    """

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row | None:
        """The first row whose error is out of line."""
        return next((row for row in self.rows if row.is_out_of_line), None)

    @property
    def worst(self) -> float:
        """The largest error of all rows."""
        return max((row.error for row in self.rows if row.error is not None), default=0.0)

    def __str__(self) -> str:
        """A table: number, kind, operator, dtype, error, and what needs attention."""
        head = ("", "kind", "operator", "dtype", "error", "attention")
        first = self.first
        lines = [
            (
                str(number),
                row.kind,
                shortened(row.name),
                row.dtype,
                "" if row.error is None else f"{row.error:.1e}",
                attention(row, row is first),
            )
            for number, row in enumerate(self.rows)
        ]
        return table(head, lines)


def attention(row: Row, is_first: bool) -> str:
    """What to say about a row: nothing if its error is to be expected."""
    if not row.is_out_of_line:
        return ""
    where = f" at {row.place.short}" if row.place is not None else ""
    return f"{'<- the first one ' if is_first else ''}above {row.limit:.0e}{where}"


def shortened(text: str) -> str:
    """As much of a text as a table shows."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Columns with two spaces between them, under a head and dashes."""
    rows = [head, *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def harmonic_error(actual: Any, expected: Any) -> float:
    """The largest |actual - expected| / (|expected| + 1): 1 / (1 / absolute + 1 / relative).

    Equal infinities and NaN in the same places are no error; NaN elsewhere is infinite.
    """
    found, wanted = (np.asarray(each).astype(np.float64) for each in (actual, expected))
    if found.shape != wanted.shape:
        return float("inf")
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(found - wanted) / (np.abs(wanted) + 1)
    errors = np.where(same, 0.0, np.where(np.isfinite(errors), errors, np.inf))
    return float(errors.max(initial=0.0))


IN_TF32 = ("matmul", "linear", "conv", "attention")
"""What the option `tf32` lets tensor cores multiply."""


def expected_error(of: DType, name: str = "") -> float:
    """The error to be expected of an operator whose result is of a type, as options are set."""
    if not of.is_float:
        return 0.0
    limit = LIMITS.get(of.name, COARSE)
    narrow = options.precision.get()
    if of.name == "float32" and narrow:
        limit = LIMITS[dtype(narrow).name]
    if of.name == "float32" and options.tf32.get() and name in IN_TF32:
        limit = max(limit, LIMITS["float16"])  # both have ten bits of fraction
    return limit
