"""Element types: conversions, and bits read as another type."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf


@tf("Cast")
def cast(x: Tensor, *, DstT: DType) -> Tensor:
    """Each element as another type."""
    return ops.cast(x, DstT)
