"""Optimisers of the preview domain: one step for each of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
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


@training("Adagrad", since=1)
def adagrad(
    rate: Tensor, iteration: Tensor, *tensors: Tensor, decay_factor: float = 0.0,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then the sums of squares of their gradients."""
    step = partial(
        ops.adagrad, rate, iteration, decay=decay_factor, epsilon=epsilon,
        decay_of_weights=norm_coefficient,
    )  # fmt: skip
    return stepped(3, tensors, step)


@training("Adam", since=1)
def adam(
    rate: Tensor, iteration: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then the running means of their gradients, then those of their squares."""
    step = partial(
        ops.adam, rate, iteration, alpha=alpha, beta=beta, epsilon=epsilon,
        decay_of_weights=norm_coefficient, decay_after=norm_coefficient_post,
    )  # fmt: skip
    return stepped(4, tensors, step)


@training("Momentum", since=1)
def momentum(
    rate: Tensor, iteration: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Tensors, then their momenta."""
    if mode not in ("standard", "nesterov"):
        raise BadArgument(f"Momentum has no mode {mode!r}", help="use standard or nesterov")
    step = partial(
        ops.momentum_step, rate, iteration, alpha=alpha, beta=beta,
        decay_of_weights=norm_coefficient, nesterov=mode == "nesterov",
    )  # fmt: skip
    return stepped(3, tensors, step)
