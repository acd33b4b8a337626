"""A layer norm of rows, applied to what warpgroups have summed up of them (sm_90a).

(sum of x * w - mean * (sum of w)) * scale + bias. Means and scales are put together while the first
tiles are on their way (`wgmma_statistics.py`); what belongs to columns is under way as long as they
are summed up.
"""

from __future__ import annotations

from hidet.lang import ScriptFunction, script, static, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.handed_norm import NormedLinear


def bringing_columns(op: NormedLinear, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums_of, bias, weights, shift, left). What belongs to a
    thread's columns is under way."""

    @script
    def bring(sums_of, bias, weights, shift, left):  # type: ignore[no-untyped-def]
        column = left + mma_c().task(threadIdx.x, 0)[1]
        for block in static(range(columns // 8)):
            for pair in vectorize(2):
                weights[block, pair] = get(sums_of, column + block * 8 + pair)
            if op.bias is not None:
                for pair in vectorize(2):
                    shift[block, pair] = get(bias, column + block * 8 + pair)

    return bring


def norming(op: NormedLinear, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums, mean, scale, weights, shift)."""
    places = [(b, h, e) for b in range(columns // 8) for h in range(2) for e in range(2)]

    @script
    def norm(sums, mean, scale, weights, shift):  # type: ignore[no-untyped-def]
        for block, half, pair in static(places):
            value = sums[block * 4 + half * 2 + pair] - mean[half] * weights[block, pair]
            value *= scale[half]
            if op.bias is not None:
                value += shift[block, pair]
            sums[block * 4 + half * 2 + pair] = value

    return norm
