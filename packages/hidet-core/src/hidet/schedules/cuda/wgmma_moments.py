"""An epilogue with bias and residual that also writes normalisation statistics (sm_90a).

What is added is under way while a tile is summed up; a residual that is yet to be normed is when it
is added, in float32. Moments are those of the result as it is rounded; times the gain of its norm
it is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.lang import ScriptFunction, cast, f32, register_tensor, script, static, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import ROW_LANES, mma_c
from hidet.ops.handed_norm import RUN
from hidet.schedules.cuda.wgmma_statistics import moments_of
from hidet.schedules.product import Product
from hidet.target import WARP

BLOCK = 8
"""Columns of which four lanes have sums side by side, two each."""


def nearing(normed: bool) -> ScriptFunction:
    """A part of a kernel: (near, mean, scale, gain) to what is added of a residual."""

    @script
    def plain(near, mean, scale, gain):  # type: ignore[no-untyped-def]
        return cast(near, f32)

    @script
    def norm(near, mean, scale, gain):  # type: ignore[no-untyped-def]
        return (cast(near, f32) - mean) * scale * cast(gain, f32)

    return norm if normed else plain


@dataclass(frozen=True)
class WholeRows:
    """Parts of a kernel, for warpgroups that have the whole sums of a tile; `normed`: the residual
    is yet to be."""

    p: Product
    columns: int
    normed: bool

    @property
    def blocks(self) -> int:
        """In how many places a thread has two sums side by side, of each of its two rows."""
        return self.columns // BLOCK

    def bringing(self) -> ScriptFunction:
        """(residual, bias, residual_gain, near, shift, stretch, top, left). What will be added to
        a thread's sums is under way."""
        p, blocks, normed = self.p, self.blocks, self.normed

        @script
        def bring(  # type: ignore[no-untyped-def]
            residual, bias, residual_gain, near, shift, stretch, top, left
        ):
            lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
            row = top + warp * 16 + mma_c().task(lane, 0)[0]
            column = left + mma_c().task(lane, 0)[1]
            for block in static(range(blocks)):
                for half in static(range(2)):
                    for pair in vectorize(2):
                        at = p.c_at(0, row + half * 8, column + block * BLOCK + pair)
                        near[block, half, pair] = get(residual, *at)
                if p.bias is not None:
                    for pair in vectorize(2):
                        shift[block, pair] = get(bias, column + block * BLOCK + pair)
                if normed:
                    for pair in vectorize(2):
                        stretch[block, pair] = get(residual_gain, column + block * BLOCK + pair)

        return bring

    def adding(self) -> ScriptFunction:
        """(near, shift, stretch, mean, scale, sums). Sums become the result."""
        p, value_of = self.p, nearing(self.normed)
        places = [(b, h, e) for b in range(self.blocks) for h in range(2) for e in range(2)]

        @script
        def add(near, shift, stretch, mean, scale, sums):  # type: ignore[no-untyped-def]
            for block, half, pair in static(places):
                value = sums[block * 4 + half * 2 + pair]
                value += value_of(
                    near[block, half, pair], mean[half], scale[half], stretch[block, pair]
                )
                if p.bias is not None:
                    value += cast(shift[block, pair], f32)
                sums[block * 4 + half * 2 + pair] = value

        return add

    def telling(self) -> ScriptFunction:
        """(sums, moments, top, left). The statistics of the rounded result are written."""
        p, runs, within = self.p, self.columns // RUN, RUN // BLOCK
        places = [(b, h, e) for b in range(within) for h in range(2) for e in range(2)]
        find = moments_of(2, within * 2, 4)

        @script
        def tell(sums, moments, top, left):  # type: ignore[no-untyped-def]
            lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
            row = top + warp * 16 + mma_c().task(lane, 0)[0]
            for run in static(range(runs)):
                values = register_tensor(f32, (2, within * 2))
                for block, half, pair in static(places):
                    number = (run * within + block) * 4 + half * 2 + pair
                    values[half, block * 2 + pair] = cast(cast(sums[number], p.c.dtype), f32)
                found = register_tensor(f32, (2, 2))
                find(values, found)
                if ROW_LANES.task(lane)[1] == 0:
                    for below in static(range(2)):
                        for which in vectorize(2):
                            at = p.c_at(0, row + below * 8, left // RUN + run)
                            moments.put(*at, which, found[below, which])

        return tell

    def settling(self) -> ScriptFunction:
        """(near, shift, stretch, mean, scale, sums, moments, top, left). Both."""
        add, tell = self.adding(), self.telling()

        @script
        def settle(  # type: ignore[no-untyped-def]
            near, shift, stretch, mean, scale, sums, moments, top, left
        ):
            add(near, shift, stretch, mean, scale, sums)
            tell(sums, moments, top, left)

        return settle

    def weighing(self) -> ScriptFunction:
        """(gain, factor, left). What the result will be multiplied with is under way."""
        blocks = self.blocks

        @script
        def weigh(gain, factor, left):  # type: ignore[no-untyped-def]
            column = left + mma_c().task(threadIdx.x, 0)[1]
            for block in static(range(blocks)):
                for pair in vectorize(2):
                    factor[block, pair] = get(gain, column + block * BLOCK + pair)

        return weigh

    def scaling(self) -> ScriptFunction:
        """(factor, sums). The result becomes what it is times the gain."""
        places = [(b, h, e) for b in range(self.blocks) for h in range(2) for e in range(2)]

        @script
        def multiply(factor, sums):  # type: ignore[no-untyped-def]
            for block, half, pair in static(places):
                sums[block * 4 + half * 2 + pair] *= cast(factor[block, pair], f32)

        return multiply
