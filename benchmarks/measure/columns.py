"""Numbers and columns as text, for a terminal and for Markdown; needs no framework."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float | None, form: str = "", unit: str = "") -> str:
    """The number as text; nothing for one that is absent."""
    return "" if value is None or math.isnan(value) else f"{value:{form}}{unit}"


def table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table of aligned columns, without those that no line fills."""
    kept = [i for i in range(len(headings)) if any(line[i] for line in lines)]
    rows = [[row[i] for i in kept] for row in (headings, *lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    )
