"""Tiles of a contraction on the CPU: what a panel of rows and one of columns give, in registers."""

from __future__ import annotations

from hidet.ir.expr import Dot
from hidet.lang import (
    ScriptFunction,
    cast,
    cdiv,
    load,
    prefetch,
    register_tensor,
    script,
    static,
    store,
    vectorize,
)
from hidet.lang.memory import get
from hidet.schedules.cpu.panel_layout import Panels


def multiplying(t: Panels) -> ScriptFunction:
    """A part of a kernel: tile 0 becomes the product of a panel of rows, of which so many are
    `there`, and one of columns; where that is several stretches it is added to tile 0."""
    add_stretch, correct = adding_stretch(t, t.heights, t.is_one_stretch), correcting(t)

    @script
    def multiply(rows, columns, done, row_panel, column_panel, there):  # type: ignore[no-untyped-def]
        for stretch in range(cdiv(t.depth, t.stretch)):
            start = stretch * t.stretch
            count = min(t.stretch, t.depth - start)
            add_stretch(rows, columns, done, 0, row_panel, start, column_panel, start, count, there)
        if t.offset:
            correct(columns, done, column_panel)

    return multiply


def adding_stretch(t: Panels, heights: tuple[int, ...], only: bool = False) -> ScriptFunction:
    """A part of a kernel: adds products along a stretch of k to a tile of `done`, of the groups
    from `first` on in a panel of rows and from `start` on in one of columns. The `only` stretch is
    not added, but is the tile.

    Of the `heights` it takes the least that has the rows that are `there`.
    """
    *fewer, height = heights
    add_rows = adding_rows(t, height, only)
    if not fewer:
        return add_rows
    add_fewer = adding_stretch(t, tuple(fewer), only)

    @script
    def add_stretch(  # type: ignore[no-untyped-def]
        rows, columns, done, tile, row_panel, first, column_panel, start, count, there
    ):
        if there <= fewer[-1]:
            add_fewer(
                rows, columns, done, tile, row_panel, first, column_panel, start, count, there
            )
        else:
            add_rows(rows, columns, done, tile, row_panel, first, column_panel, start, count, there)

    return add_stretch


def adding_rows(t: Panels, height: int, only: bool) -> ScriptFunction:
    """The same for as many rows of a panel as `height` says."""
    lanes, vectors = t.lanes, t.vectors
    own = [(i, v * lanes) for i in range(height) for v in vectors]

    @script
    def add_rows(  # type: ignore[no-untyped-def]
        rows, columns, done, tile, row_panel, first, column_panel, start, count, there
    ):
        accumulators = register_tensor(t.wide, (height, t.width), init=0)
        if t.prefetches:
            ahead = t.ahead(column_panel, row_panel, start)
        for step in range(count):
            if t.prefetches:
                prefetch(t.ahead_at(columns, ahead, step), "L1")
            row = [t.column_groups(columns, column_panel, start + step, v) for v in vectors]
            for i in static(range(height)):
                each = t.row_group(rows, row_panel, i, first + step)
                for v in static(vectors):
                    kept = load(accumulators, i, v * lanes, lanes=lanes)
                    store(accumulators, i, v * lanes, t.added(kept, each, row[v]))
        # Apart from the tile: accumulators stay in registers only while every index is a constant.
        for place in static(own):
            found = load(accumulators, *place, lanes=lanes)
            before = 0 if only else load(done, tile, *place, lanes=lanes)
            store(done, tile, *place, found if only else before + found)

    return add_rows


def correcting(t: Panels) -> ScriptFunction:
    """A part of a kernel: takes off what tile 0 is too large by, its rows having been offset."""
    lanes, vectors = t.lanes, t.vectors

    @script
    def correct(columns, done, column_panel):  # type: ignore[no-untyped-def]
        excess = register_tensor(t.wide, (t.width,), init=0)
        for r in range(t.depth):
            for v in static(vectors):
                kept = load(excess, v * lanes, lanes=lanes)
                row = t.column_groups(columns, column_panel, r, v)
                store(excess, v * lanes, Dot(kept, t.sign(), row))
        for i in range(t.height):
            for j in vectorize(t.width):
                done[0, i, j] -= excess[j]

    return correct


def writing(t: Panels) -> ScriptFunction:
    """A part of a kernel: writes a tile of `done`, neighbours of the result one after the other."""
    p, wide = t.p, t.wide
    # Along the columns of the result, whichever of the tile they are.
    outer, inner = (t.width, t.height) if t.flip else (t.height, t.width)

    @script
    def write(bias, table, done, tile, c, row_panel, column_panel):  # type: ignore[no-untyped-def]
        z, top = t.placed(table, row_panel)
        left = column_panel % t.lane_tiles * t.width
        for first in range(outer):
            for second in vectorize(inner):
                i, j = (second, first) if t.flip else (first, second)
                at = t.place(z, top + i, left + j)
                value = done[tile, i, j]
                if p.bias is not None:
                    value += cast(get(bias, *p.bias_at(*at)), wide)
                if p.is_there(at[1], at[2]):
                    c.put(*p.c_at(*at), cast(value, p.c.dtype))

    return write
