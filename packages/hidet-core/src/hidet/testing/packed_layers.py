"""Linear layers of packed weights for tests, and how near to what they mean results have to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.types import TensorType, u8

UNIT = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def layer(x: TensorType, n: int, block: int, zero: bool = True, bias: bool = True) -> PackedLinear:
    """A layer on x[..., k] with n results."""
    blocks = -(-x.shape[-1] // block)
    packed, scale = u8[n, blocks * block // 2], x.dtype[n, blocks]
    return PackedLinear(
        x, packed, scale, u8[n, blocks] if zero else None, x.dtype[n] if bias else None, block
    )


def close(op: PackedLinear, arrays: Sequence[Any], found: Any) -> None:
    """The error is a few roundings of the products, which have either sign, and of the weights to
    the type of x."""
    x, packed, scale, zero, bias = op.arrange([np.asarray(each, np.float64) for each in arrays])
    weight = op.reference(np.eye(x.shape[-1]), packed, scale, zero, None)
    size = np.abs(x) @ np.abs(weight) + (0 if bias is None else np.abs(bias))
    error = np.abs(found.astype(np.float64) - op.reference(x, packed, scale, zero, bias))
    assert (error <= 4 * UNIT[op.x.dtype.short] * size).all()
