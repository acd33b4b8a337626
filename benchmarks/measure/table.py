"""Tables for a terminal and for Markdown: the same text serves both."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.measure.columns import number, table
from benchmarks.measure.networks import Row

__all__ = ["network_table", "number", "table"]

HEADINGS = (
    "network",
    "system",
    "ms",
    "fastest",
    "calls",
    "speed-up",
    "error",
    "operators",
    "left",
    "kernels",
    "compile s",
    "again s",
    "failure",
)


def network_table(rows: Sequence[Row]) -> str:
    """The rows with each one's speed-up over eager."""
    base = {(r.network, r.batch, r.dtype): r.milliseconds for r in rows if r.system == "eager"}
    lines = [cells(r, base.get((r.network, r.batch, r.dtype), math.nan)) for r in rows]
    return table(HEADINGS, lines)


def cells(row: Row, eager: float) -> list[str]:
    """A row of the table as text."""
    digits = ".3f" if row.device == "cuda" else ".1f"
    return [
        f"{row.network}, {row.dtype}, batch {row.batch}",
        row.system,
        number(row.milliseconds, digits),
        number(row.fastest, digits),
        number(row.calls),
        number(eager / row.milliseconds, ".2f", "x"),
        number(row.error, ".1e"),
        number(row.compiled),
        number(row.left),
        number(row.kernels),
        number(row.compile_seconds or None, ".1f"),
        number(row.cached_seconds or None, ".1f"),
        (row.failure.splitlines() or [""])[0],
    ]
