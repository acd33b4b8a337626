"""Normalisation over trailing axes: layer norm and RMS norm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator
from hidet.compute.functions import rsqrt
from hidet.compute.sizes import agree_shape, spelled
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, apply_all, operator
from hidet.graph.dims import axes_of
from hidet.types import Size, TensorType, bf16, f16, f32, f64


def layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
    *, axes: tuple[int, ...] = (-1,), eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """`x` with zero mean and unit variance over `axes`, times `weight`, plus `bias`.

    `weight` and `bias` have the shape of those trailing axes; narrow floats are summed in float32.
    Source: Ba et al. 2016, arXiv 1607.06450.
    """
    return apply(LayerNorm, x, weight, bias, axes=axes_of(axes, x.ndim), eps=eps)


def moments(x: Tensor, axes: tuple[int, ...], eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """The mean over `axes` and one over the square root of variance + `eps`; axes stay, size 1.

    Both have the type in which they are summed: float32 for narrow floats.
    """
    mean, scale = apply_all(Moments, x, axes=axes_of(axes, x.ndim), eps=eps)
    return mean, scale


def rms_norm(
    x: Tensor, weight: Tensor | None = None, *, axes: tuple[int, ...] = (-1,), eps: float = 1e-6
) -> Tensor:
    """`x` / sqrt(mean(x * x) + eps) over `axes`, times `weight`.

    Source: Zhang and Sennrich 2019, arXiv 1910.07467.
    """
    return apply(RmsNorm, x, weight, axes=axes_of(axes, x.ndim), eps=eps)


def require_float(name: str, x: TensorType) -> None:
    """Raise unless the elements are floating-point."""
    if not x.dtype.is_float:
        raise DtypeMismatch(f"{name} does not take {x.dtype.name}")


def require_shape(name: str, operand: TensorType | None, shape: tuple[Size, ...]) -> None:
    """Raise unless an operand that is there has this shape."""
    if operand is not None and not agree_shape(operand.shape, shape):
        raise ShapeMismatch(
            f"{name} is {spelled(operand.shape)}, the normalised axes are {spelled(shape)}"
        )


@operator("layer_norm")
class LayerNorm(Op):
    """Mean and variance over the trailing `axes`, then scale and shift."""

    x: TensorType
    weight: TensorType | None
    bias: TensorType | None
    axes: tuple[int, ...]
    eps: float

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        require_float(self.name, self.x)
        inner = tuple(self.x.shape[a] for a in self.axes)
        require_shape("weight", self.weight, inner)
        require_shape("bias", self.bias, inner)
        return self.x

    def define(self, x: Grid, weight: Grid | None, bias: Grid | None) -> Grid:
        wide = x.cast(accumulator(x.dtype))
        centred = wide - wide.mean(self.axes)
        y: Grid = centred * rsqrt((centred * centred).mean(self.axes) + self.eps)
        y = y if weight is None else y * weight
        return (y if bias is None else y + bias).cast(x.dtype)

    def reference(self, x: Any, weight: Any, bias: Any) -> Any:
        centre = x.mean(self.axes, keepdims=True)
        y = (x - centre) / np.sqrt(x.var(self.axes, keepdims=True) + self.eps)
        return y * (1 if weight is None else weight) + (0 if bias is None else bias)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], f32[129], f32[129], (1,), 1e-5)
        yield cls(f16[2, 3, 64], None, None, (1, 2), 1e-3)
        yield cls(bf16[3, 33], bf16[33], None, (1,), 1e-5)
        yield cls(f64[4, 5], f64[5], f64[5], (1,), 1e-12)
        yield cls(f32[0, 5], f32[5], None, (1,), 1e-5)


@operator("moments")
class Moments(Op):
    """The mean, and one over the root of the variance, over `axes`."""

    x: TensorType
    axes: tuple[int, ...]
    eps: float

    factor: ClassVar[float] = 16

    def infer(self) -> tuple[TensorType, TensorType]:
        require_float(self.name, self.x)
        shape = tuple(1 if a in self.axes else size for a, size in enumerate(self.x.shape))
        each = accumulator(self.x.dtype)[shape]
        return each, each

    def define(self, x: Grid) -> tuple[Grid, Grid]:
        wide = x.cast(accumulator(x.dtype))
        mean = wide.mean(self.axes)
        centred = wide - mean
        return mean, rsqrt((centred * centred).mean(self.axes) + self.eps)

    def reference(self, x: Any) -> Any:
        mean = x.mean(self.axes, keepdims=True)
        return mean, (x.var(self.axes, keepdims=True) + self.eps) ** -0.5

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], (1,), 1e-5)
        yield cls(f16[2, 3, 64], (1, 2), 1e-3)


@operator("rms_norm")
class RmsNorm(Op):
    """Each element over the root of the mean square over `axes`, then scaled."""

    x: TensorType
    weight: TensorType | None
    axes: tuple[int, ...]
    eps: float

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        require_float(self.name, self.x)
        require_shape("weight", self.weight, tuple(self.x.shape[a] for a in self.axes))
        return self.x

    def define(self, x: Grid, weight: Grid | None) -> Grid:
        wide = x.cast(accumulator(x.dtype))
        y: Grid = wide * rsqrt((wide * wide).mean(self.axes) + self.eps)
        return (y if weight is None else y * weight).cast(x.dtype)

    def reference(self, x: Any, weight: Any) -> Any:
        y = x / np.sqrt(np.square(x).mean(self.axes, keepdims=True) + self.eps)
        return y if weight is None else y * weight

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], f32[129], (1,), 1e-6)
        yield cls(f16[2, 3, 64], None, (2,), 1e-5)
        yield cls(bf16[5, 16], bf16[16], (1,), 1e-5)
