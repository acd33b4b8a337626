"""Contractions on the CPU: both operands in panels, a tile of sums in vector registers.

Panels (`panel_layout.py`) hold what one tile reads in the order of reading, zero beyond the edge;
each is made once. Those of the operand that is usually a weight are made by a kernel of their own:
it runs before the first call if it is.
"""

from __future__ import annotations

from typing import Any

from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    vectorize,
)
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cpu.panel_layout import Panels, Registers
from hidet.schedules.cpu.panel_tiles import multiplying, writing
from hidet.target import Target


def panels(
    name: str, p: Contraction, target: Target, registers: Registers, unpacked: bool = False
) -> Module:
    """A contraction by panels: those of the weight, those of the other operand unless it stays
    `unpacked`, then tiles."""
    t = Panels(p, registers, target, unpacked=unpacked)
    batch: Any = p.batch
    row_tiles: Any = t.row_tiles
    lane_tiles: Any = t.lane_tiles
    row_panels, lane_panels, bias_type = t.row_panels, t.lane_panels, operand_type(p.bias, p.c)
    table_type = operand_type(t.table, p.c)
    over: Any = range if t.is_small else parallel

    with script_module():
        make_rows, make_columns = making_rows(t), making_columns(t)
        compute_tile = computing_tile(t)
        pack = packing(t, name)

        @script(
            a=p.a, b=p.b, bias=bias_type, table=table_type, rows=row_panels, columns=lane_panels,
            c=p.c,
        )  # fmt: skip
        def product(
            a: Global, b: Global, bias: Global, table: Global, rows: Global, columns: Global,
            c: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = name
            if t.weight_in_rows:
                for panel in over(batch * lane_tiles):
                    make_columns(a, b, columns, panel)
            if t.at_once:
                for panel in over(batch * row_tiles):
                    own = register_tensor(t.row_panel.dtype, t.row_panel.shape)
                    make_rows(a, b, table, own, panel, 0)
                    for tile in range(lane_tiles):
                        lane_panel = panel // row_tiles * lane_tiles + tile
                        compute_tile(bias, table, own, columns, c, panel, 0, lane_panel)
            else:
                if not (t.weight_in_rows or t.unpacked):
                    for panel in over(batch * row_tiles):
                        make_rows(a, b, table, rows, panel, panel)
                for number in over(batch * lane_tiles * row_tiles):
                    column_panel = number // row_tiles
                    row_panel = column_panel // lane_tiles * row_tiles + number % row_tiles
                    held = t.held(row_panel)
                    if not t.unpacked:
                        compute_tile(bias, table, rows, columns, c, row_panel, held, column_panel)
                    elif t.flip:
                        compute_tile(bias, table, b, columns, c, row_panel, held, column_panel)
                    else:
                        compute_tile(bias, table, a, columns, c, row_panel, held, column_panel)

    placing = [] if t.table is None else p.placing(name, t.height, target.kind)
    kernels = [*placing, pack, product]
    return assemble(name, kernels, names_of(p), ["c"], ["table", "rows", "columns"])


def computing_tile(t: Panels) -> ScriptFunction:
    """A part of a kernel: the tile of the result of a panel of rows, the one that is `held` there
    in `rows`, and one of columns."""
    multiply, write = multiplying(t), writing(t)

    @script
    def compute_tile(bias, table, rows, columns, c, row_panel, held, column_panel):  # type: ignore[no-untyped-def]
        if t.is_used(table, row_panel):
            first = None if t.is_one_stretch else 0
            done = register_tensor(t.wide, (1, t.height, t.width), init=first)
            if t.has_matrix(table, row_panel):
                met = t.meets(table, row_panel, column_panel)
                there = t.there(table, row_panel)
                multiply(rows, columns, done, held, met, there)
            write(bias, table, done, 0, c, row_panel, column_panel)

    return compute_tile


def packing(t: Panels, name: str) -> ScriptFunction:
    """The kernel that makes the panels of the weight."""
    p, make_rows, make_columns = t.p, making_rows(t), making_columns(t)
    over: Any = range if t.is_small else parallel

    @script(a=p.a, b=p.b, rows=t.row_panels, columns=t.lane_panels)
    def pack(a: Global, b: Global, rows: Global, columns: Global) -> None:
        attr.func_kind = "cpu_kernel"
        attr.func_name = f"{name}_pack"
        if t.weight_in_rows:
            for panel in over(t.row_matrices * t.row_tiles):
                make_rows(a, b, rows, rows, panel, panel)  # the weight's rows need no table
        else:
            for panel in over(t.matrices * t.lane_tiles):
                make_columns(a, b, columns, panel)

    return pack


def making_rows(t: Panels) -> ScriptFunction:
    """A part of a kernel: fills the panel of rows that lies in `rows` where `held` says."""
    group, depth, make_row = t.group, t.depth, making_row(t)
    k: Any = t.p.k

    @script
    def make_rows(a, b, table, rows, panel, held):  # type: ignore[no-untyped-def]
        if t.is_used(table, panel):
            z, top = t.placed(table, panel)
            if t.rows_along_k:
                for i in range(t.height):
                    make_row(a, b, rows, z, top, i, held)
                    for r in range(k, depth * group):
                        rows[held, i, r] = t.row_element(a, b, z, top + i, r)
            else:
                for r in range(t.depth):
                    for i in vectorize(t.height):
                        for each in static(range(group)):
                            element = t.row_element(a, b, z, top + i, r * group + each)
                            rows[held, r, i * group + each] = element

    return make_rows


def making_row(t: Panels) -> ScriptFunction:
    """A part of a kernel: fills one row of a panel, along k, as far as there are elements."""
    k: Any = t.p.k
    run: Any = t.p.run
    reach: Any = t.p.reach
    runs: Any = 1 if reach == run else reach // run

    @script
    def make_row(a, b, rows, z, top, i, held):  # type: ignore[no-untyped-def]
        for part in range(k // reach):
            # No variables for places: what divides them is simplified.
            if t.p.is_whole(top + i):
                for r in vectorize(reach):
                    element = t.row_element(a, b, z, top + i, part * reach + r)
                    rows[held, i, part * reach + r] = element
            else:
                for number in range(part * runs, (part + 1) * runs):
                    for r in vectorize(run):
                        element = t.row_element(a, b, z, top + i, number * run + r)
                        rows[held, i, number * run + r] = element

    return make_row


def making_columns(t: Panels) -> ScriptFunction:
    """A part of a kernel: fills a panel of columns."""
    group = t.group

    @script
    def make_columns(a, b, columns, panel):  # type: ignore[no-untyped-def]
        z, left = panel // t.lane_tiles, panel % t.lane_tiles * t.width
        if t.lanes_as_stored:
            for r in range(t.depth):
                for j in vectorize(t.width):
                    for each in static(range(group)):
                        element = t.lane_element(a, b, z, r * group + each, left + j)
                        columns[panel, r, j * group + each] = element
        else:
            for j in range(t.width):
                for r in range(t.depth):
                    for each in static(range(group)):
                        element = t.lane_element(a, b, z, r * group + each, left + j)
                        columns[panel, r, j * group + each] = element

    return make_columns
