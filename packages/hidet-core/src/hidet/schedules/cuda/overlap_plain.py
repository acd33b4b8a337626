"""Windows beside a pixel that is no number, multiplied once more in the plain way (`overlap.py`).

Pixels of a line beside the window are multiplied by zero, which makes NaN of an infinity or NaN. As
all of a window's columns read the same pixels, one of them tells. By then the lines may be those of
another tile: pixels come from x itself.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from hidet.compute.sizes import numbers
from hidet.lang import ScriptFunction, cast, f32, isfinite, script, static
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.schedules.cuda.overlap import Overlap
from hidet.target import WARP


def mending(p: Overlap, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (x, taps, sums, image, first row). Rows whose first sum
    is not finite are summed over their own pixels alone."""
    (high, wide), (each,) = numbers(p.op.window), numbers((p.op.each,))
    owned = [
        (block * 4 + pair, block * 8 + pair) for block in range(columns // 8) for pair in (0, 1)
    ]

    @script
    def mend(a, taps, sums, z, top):  # type: ignore[no-untyped-def]
        lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
        for half in static(range(2)):
            if not isfinite(sums[half * 2]):
                for own, _ in static(owned):
                    sums[own + half * 2] = 0.0
                line = top + warp * 16 + half * 8 + lane // 4
                for row in range(high):
                    for column in range(wide):
                        number, pixel = p.pixel_at(column)
                        for channel in range(each):
                            at = channel * p.pixels + pixel
                            found = get(a, *p.pixel_of(z, line, row, column, channel))
                            for sum_, right in static(owned):
                                place = (row * p.window[1] + number, lane % 4 * 2 + right, at)
                                sums[sum_ + half * 2] += cast(found, f32) * cast(taps[*place], f32)

    return mend
