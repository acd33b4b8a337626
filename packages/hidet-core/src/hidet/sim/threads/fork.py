"""Independent iterations of a loop on the CPU: a SIMT group with a row for each iteration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hidet.errors import BadKernel
from hidet.ir.expr import Var, is_vector
from hidet.sim.memory import Pointer
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Mask, Value, varies

ITERATIONS = 1 << 16
"""Iterations that run at once; more are run in pieces, so that memory stays small."""


def forked(
    simt: SimtGroup, var: Var, extent: Value, mask: Mask, parallel: bool
) -> Iterator[tuple[SimtGroup, Mask]]:
    """SIMT groups that together run `var` = 0 .. extent - 1 for each row in the mask.

    Iterations of a parallel loop are threads for the race check, unless the loop is within another
    one.
    """
    last = int(np.where(mask, extent, 0).max()) if varies(extent) else int(extent)
    piece = max(1, ITERATIONS // simt.count)
    for start in range(0, last, piece):
        iterations = np.arange(start, min(last, start + piece))
        inner = widened(simt, len(iterations))
        index = np.tile(iterations, simt.count)
        inner.env[var] = index.astype(var.dtype.numpy)
        limit = np.repeat(extent, len(iterations)) if varies(extent) else extent
        live = np.repeat(mask, len(iterations)) & (index < limit)
        if parallel and len(simt.origin) == 1:
            inner.number = index.astype(np.int64) + 1
        yield inner, inner.everyone if live.all() else live
    if parallel and len(simt.origin) == 1:
        simt.clocks.blocks_met(np.array([0]))


def widened(simt: SimtGroup, iterations: int) -> SimtGroup:
    """The SIMT group with each row repeated; values are copies, memory is the same."""
    if len(simt.origin) == 1:
        simt.clocks.blocks_met(np.array([0]))
    inner = SimtGroup(
        run=simt.run,
        clocks=simt.clocks,
        team=simt.team,
        residents=simt.residents,
        slot=np.repeat(simt.slot, iterations),
        thread=np.repeat(simt.thread, iterations),
        warp=np.repeat(simt.warp, iterations),
        everyone=np.ones(simt.count * iterations, np.bool_),
        origin=(
            *(np.repeat(rows, iterations) for rows in simt.origin),
            np.arange(simt.count * iterations),
        ),
    )
    inner.number = np.repeat(simt.number, iterations)
    for name, value in simt.env.items():
        inner.env[name] = repeated(value, iterations, is_vector(name))
    for name, missing in simt.unset.items():
        inner.unset[name] = np.repeat(missing, iterations)
    inner.site = simt.site
    return inner


def repeated(value: Value, iterations: int, vector: bool) -> Value:
    """A value with each row repeated; as it is where all rows agree."""
    if isinstance(value, Pointer):
        return Pointer(value.buffer, repeated(value.offset, iterations, False))
    return np.repeat(value, iterations, axis=0) if varies(value, vector) else value


def joined(simt: SimtGroup, inner: SimtGroup) -> None:
    """After the iterations: a variable from outside may not have been changed inside."""
    for var, before in simt.env.items():
        after = inner.env[var]
        same = after is before or isinstance(after, Pointer) or len(simt.origin) == 0
        if not same and not unchanged(before, after, inner.count // simt.count):
            raise BadKernel(
                f"a parallel or vector loop changes {var.name}, which is declared outside of it",
                place=simt.run.place(inner.site),
                help="let each iteration write its own element, and combine them after the loop",
            )


def unchanged(before: Value, after: Value, iterations: int) -> bool:
    """Whether a variable still has the value it was given at the fork."""
    if not varies(before) and not varies(after):
        return bool(before == after) or before != before
    wide = np.repeat(before, iterations, axis=0) if varies(before) else before
    return bool(np.all((wide == after) | (wide != wide)))
