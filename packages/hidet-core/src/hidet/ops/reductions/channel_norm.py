"""Normalisation of channels: batch, group and instance norm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, elementwise, grid, reduce
from hidet.compute.functions import rsqrt
from hidet.compute.sizes import product, same
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, wrap
from hidet.ops.reductions.norm import require_float, require_shape
from hidet.ops.reductions.reduce import mean as average
from hidet.ops.reductions.statistics import var as variance
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.layout import as_laid, channels_axis, channels_second, laid, taken_apart
from hidet.types import TensorType, f16, f32


def batch_norm(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
    *, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel (axis 1) less its running `mean`, over the root of its running `var` + `eps`.

    Source: Ioffe and Szegedy 2015, arXiv 1502.03167 (inference).
    """
    return apply(BatchNorm, x, mean, var, weight, bias, eps=eps)


def batch_norm_training(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
    *, momentum: float = 0.9, eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm` by the moments of the batch itself, and the running `mean` and `var` after it.

    A running moment is `momentum` of what it was, the rest of the batch's; the variance is over all
    elements, not one less (ONNX BatchNormalization-15 in training).
    """
    axes = [axis for axis in range(x.ndim) if axis != 1]
    wide = cast(x, accumulator(x.dtype))
    now = (average(wide, axes), variance(wide, axes, correction=0))
    kept = [
        cast(cast(old, new.dtype) * momentum + new * (1 - momentum), old.dtype)
        for old, new in zip((mean, var), now, strict=True)
    ]
    return batch_norm(x, *now, weight, bias, eps=eps), kept[0], kept[1]


def group_norm(
    x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    *, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Zero mean and unit variance within each sample and each of `groups` runs of channels.

    `weight` and `bias` have one element for each channel. Source: Wu and He 2018, arXiv 1803.08494.
    """
    return apply(GroupNorm, x, weight, bias, groups=groups, eps=eps)


def instance_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Zero mean and unit variance within each sample and channel."""
    channels = x.shape[1]
    if not isinstance(channels, int):
        raise ShapeMismatch("instance_norm needs a known number of channels")
    return group_norm(x, channels, weight, bias, eps=eps)


def require_channels(name: str, x: TensorType) -> None:
    """Refuse what is no float tensor with an axis of channels beside that of samples."""
    require_float(name, x)
    if x.ndim < 2:
        raise ShapeMismatch(f"{name} takes at least 2 dimensions, not {x.ndim}")


@operator("batch_norm")
class BatchNorm(Op):
    """Channels (axis 1) shifted and scaled by given moments, then by weight and bias."""

    x: TensorType
    mean: TensorType
    var: TensorType
    weight: TensorType | None
    bias: TensorType | None
    eps: float
    channels_last: bool = False
    """Whether channels are the last axis instead."""

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        require_channels(self.name, self.x)
        for name in ("mean", "var", "weight", "bias"):
            require_shape(name, getattr(self, name), (self.x.shape[self.axis],))
        return self.x

    @property
    def axis(self) -> int:
        """Which axis runs along the channels."""
        return channels_axis(self.channels_last, self.x.ndim)

    def define(
        self, x: Grid, mean: Grid, var: Grid, weight: Grid | None, bias: Grid | None
    ) -> Grid:
        wide = accumulator(x.dtype)

        def element(*index: Expr) -> Expr:
            c = index[self.axis]
            scale: Expr = rsqrt(var[c].cast(wide) + self.eps)
            y = (x[index].cast(wide) - mean[c].cast(wide)) * scale
            y = y if weight is None else y * weight[c].cast(wide)
            return (y if bias is None else y + bias[c].cast(wide)).cast(x.dtype)

        return grid(x.shape, element)

    def reference(self, x: Any, mean: Any, var: Any, weight: Any, bias: Any) -> Any:
        y = np.moveaxis(x, self.axis, -1) - mean
        y = y / np.sqrt(var + self.eps) * (1 if weight is None else weight)
        return np.moveaxis(y + (0 if bias is None else bias), -1, self.axis)

    def examples(self, seed: int) -> list[Any]:
        x, mean, var, *rest = super().examples(seed)
        return [x, mean, np.abs(var) + np.asarray(0.5, var.dtype), *rest]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 5, 7, 3], f32[5], f32[5], f32[5], f32[5], 1e-5)
        yield cls(f16[3, 6], f16[6], f16[6], None, None, 1e-3)
        yield cls(f16[2, 3, 4], f32[3], f32[3], f32[3], None, 1e-3)
        yield cls(f16[2, 7, 3, 5], f16[5], f16[5], f16[5], f16[5], 1e-5, True)


@operator("group_norm")
class GroupNorm(Op):
    """Mean and variance within each sample and run of channels, then scale and shift by channel."""

    x: TensorType
    weight: TensorType | None
    bias: TensorType | None
    groups: int
    eps: float
    channels_last: bool = False
    """Whether channels are the last axis; else they are axis 1."""

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        require_channels(self.name, self.x)
        channels = self.x.shape[channels_axis(self.channels_last, self.x.ndim)]
        if not same(wrap(channels) % self.groups, 0):
            raise ShapeMismatch(f"{channels} channels do not make {self.groups} equal groups")
        require_shape("weight", self.weight, (channels,))
        require_shape("bias", self.bias, (channels,))
        return self.x

    def define(self, x: Grid, weight: Grid | None, bias: Grid | None) -> Grid:
        wide, last = accumulator(x.dtype), self.channels_last
        images, channels, places = taken_apart(last, x.shape)
        each = channels // self.groups
        inner = (*places, each) if last else (each, *places)
        count = wrap(product(inner)).cast(wide)

        def summed(value: Any) -> Grid:
            """Means of `value(n, group, element)` for each sample and group."""

            def mean(n: Expr, g: Expr) -> Expr:
                def element(*r: Expr) -> Expr:
                    c, where = (r[-1], r[:-1]) if last else (r[0], r[1:])
                    return value(n, g, x[laid(last, n, g * each + c, where)].cast(wide))  # type: ignore[no-any-return]

                return reduce(inner, element, "sum") / count

            return grid((images, self.groups), mean)

        mean = summed(lambda n, g, v: v)
        var = summed(lambda n, g, v: (v - mean[n, g]) * (v - mean[n, g]))
        scale = elementwise(lambda v: rsqrt(v + self.eps), var)

        def element(*index: Expr) -> Expr:
            n, c, _ = taken_apart(last, index)
            y = (x[index].cast(wide) - mean[n, c // each]) * scale[n, c // each]
            y = y if weight is None else y * weight[c].cast(wide)
            return (y if bias is None else y + bias[c].cast(wide)).cast(x.dtype)

        return grid(x.shape, element)

    def reference(self, x: Any, weight: Any, bias: Any) -> Any:
        x = channels_second(x, self.channels_last)
        flat = x.reshape(x.shape[0], self.groups, -1)
        centred = flat - flat.mean(2, keepdims=True)
        y = (centred / np.sqrt(flat.var(2, keepdims=True) + self.eps)).reshape(x.shape)
        column = (-1,) + (1,) * (x.ndim - 2)
        y = y if weight is None else y * weight.reshape(column)
        return as_laid(y if bias is None else y + bias.reshape(column), self.channels_last)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 6, 5, 3], f32[6], f32[6], 2, 1e-5)
        yield cls(f16[2, 4, 9], None, None, 4, 1e-5)
        yield cls(f32[3, 6], f32[6], None, 3, 1e-5)
        yield cls(f16[2, 5, 3, 6], f16[6], f16[6], 2, 1e-5, True)
