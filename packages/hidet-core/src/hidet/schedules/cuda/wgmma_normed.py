"""A layer norm of rows, applied to what warpgroups have summed up of them (sm_90a).

(sum of x * w - mean * (sum of w)) * scale + bias. The four lanes that have sums of a row share the
moments of its runs, and put them together (Chan et al. 1983) while the first tiles are on their
way; what belongs to columns is under way as long as they are summed up.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from hidet.lang import (
    ScriptFunction,
    cdiv,
    f32,
    register_tensor,
    rsqrt,
    script,
    static,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.ops.handed_norm import RUN, NormedLinear
from hidet.schedules.cuda.wgmma_moments import across
from hidet.schedules.product import Product
from hidet.target import WARP

SHARING = 4
"""Lanes that have sums of one row."""


def held_shape(op: NormedLinear) -> tuple[int, int, int]:
    """The shape in registers of the moments that a thread has of its two rows."""
    return 2, cdiv(op.moments.shape[-2], SHARING), 2


def bringing_moments(op: NormedLinear, p: Product) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (moments, held, top). Those of a thread's share of runs;
    zeros where there are fewer."""
    each = held_shape(op)[1]

    @script
    def bring(moments, held, top):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        row = top + warp * 16 + lane // 4
        for half, turn in static([(h, t) for h in range(2) for t in range(each)]):
            for which in vectorize(2):
                at = p.c_at(0, row + half * 8, turn * SHARING + lane % SHARING)
                held[half, turn, which] = get(moments, *at, which)

    return bring


def combining_moments(op: NormedLinear) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (held, mean, scale). Of a thread's two rows."""
    each, runs = held_shape(op)[1], op.moments.shape[-2]
    add = across(2, SHARING)

    @script
    def combine(held, mean, scale):  # type: ignore[no-untyped-def]
        total = register_tensor(f32, (2,), init=0)
        for half, turn in static([(h, t) for h in range(2) for t in range(each)]):
            total[half] += held[half, turn, 0]
        add(total)
        for half in static(range(2)):
            mean[half] = total[half] * (1 / runs)
            total[half] = 0.0
        for half, turn in static([(h, t) for h in range(2) for t in range(each)]):
            away = held[half, turn, 0] - mean[half]
            if turn * SHARING + threadIdx.x % SHARING < runs:
                total[half] += held[half, turn, 1] + away * away * RUN
        add(total)
        for half in static(range(2)):
            scale[half] = rsqrt(total[half] * (1 / (runs * RUN)) + op.eps)

    return combine


def bringing_columns(op: NormedLinear, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (sums_of, bias, weights, shift, left). What belongs to a
    thread's columns is under way."""

    @script
    def bring(sums_of, bias, weights, shift, left):  # type: ignore[no-untyped-def]
        column = left + threadIdx.x % 4 * 2
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
