"""Shapes: reshaping, axes, parts, padding."""

from __future__ import annotations

from hidet import ops
from hidet.frontend.operands import sizes_of
from hidet.graph import Tensor
from hidet_tf.converters.table import tf


@tf("Identity", "StopGradient", "PreventGradient", "Snapshot")
def identity(x: Tensor) -> Tensor:
    """The operand itself."""
    return x


@tf("Reshape")
def reshape(x: Tensor, shape: Tensor) -> Tensor:
    """The same elements under another shape, in which -1 is what remains."""
    return ops.reshape(x, sizes_of(shape))
