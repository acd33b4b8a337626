"""Steps of optimizers, as ai.onnx.preview.training defines them.

`rate` is the learning rate and `step` counts the steps so far: both are 0-d tensors.
"""

from __future__ import annotations

from hidet.graph import Tensor
from hidet.ops.elementwise.binary import pow
from hidet.ops.elementwise.compare import greater
from hidet.ops.elementwise.select import where
from hidet.ops.elementwise.unary import sqrt
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full_like


def adagrad(
    rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, squares: Tensor, *,
    decay: float = 0.0, epsilon: float = 1e-6, decay_of_weights: float = 0.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of Adagrad: the new `x`, and the sum of squared gradients.

    Source: Adagrad-1; Duchi et al. 2011.
    """
    falling = rate / (cast(step, x.dtype) * decay + 1.0)
    whole = x * decay_of_weights + gradient
    total = squares + whole * whole
    return x - falling * whole / (sqrt(total) + epsilon), total


def adam(
    rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, momentum: Tensor, squares: Tensor, *,
    alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-8, decay_of_weights: float = 0.0,
    decay_after: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """One step of Adam: the new `x`, and the running means of gradients and of their squares.

    From the second step on their bias to zero is taken out. Source: Adam-1; Kingma and Ba 2014.
    """
    whole = x * decay_of_weights + gradient
    mean = momentum * alpha + whole * (1 - alpha)
    square = squares * beta + whole * whole * (1 - beta)
    count = cast(step, x.dtype)
    bias = sqrt(1.0 - pow(full_like(count, beta), count)) / (
        1.0 - pow(full_like(count, alpha), count)
    )
    fitted = rate * where(greater(step, 0), bias, 1.0)
    moved = x - fitted * (mean / (sqrt(square) + epsilon))
    return moved * (1 - decay_after), mean, square


def momentum_step(
    rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, momentum: Tensor, *,
    alpha: float, beta: float, decay_of_weights: float = 0.0, nesterov: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of momentum: the new `x`, and alpha · momentum + beta · gradient.
    In the first step beta is 1.

    Source: ONNX Momentum-1.
    """
    whole = x * decay_of_weights + gradient
    first = where(greater(step, 0), full_like(cast(step, x.dtype), beta), 1.0)
    moving = momentum * alpha + first * whole
    return x - rate * (whole + moving * alpha if nesterov else moving), moving
