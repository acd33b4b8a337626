"""A convolution with its channels last, and what it saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hidet import ops
from hidet.compute.sizes import same
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.ops.windows.conv import Conv
from hidet.types import TensorType

Saving: TypeAlias = Callable[[Op, Op, Sequence[TensorType]], float]
"""The seconds that the second of two operators saves, for which these tensors are written first,
each by a kernel more; minus infinity where one of them has no schedule."""


def no_saving(op: Op, other: Op, written: Sequence[TensorType]) -> float:
    """Where nothing is known of the time that operators take."""
    return float("-inf")


def convolved(image: Tensor, taps: Tensor, shift: Tensor | None, **how: Any) -> Tensor:
    """A convolution with channels last: a linear layer where it can be one."""
    made = ops.conv(image, taps, shift, channels_last=True, **how)
    if not is_linear(operator_of(made)):
        return made
    matrix = ops.reshape(taps, (taps.shape[0], taps.shape[-1]))
    dtype = how.get("dtype")
    if dtype is None:
        return ops.linear(image, matrix, shift)
    found = ops.matmul(image, matrix, transpose_b=True, dtype=dtype)
    return found if shift is None else found + ops.cast(shift, found.dtype)


def turned(of: TensorType) -> TensorType:
    """The type of an image or a weight with its channels last."""
    n, channels, *places = of.shape
    return of.with_(shape=(n, *places, channels))


def attributes_of(op: Conv) -> dict[str, Any]:
    """What a convolution is told beside its operands and where channels are."""
    names = ("stride", "padding", "dilation", "groups", "dtype")
    return {name: getattr(op, name) for name in names}


def operator_of(x: Tensor) -> Any:
    """What computes a tensor."""
    assert x.trace is not None
    return x.trace[0].op


def is_linear(op: Conv) -> bool:
    """Whether each place of the result is a matrix times the same place of x."""
    return op.groups == 1 and all(
        same(window, 1) and step == 1 and around == (0, 0)
        for window, step, around in zip(op.window, op.stride, op.padding, strict=True)
    )
