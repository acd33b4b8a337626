"""Optimisers of the preview domain: one step for each of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import f32
from hidet_onnx.converters.table import training


def stepped(
    kinds: int, operands: Sequence[Tensor], step: Callable[..., tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """A step of each tensor: operands and results come by kind, all of one kind together."""
    count = len(operands) // kinds
    if count * kinds != len(operands):
        raise BadArgument(f"{len(operands)} operands are no {kinds} for each tensor")
    sets = [step(*operands[number::count]) for number in range(count)]
    return tuple(each[kind] for kind in range(len(sets[0])) for each in sets)


def real(x: Tensor) -> Tensor:
    """A counter as a number that can be divided by."""
    return x if x.dtype.is_float else ops.cast(x, f32)


@training("Adagrad", since=1)
def adagrad(
    rate: Tensor, turn: Tensor, *tensors: Tensor, decay_factor: float = 0.0,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then the sums of squares of their gradients."""
    slower = ops.divide(rate, ops.add(ops.multiply(real(turn), decay_factor), 1.0))

    def step(x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Tensor, Tensor]:
        whole = ops.add(ops.multiply(x, norm_coefficient), gradient)
        total = ops.add(squares, ops.square(whole))
        change = ops.divide(ops.multiply(whole, slower), ops.add(ops.sqrt(total), epsilon))
        return ops.cast(ops.subtract(x, change), x.dtype), total

    return stepped(3, tensors, step)


@training("Adam", since=1)
def adam(
    rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then the running means of their gradients, then those of their squares."""
    count = real(turn)
    root = ops.sqrt(ops.subtract(1.0, ops.pow(beta, count)))
    corrected = ops.divide(ops.multiply(rate, root), ops.subtract(1.0, ops.pow(alpha, count)))
    own = ops.where(ops.greater(count, 0.0), corrected, rate)

    def step(x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> tuple[Tensor, ...]:
        whole = ops.add(ops.multiply(x, norm_coefficient), gradient)
        first = ops.add(ops.multiply(mean, alpha), ops.multiply(whole, 1 - alpha))
        second = ops.add(ops.multiply(square, beta), ops.multiply(ops.square(whole), 1 - beta))
        change = ops.divide(ops.multiply(first, own), ops.add(ops.sqrt(second), epsilon))
        moved = ops.multiply(ops.subtract(x, change), 1 - norm_coefficient_post)
        return ops.cast(moved, x.dtype), first, second

    return stepped(4, tensors, step)


@training("Momentum", since=1)
def momentum(
    rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then their momenta."""
    if mode not in ("standard", "nesterov"):
        raise BadArgument(f"Momentum has no mode {mode!r}", help="use standard or nesterov")
    is_later = ops.cast(ops.greater(real(turn), 0.0), rate.dtype)
    later = ops.add(ops.multiply(is_later, beta - 1), 1.0)

    def step(x: Tensor, gradient: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        whole = ops.add(ops.multiply(x, norm_coefficient), gradient)
        fresh = ops.add(ops.multiply(kept, alpha), ops.multiply(whole, later))
        ahead = ops.add(whole, ops.multiply(fresh, alpha)) if mode == "nesterov" else fresh
        return ops.cast(ops.subtract(x, ops.multiply(rate, ahead)), x.dtype), fresh

    return stepped(3, tensors, step)
