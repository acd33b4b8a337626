"""Windows multiplied in the plain way, where the lines of others would spoil them (`overlap.py`).

Pixels of a line beside the window are multiplied by zero, which makes NaN of an infinity or NaN. As
all of a window's columns read the same pixels, one of them tells. By then the lines may be those of
another tile: pixels come from x itself.
"""

from __future__ import annotations

from hidet.compute.sizes import numbers
from hidet.lang import ScriptFunction, cast, f32, script, static
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.schedules.cuda.convolution.overlap import Overlap
from hidet.target import WARP


def mending(p: Overlap, columns: int) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (x, taps, sums, image, first row). The sums of a warp's
    places over the pixels of their own windows."""
    (high, wide), (each,) = numbers(p.op.window), numbers((p.op.each,))
    owned = [
        (block, half, pair) for block in range(columns // 8) for half in (0, 1) for pair in (0, 1)
    ]

    @script
    def mend(a, taps, sums, z, top):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        row = top + threadIdx.x // WARP * 16 + mma_c().task(threadIdx.x % WARP, 0)[0]
        for v in static(range(columns // 2)):
            sums[v] = 0.0
        for down in range(high):
            for element in range(wide * each):
                across, channel = element // each, element % each
                number, pixel = p.pixel_at(across)
                line, at = down * p.window[1] + number, channel * p.pixels + pixel
                upper = cast(get(a, *p.pixel_of(z, row, down, across, channel)), f32)
                lower = cast(get(a, *p.pixel_of(z, row + 8, down, across, channel)), f32)
                for block, half, pair in static(owned):
                    tap = cast(taps[line, block * 8 + mma_c().task(lane, 0)[1] + pair, at], f32)
                    sums[block * 4 + half * 2 + pair] += (lower if half else upper) * tap

    return mend
