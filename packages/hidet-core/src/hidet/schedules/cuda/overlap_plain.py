"""Windows beside a pixel that is no number, multiplied once more in the plain way (`overlap.py`).

Pixels of a line beside the window are multiplied by zero, which makes NaN of an infinity or NaN. As
all of a window's columns read the same pixels, one of them tells.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from hidet.compute.sizes import numbers
from hidet.lang import ScriptFunction, cast, f32, isfinite, script, static
from hidet.lang.cuda import threadIdx
from hidet.schedules.cuda.overlap import Overlap
from hidet.schedules.cuda.warpgroups import PIECE
from hidet.target import WARP, WARPGROUP


def mending(p: Overlap, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (lines, taps, sums, stage, first row of the tile). Rows
    whose first sum is not finite are summed over their own pixels alone."""
    (high, wide), (each,) = numbers(p.op.window), numbers((p.op.each,))
    owned = [
        (block * 4 + pair, block * 8 + pair) for block in range(columns // 8) for pair in (0, 1)
    ]

    @script
    def mend(lines, taps, sums, stage, first):  # type: ignore[no-untyped-def]
        thread = threadIdx.x % WARPGROUP
        top = first + threadIdx.x // WARPGROUP * PIECE + thread // WARP * 16 + thread % WARP // 4
        for half in static(range(2)):
            if not isfinite(sums[half * 2]):
                for each_sum, _ in static(owned):
                    sums[each_sum + half * 2] = 0.0
                for row in range(high):
                    for column in range(wide):
                        beside, pixel = p.pixel_at(column)
                        plane, line = p.line(row, beside)
                        for channel in range(each):
                            at = channel * p.pixels + pixel
                            value = cast(lines[stage, plane, top + half * 8 + line, at], f32)
                            for number, right in static(owned):
                                place = (row * p.window[1] + beside, thread % 4 * 2 + right, at)
                                sums[number + half * 2] += value * cast(taps[*place], f32)

    return mend
