"""Images dilated by a structure; `tf.nn.erosion2d` is the same of negated ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import padded, restored, second, spatial

MOST = 64
"""Places of a structure, each of which reads the image once."""


@tf("Dilation2D")
def dilation(
    x: Tensor, structure: Tensor, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Tensor:
    """The largest sum of each window of x[n, h, w, c] and structure[h, w, c], numbers only."""
    height, width, channels = structure.shape
    if not (isinstance(height, int) and isinstance(width, int) and height * width <= MOST):
        raise NotYet(f"a dilation by a structure of more than {MOST} places")
    if not x.dtype.is_float:
        raise NotYet(f"a dilation of {x.dtype.name}")
    steps, apart = spatial(strides, "NHWC"), spatial(rates, "NHWC")
    image, sides = padded(
        second(x, "NHWC"), padding, (), "NHWC", (height, width), steps, apart, -math.inf
    )
    image = ops.pad(image, [(0, 0), (0, 0), *sides], value=-math.inf)

    def term(place: tuple[int, int]) -> Tensor:
        part = image
        for axis, size in enumerate((height, width)):
            start, reach = place[axis] * apart[axis], (size - 1) * apart[axis]
            end = tidy(image.shape[axis + 2] - reach + start)
            part = ops.slice(part, axis + 2, start, end, steps[axis])
        own = ops.select(ops.select(structure, 0, place[0]), 0, place[1])
        return ops.add(part, ops.reshape(own, (1, channels, 1, 1)))

    places = product(range(height), range(width))
    return restored(reduce(ops.fmax, map(term, places)), "NHWC")
