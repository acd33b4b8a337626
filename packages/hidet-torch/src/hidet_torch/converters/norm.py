"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hidet import ops
from hidet.graph import Tensor
from hidet.types import Size, u8
from hidet_torch.converters.table import NotComputed, aten, torch
from hidet_torch.converters.whole import RMS_NORM
from hidet_torch.memory.dtypes import wide


def trailing(shape: Sequence[Size]) -> tuple[int, ...]:
    """The last axes, as many as `shape` has sizes."""
    return tuple(range(-len(shape), 0))


@torch(aten.native_layer_norm.default)
def native_layer_norm(
    x: Tensor, shape: Sequence[Size], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, ...]:
    """Layer norm, and the mean and inverse deviation it divided by."""
    axes = trailing(shape)
    return ops.layer_norm(x, weight, bias, axes=axes, eps=eps), *ops.moments(x, axes, eps)


@torch(aten.native_group_norm.default)
def native_group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: Size,
    channels: Size,
    rest: Size,
    groups: int,
    eps: float,
) -> tuple[Tensor | NotComputed, ...]:
    """Group norm, and the mean and inverse deviation of each group."""
    y = ops.group_norm(x, groups, weight, bias, eps=eps)
    mean, scale = ops.moments(ops.reshape(x, (batch, groups, -1)), (2,), eps)
    return y, ops.squeeze(mean, 2), ops.squeeze(scale, 2)


@torch(aten._native_batch_norm_legit_no_training.default)
def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Batch norm by running statistics, and those where they are saved."""
    y = ops.batch_norm(x, mean, var, weight, bias, eps=eps)
    if x.device == "cpu":  # where PyTorch saves nothing
        nothing = ops.full((0,), 0, mean.dtype, device=x.device)
        return y, nothing, nothing
    return y, mean, ops.rsqrt(ops.add(var, eps))


@torch(aten._native_batch_norm_legit_functional.default)
def batch_norm_training(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Batch norm by the batch's statistics, those, and the running ones moved towards them."""
    if not training:
        return *batch_norm(x, weight, bias, mean, var, momentum, eps), mean, var
    y, own_mean, scale = batch_norm_alone(x, weight, bias, training, momentum, eps)
    _, unbiased = statistics(x, 1)
    moved = [
        ops.add(ops.multiply(old, 1 - momentum), ops.cast(ops.multiply(new, momentum), old.dtype))
        for old, new in ((mean, own_mean), (var, unbiased))
    ]
    return y, own_mean, scale, *moved


@torch(aten._batch_norm_with_update_functional.default)
def batch_norm_updated(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """The same, with memory besides that only a backward pass on a GPU reads."""
    y, own_mean, scale, *moved = batch_norm_training(
        x, weight, bias, mean, var, training=True, momentum=momentum, eps=eps
    )
    return y, own_mean, scale, ops.full((0,), 0, u8, device=x.device), *moved


@torch(aten._native_batch_norm_legit.no_stats)
def batch_norm_alone(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Batch norm by the batch's statistics, and those."""
    mean, var = statistics(x)
    y = ops.batch_norm(ops.cast(x, mean.dtype), mean, var, weight, bias, eps=eps)
    return ops.cast(y, x.dtype), mean, ops.rsqrt(ops.add(var, eps))


def statistics(x: Tensor, correction: float = 0) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel."""
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    values = ops.cast(x, wide(x.dtype))
    return ops.mean(values, axes), ops.var(values, axes, correction=correction)


@torch(aten._fused_rms_norm.default)
def fused_rms_norm(
    x: Tensor, shape: Sequence[Size], weight: Tensor | None = None, eps: float | None = None
) -> tuple[Tensor | NotComputed, ...]:
    """RMS norm, and what it multiplied by."""
    return rms_norm(x, shape, weight, eps), NotComputed("the saved statistics of RMS norm")


@torch(aten.rms_norm.default, RMS_NORM)
def rms_norm(
    x: Tensor, shape: Sequence[Size], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """RMS norm; eps is by default the spacing of the numbers it is computed in."""
    of = wide(x.dtype)
    small = float(np.finfo(of.numpy).eps) if eps is None else eps
    return ops.rms_norm(x, weight, axes=trailing(shape), eps=small)
