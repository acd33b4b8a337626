"""Normalisations."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet_tf.converters.table import tf
from hidet_tf.converters.windows import restored, second


@tf("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor, *,
    epsilon: float, exponential_avg_factor: float, data_format: str, is_training: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Each channel normalised, by running statistics or in training by the batch's own.

    Then come the statistics, in training moved towards the batch's, and the same again for the
    gradient.
    """
    image = second(x, data_format)
    if not is_training:
        found = ops.batch_norm(image, mean, variance, scale, offset, eps=epsilon)
        return restored(ops.cast(found, x.dtype), data_format), mean, variance, mean, variance
    axes = (0, *range(2, x.ndim))
    wide = ops.cast(image, scale.dtype)
    own, spread = ops.mean(wide, axes), ops.var(wide, axes, correction=0)
    found = ops.batch_norm(image, own, spread, scale, offset, eps=epsilon)
    count = product([image.shape[axis] for axis in axes])
    ratio = ops.cast(ops.size_value(count, device=x.device), scale.dtype)
    unbiased = ops.multiply(spread, ops.divide(ratio, ops.maximum(ops.subtract(ratio, 1.0), 1.0)))
    moved = [
        fresh if exponential_avg_factor == 1 else towards(old, fresh, exponential_avg_factor)
        for old, fresh in ((mean, own), (variance, unbiased))
    ]
    return restored(ops.cast(found, x.dtype), data_format), *moved, own, spread


def towards(old: Tensor, fresh: Tensor, part: float) -> Tensor:
    """A statistic moved by a part of the way."""
    return ops.add(ops.multiply(old, 1 - part), ops.multiply(fresh, part))


@tf("LRN")
def local_response_norm(
    x: Tensor, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Tensor:
    """x over a power of the sum of squares of the channels around its own."""
    size = 2 * depth_radius + 1
    found = ops.local_response_norm(
        second(x, "NHWC"), size, alpha=alpha * size, beta=beta, bias=bias
    )
    return restored(found, "NHWC")


@tf("L2Loss")
def l2_loss(x: Tensor) -> Tensor:
    """Half the sum of squares."""
    return ops.multiply(ops.sum(ops.square(x)), 0.5)
