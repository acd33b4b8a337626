"""What becomes of each of the toy's operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet import ops
from hidet.frontend.importing.converters import Converters
from hidet.graph import Tensor, asarray
from hidet.graph.known import numbers

toy: Converters[str] = Converters("toy")

SAME = ("add", "subtract", "multiply", "divide", "maximum", "exp", "tanh", "relu", "sigmoid")
toy.rows({name: getattr(ops, name) for name in SAME})
toy.rows({"less": ops.less, "where": ops.where, "matmul": ops.matmul, "conv": ops.conv})
toy.rows({"sum": ops.sum, "mean": ops.mean, "max": ops.max, "argmax": ops.argmax})
toy.rows({"transpose": ops.permute, "slice": ops.slice, "sqrt": ops.sqrt})
toy.rows({"nonzero": ops.nonzero})
toy.rows({"max_pool": ops.max_pool, "avg_pool": ops.avg_pool})


@toy("constant")
def constant(*, value: Any) -> Tensor:
    """A tensor that the model holds."""
    return asarray(np.asarray(value))


@toy("softmax", since=1)
def softmax_of_the_rest(x: Tensor, *, axis: int) -> Tensor:
    """Along all axes from `axis` on."""
    rows = ops.reshape(x, (*x.shape[:axis], -1))
    return ops.reshape(ops.softmax(rows, axis), x.shape)


@toy("softmax", since=2)
def softmax(x: Tensor, *, axis: int) -> Tensor:
    """Along one axis."""
    return ops.softmax(x, axis)


@toy("to_int")
def to_int(x: Tensor) -> Tensor:
    """As int32."""
    return ops.cast(x, "int32")


@toy("to_float")
def to_float(x: Tensor) -> Tensor:
    """As float32."""
    return ops.cast(x, "float32")


@toy("concat")
def concat(*parts: Tensor, axis: int) -> Tensor:
    """One behind the other."""
    return ops.concat(parts, axis)


@toy("gather")
def gather(x: Tensor, index: Tensor, *, axis: int) -> Tensor:
    """The entries at `index` along an axis."""
    return ops.take(x, [*[None] * axis, index])


@toy("size")
def size(x: Tensor, *, axis: int) -> Tensor:
    """How long an axis is: a tensor like any other, whose element is known while importing."""
    return ops.size_value(x.shape[axis], device=x.device)


@toy("compress")
def compress(x: Tensor, mask: Tensor) -> Tensor:
    """The entries for which a mask holds: how many there are each call finds out."""
    return ops.compress(x, mask, 0)


@toy("size_from")
def size_from(x: Tensor) -> Tensor:
    """A whole number, which each call reads where shapes hold it."""
    return ops.size_value(ops.size_from(x), device=x.device)


@toy("reshape")
def reshape(x: Tensor, *sizes: Tensor) -> Tensor:
    """In a shape that the model computes."""
    return ops.reshape(x, [numbers(each)[0] for each in sizes])


@toy("expand")
def expand(x: Tensor, *sizes: Tensor) -> Tensor:
    """Repeated along axes of size 1, to a shape that the model computes."""
    return ops.expand(x, [numbers(each)[0] for each in sizes])
