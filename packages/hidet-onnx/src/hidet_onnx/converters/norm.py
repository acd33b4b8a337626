"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import same_shape
from hidet.graph import Tensor
from hidet.types import DType, f32, f64
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element


@onnx("BatchNormalization", since=14)
def batch_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
    epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Each channel normalised, by running statistics or in training by the batch's own."""
    if not training_mode:
        return (ops.cast(ops.batch_norm(x, mean, var, scale, bias, eps=epsilon), x.dtype),)
    axes = (0, *range(2, x.ndim))
    own = ops.mean(x, axes)
    spread = ops.var(x, axes, correction=0)
    found = ops.batch_norm(x, own, spread, scale, bias, eps=epsilon)
    return found, moved(mean, own, momentum), moved(var, spread, momentum)


def moved(running: Tensor, current: Tensor, momentum: float) -> Tensor:
    """A running statistic moved towards the batch's."""
    fresh = ops.multiply(ops.cast(current, running.dtype), 1 - momentum)
    return ops.cast(ops.add(ops.multiply(running, momentum), fresh), running.dtype)


@onnx("BatchNormalization", since=9)
def batch_normalization_before_14(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
    epsilon: float = 1e-5, momentum: float = 0.9,
) -> Tensor:  # fmt: skip
    """By running statistics."""
    return ops.batch_norm(x, mean, var, scale, bias, eps=epsilon)


@onnx("BatchNormalization", since=1)
def batch_normalization_before_9(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
    consumed_inputs: Sequence[int] | None = None, epsilon: float = 1e-5, is_test: int = 0,
    momentum: float = 0.9, spatial: int = 1,
) -> Tensor:  # fmt: skip
    """By running statistics, those of each channel or, without `spatial`, of each element."""
    if spatial:
        return ops.batch_norm(x, mean, var, scale, bias, eps=epsilon)
    centred = ops.subtract(x, mean)
    return ops.add(ops.multiply(centred, ops.rsqrt(ops.add(var, epsilon)) * scale), bias)


@onnx("InstanceNormalization", since=1)
def instance_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5,
    consumed_inputs: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Zero mean and unit variance within each sample and channel."""
    return ops.instance_norm(x, scale, bias, eps=epsilon)


@onnx("GroupNormalization", since=21)
def group_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:  # fmt: skip
    """Zero mean and unit variance within each sample and group of channels."""
    return ops.group_norm(x, num_groups, scale, bias, eps=epsilon)


@onnx("GroupNormalization", since=18)
def group_normalization_before_21(
    x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5
) -> Tensor:
    """The same with a scale and a bias for each group."""
    apart = (x.shape[0], num_groups, -1)
    grouped = ops.reshape(ops.group_norm(x, num_groups, eps=epsilon), apart)
    column = (-1, 1)
    found = ops.add(ops.multiply(grouped, ops.reshape(scale, column)), ops.reshape(bias, column))
    return ops.reshape(found, x.shape)


@onnx("LayerNormalization", since=17)
def layer_normalization(
    x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1,
    epsilon: float = 1e-5, stash_type: int = 1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Zero mean and unit variance from `axis` on, then mean and inverse deviation."""
    axes = from_axis(x, axis)
    fits = same_shape(scale.shape, x.shape[axes[0] :]) and (
        bias is None or same_shape(bias.shape, scale.shape)
    )
    if fits:
        found = ops.layer_norm(x, scale, bias, axes=axes, eps=epsilon)
    else:
        found = ops.multiply(ops.layer_norm(x, axes=axes, eps=epsilon), scale)
        found = found if bias is None else ops.add(found, bias)
    stash = element(stash_type)
    mean, deviation = ops.moments(ops.cast(x, wider(x.dtype, stash)), axes, epsilon)
    return ops.cast(found, x.dtype), ops.cast(mean, stash), ops.cast(deviation, stash)


# Models that ONNX Runtime optimised have it in operator sets before ONNX had.
onnx.rows({"LayerNormalization": layer_normalization}, since=1)


def wider(of: DType, stash: DType) -> DType:
    """The type in which statistics are computed."""
    return f64 if f64 in (of, stash) else f32


def from_axis(x: Tensor, axis: int) -> tuple[int, ...]:
    """The axes from `axis` on."""
    return tuple(range(axis % x.ndim, x.ndim))


@onnx("RMSNormalization", since=23)
def rms_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """x over the root of its mean square from `axis` on, times `scale`."""
    axes = from_axis(x, axis)
    if same_shape(scale.shape, x.shape[axes[0] :]):
        return ops.cast(ops.rms_norm(x, scale, axes=axes, eps=epsilon), x.dtype)
    return ops.cast(ops.multiply(ops.rms_norm(x, axes=axes, eps=epsilon), scale), scale.dtype)


@onnx("LpNormalization", since=1)
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """x over its p-norm along an axis; zero where the norm is zero."""
    size = ops.norm(x, p, axis, keepdims=True)
    return ops.divide(x, ops.where(ops.equal(size, 0.0), ops.ones_like(size), size))


@onnx("MeanVarianceNormalization", since=9)
def mean_variance_normalization(x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    """x less its mean, over its standard deviation, which a small number keeps from zero."""
    over = tuple(axes)
    centred = ops.subtract(x, ops.mean(x, over, keepdims=True))
    deviation = ops.sqrt(ops.var(x, over, correction=0, keepdims=True))
    return ops.cast(ops.divide(centred, ops.add(deviation, 1e-9)), x.dtype)


@onnx("LRN", since=1)
def local_response_normalization(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    """x over a power of the sum of squares of `size` channels around its own."""
    return ops.local_response_norm(x, size, alpha=alpha, beta=beta, bias=bias)
