"""What is made of neighbours in rows of sums of warpgroups, such as gates: half as many columns.

A thread has one element of what four lanes make of eight columns. With that of the next eight it
fills a register of `stmatrix`: so elements lie in another order in shared memory, in which those
who write rows of them turn them round.
"""

from __future__ import annotations

from hidet.lang import (
    ScriptFunction,
    address,
    cast,
    f32,
    register_tensor,
    script,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import stmatrix
from hidet.lang.memory import get, settle
from hidet.mapping.fragments import matrix_rows, mma_c
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.wgmma_staging import COLUMNS, LANES, ROWS
from hidet.target import WARP

MADE = COLUMNS // 2
"""Elements of a row that are made of what a warp writes at once."""
ACROSS = MADE // LANES
"""Lanes that write one row of these."""
PLACES = [v % 4 * 2 + v // 4 for v in range(LANES)]
"""Where in shared memory neighbours lie, eight at a time."""


def staging_pairs(p: Contraction, early: bool) -> ScriptFunction:
    """A part of a kernel, for warps: (sums, staged, bias, c, lane, warp, part, z, row, left). As
    `staging` of `wgmma_write.py`."""

    @script
    def stage(sums, staged, bias, c, lane, warp, part, z, row, left):  # type: ignore[no-untyped-def]
        for step in static(range(MADE // 16)):
            held = register_tensor(p.c.dtype, (2, 2, 2))
            for beside, which in static([(b, w) for b in range(2) for w in range(2)]):
                block = part * (COLUMNS // 8) + step * 4 + beside * 2 + which
                first = left + block * 8 + mma_c().task(lane, 0)[1]
                if p.bias is not None:
                    shift = register_tensor(f32, (2,))
                    for pair in vectorize(2):
                        at = p.bias_at(z, row, first + pair)
                        shift[pair] = cast(bias[block, pair] if early else get(bias, *at), f32)
                for half in static(range(2)):
                    even, odd = sums[block * 4 + half * 2], sums[block * 4 + half * 2 + 1]
                    if p.bias is not None:
                        even += shift[0]
                        odd += shift[1]
                    there = p.c_at(z, row + mma_c().task(lane, half, 0)[0], first)
                    held[beside, half, which] = settle(c, there, even, odd)
            column = step * 16 + matrix_rows().task(lane, 0)[1]
            stmatrix(
                address(staged, warp, matrix_rows().task(lane, 0)[0], column),
                address(held, 0, 0, 0),
                4,
            )

    return stage


def storing_pairs(p: Contraction) -> ScriptFunction:
    """A part of a kernel, for warps: (staged, c, lane, warp, z, row, column). As `storing`."""

    @script
    def store(staged, c, lane, warp, z, row, column):  # type: ignore[no-untyped-def]
        for step in unroll(ROWS * ACROSS // WARP):
            i, j = step * (WARP // ACROSS) + lane // ACROSS, lane % ACROSS * LANES
            lain, turned = register_tensor(p.c.dtype, LANES), register_tensor(p.c.dtype, LANES)
            for v in vectorize(LANES):
                lain[v] = staged[warp, i, j + v]
            for each, place in static(enumerate(PLACES)):
                turned[each] = lain[place]
            for v in vectorize(LANES):
                c.put(*p.c_at(z, row + i, column + (j + v) * 2), turned[v])

    return store
