"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator
from hidet.compute.functions import exp, log
from hidet.errors import DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axis_of
from hidet.ops.elementwise.compare import equal
from hidet.ops.reductions.reduce import argmax
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, zeros
from hidet.ops.tensors.shape import reshape
from hidet.types import TensorType, bf16, f16, f32, f64, i64


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`, without overflow."""
    return apply(Softmax, x, axis=axis_of(axis, x.ndim))


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log(softmax(x)) along `axis`, precise where softmax is near zero."""
    return apply(LogSoftmax, x, axis=axis_of(axis, x.ndim))


@family
class AlongAxis(Op):
    """Floating-point elements that one axis ties together."""

    x: TensorType
    axis: int

    within: ClassVar[tuple[float, float]] = (-30, 30)
    factor: ClassVar[float] = 32

    def infer(self) -> TensorType:
        if not self.x.dtype.is_float:
            raise DtypeMismatch(f"{self.name} does not take {self.x.dtype.name}")
        return self.x

    def axes(self) -> tuple[int, ...]:
        """The axis, if the tensor has one."""
        return (self.axis,) if self.x.ndim else ()

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 129], 1)
        yield cls(f16[3, 33, 5], 1)
        yield cls(bf16[2, 64], 1)
        yield cls(f64[9], 0)
        yield cls(f32[()], 0)
        yield cls(f32[0, 4], 1)


def hardmax(x: Tensor, axis: int = -1) -> Tensor:
    """1 at the first of the greatest elements along `axis`, 0 elsewhere, in the type of `x`."""
    where = axis_of(axis, x.ndim)
    place = iota(x.shape[where], device=x.device) if x.ndim else zeros((), i64, device=x.device)
    shape = tuple(x.shape[where] if each == where else 1 for each in range(x.ndim))
    found = argmax(x, where, keepdims=True)
    return cast(equal(reshape(place, shape), found), x.dtype)


@operator("softmax")
class Softmax(AlongAxis):
    """exp(x) / sum(exp(x)) along `axis`, without overflow."""

    def define(self, x: Grid) -> Grid:
        wide = x.cast(accumulator(x.dtype))
        powers = exp(wide - wide.max(self.axes()))
        return (powers / powers.sum(self.axes())).cast(x.dtype)

    def reference(self, x: Any) -> Any:
        powers = np.exp(x - x.max(self.axes(), keepdims=True, initial=-np.inf))
        return powers / powers.sum(self.axes(), keepdims=True)


@operator("log_softmax")
class LogSoftmax(AlongAxis):
    """The logarithm of softmax along `axis`."""

    def define(self, x: Grid) -> Grid:
        wide = x.cast(accumulator(x.dtype))
        shifted = wide - wide.max(self.axes())
        return (shifted - log(exp(shifted).sum(self.axes()))).cast(x.dtype)

    def reference(self, x: Any) -> Any:
        shifted = x - x.max(self.axes(), keepdims=True, initial=-np.inf)
        return shifted - np.log(np.exp(shifted).sum(self.axes(), keepdims=True))
