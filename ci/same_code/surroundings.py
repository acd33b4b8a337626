"""What stands around an operator whose code is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hidet import ops
from hidet.graph import Op, Tensor, symbol
from hidet.ops.products.matmul import Linear
from hidet.ops.windows.conv import Conv
from hidet.types import f16


def gelu(y: Tensor) -> Tensor:
    """A function behind it, in half precision where it is one of integers."""
    return ops.gelu(y if y.dtype.is_float else ops.cast(y, f16))


def residual(y: Tensor) -> Tensor:
    """Another tensor that is added."""
    return y + beside(y)


def gate(y: Tensor) -> Tensor:
    """Every other column times the one after it."""
    return ops.slice(y, -1, 0, None, 2) * ops.slice(y, -1, 1, None, 2)


def permuted(y: Tensor) -> Tensor:
    """Columns as rows."""
    return ops.transpose(y, -2, -1)


def joined(y: Tensor) -> Tensor:
    """A part of a larger tensor."""
    return ops.concat([beside(y), y], -1)


def beside(y: Tensor) -> Tensor:
    """Another tensor of the same type."""
    return symbol(y.shape, y.dtype, device=str(y.device))


SURROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda y: y,
    "bias": lambda y: y,
    "gelu": gelu,
    "residual": residual,
    "gate": gate,
    "permuted": permuted,
    "joined": joined,
}
"""By name; a bias is one of the operator's own operands."""


def suits(op: Op, around: str) -> bool:
    """Whether an operator can have this around it."""
    if around == "bias":
        return isinstance(op, Linear | Conv) and op.results()[0].dtype.is_float
    if around == "gate":
        columns = op.results()[0].shape[-1]
        return isinstance(columns, int) and columns % 2 == 0
    if around == "permuted":
        return len(op.results()[0].shape) > 1
    return around != "plain"


def with_bias(op: Op) -> Op:
    """An operator with a bias."""
    assert isinstance(op, Linear | Conv)
    weight = op.weight
    return replace(op, bias=weight.with_(shape=weight.shape[:1]))
