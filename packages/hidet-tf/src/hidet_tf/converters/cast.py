"""Element types: conversions, and bits read as another type."""

from __future__ import annotations

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf


@tf("Cast")
def cast(x: Tensor, *, DstT: DType, Truncate: bool) -> Tensor:
    """Each element as another type."""
    if Truncate:
        raise NotYet("a Cast that cuts bits off instead of rounding")
    return ops.cast(x, DstT)


@tf("Bitcast")
def bitcast(x: Tensor, *, type: DType) -> Tensor:
    """The bits of each element read as another type, which is as wide."""
    return ops.bitcast(x, type)
