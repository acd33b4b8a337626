"""Tensors out of nothing."""

from __future__ import annotations

from hidet import ops
from hidet.errors import NeedsValue
from hidet.frontend.importing.operands import integer, number, sizes_of
from hidet.frontend.importing.slices import range_between
from hidet.graph import Tensor
from hidet_tf.converters.table import tf

tf.rows({"ZerosLike": ops.zeros_like, "OnesLike": ops.ones_like, "Range": range_between})


@tf("Fill")
def fill(sizes: Tensor, value: Tensor) -> Tensor:
    """One value everywhere."""
    wanted = sizes_of(sizes)
    try:
        return ops.full(wanted, number(value), value.dtype, device=value.device)
    except NeedsValue:
        return ops.expand(value, wanted)


@tf("LinSpace")
def linspace(start: Tensor, stop: Tensor, count: Tensor) -> Tensor:
    """So many numbers, equally far apart, from one to another."""
    number_of = integer(count)
    step = ops.divide(ops.subtract(stop, start), max(number_of - 1, 1))
    places = ops.iota(number_of, dtype=start.dtype, device=start.device)
    return ops.where(
        ops.equal(places, max(number_of - 1, 1)), stop, ops.add(ops.multiply(places, step), start)
    )
