"""Creation: constants, ranges, and Python numbers beside tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid
from hidet.compute.sizes import numbers, tidy
from hidet.errors import BadArgument
from hidet.graph import Op, Tensor, apply, make_node, operator
from hidet.ir.expr import Const, Expr, Var, constant, wrap
from hidet.ir.node import Node
from hidet.ir.walk import rebuild
from hidet.ops.tensors.shape import expand
from hidet.types import DType, Size, TensorType, boolean, dtype, f16, f32, f64, i32, i64

Number = int | float | bool
"""A Python number beside tensors."""
Scalar = Number | Expr
"""What an element may be made of: a Python number, or a size that only a call tells."""
CONVERSION = "hidet.asarray(...) makes a tensor of arrays, lists and other libraries' tensors"
"""What to do where an operand is neither."""


def full(
    shape: Size | Sequence[Size], value: Scalar, dtype: Any = f32, *, device: str = "cpu"
) -> Tensor:
    """A tensor filled with `value`; a 1-d shape may be given as its size alone."""
    wanted = (shape,) if isinstance(shape, int | Expr) else tuple(shape)
    value = number(value)
    if isinstance(value, Expr):
        return expand(size_value(value, dtype, device=device), wanted)
    return apply(Full, shape=wanted, value=value, dtype=element_type(dtype), device=device)


def zeros(shape: Size | Sequence[Size], dtype: Any = f32, *, device: str = "cpu") -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype, device=device)


def ones(shape: Size | Sequence[Size], dtype: Any = f32, *, device: str = "cpu") -> Tensor:
    """A tensor of ones."""
    return full(shape, 1, dtype, device=device)


def full_like(x: Tensor, value: Number, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """A tensor filled with `value`, with the shape of `x`, and its type and device by default."""
    of = x.dtype if dtype is None else dtype
    return full(x.shape, value, of, device=x.device if device is None else device)


def zeros_like(x: Tensor, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """A tensor of zeros, as `full_like`."""
    return full_like(x, 0, dtype, device=device)


def ones_like(x: Tensor, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """A tensor of ones, as `full_like`."""
    return full_like(x, 1, dtype, device=device)


def linspace(
    start: Number, stop: Number, num: int, dtype: Any = f32, *, device: str = "cpu"
) -> Tensor:
    """`num` numbers, equally far apart, from `start` to `stop`, which is the last one."""
    if num < 1:
        raise BadArgument(f"linspace of {num} numbers")
    step = (stop - start) / max(num - 1, 1)
    found: Tensor = (arange(0, num, dtype=f64, device=device) * step + start).astype(dtype)
    return found


def arange(
    start: Number, stop: Number | None = None, step: Number = 1, dtype: Any = None,
    *, device: str = "cpu",
) -> Tensor:  # fmt: skip
    """start, start + step, ... below (for a negative step above) `stop`; one argument is `stop`."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise BadArgument("the step of arange is 0")
    count = max(0, int(np.ceil((last - first) / step)))
    whole = all(isinstance(each, int) for each in (first, last, step))
    of = element_type(dtype) if dtype is not None else (i64 if whole else f32)
    return apply(Arange, start=first, step=step, count=count, dtype=of, device=device)


def iota(
    count: Size, *, start: Number = 0, step: Number = 1, dtype: Any = i64, device: str = "cpu"
) -> Tensor:
    """`count` numbers from `start` on, `step` apart; `count` may be symbolic."""
    of = element_type(dtype)
    return apply(Arange, start=start, step=step, count=tidy(count), dtype=of, device=device)


def size_value(value: Size, dtype: Any = i64, *, device: str = "cpu") -> Tensor:
    """A size, symbolic or not, as a 0-d tensor."""
    return apply(SizeValue, value=value, dtype=element_type(dtype), device=device)


def scalar(value: Scalar, like: Tensor) -> Tensor:
    """A number, or a size, as a 0-d tensor to be used beside `like`: a node, never computed alone.

    Beside narrow floats it is float32, so that it is not rounded before the computation.
    """
    value = number(value)
    of = scalar_type(value, like.dtype)
    wide = f32 if of.is_float and of is not f64 else of
    if isinstance(value, Expr):
        return make_node(SizeValue, value=value, dtype=wide, device=like.device).outputs[0]
    node = make_node(Full, shape=(), value=value, dtype=wide, device=like.device)
    return node.outputs[0]


def number(value: Any) -> Scalar:
    """A number of Python's or numpy's, or a size; BadArgument for anything else."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, int | float | Expr):
        return plain
    raise BadArgument(
        f"a tensor or a number was expected, not {type(value).__name__}",
        help=CONVERSION,
    )


def scalar_type(value: Scalar, like: DType) -> DType:
    """The type of a tensor of type `like` combined with a Python number, as PyTorch has it."""
    value = number(value)
    if isinstance(value, bool):
        return like
    if isinstance(value, int | Expr):
        return i64 if like.is_bool else like
    return like if like.is_float else f32


def element_type(spelling: Any) -> DType:
    """`hidet.types.dtype`, under a name that no argument hides."""
    return dtype(spelling)


@operator("full")
class Full(Op):
    """One value everywhere."""

    shape: tuple[Size, ...]
    value: Number
    dtype: DType

    def infer(self) -> TensorType:
        return self.dtype[self.shape]

    def define(self) -> Grid:
        return grid(self.shape, lambda *index: constant(self.value, self.dtype))

    def reference(self) -> Any:
        return np.full(numbers(self.shape), self.value)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls((3, 5), 1.5, f16)
        yield cls((), 7, i32)
        yield cls((2, 0), True, boolean)
        yield cls((4,), float("-inf"), f32)


@operator("size_value")
class SizeValue(Op):
    """A size as a number; computed in 64 bits, which products of sizes may need."""

    value: Size
    dtype: DType

    def infer(self) -> TensorType:
        return self.dtype[()]

    def define(self) -> Grid:
        return grid((), lambda: rebuild(wrap(self.value), wide_leaf).cast(self.dtype))

    def reference(self) -> Any:
        (value,) = numbers((self.value,))
        return np.asarray(value)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(7, i64)
        yield cls(300, f16)
        yield cls(0, boolean)


def wide_leaf(e: Node) -> Node:
    """Symbols and constants of a size in 64 bits, which whatever is made of them then has too."""
    if isinstance(e, Const) and e.dtype.is_integer:
        return constant(e.value, i64)
    return e.cast(i64) if isinstance(e, Var) else e


@operator("arange")
class Arange(Op):
    """Numbers from `start` on, `step` apart."""

    start: Number
    step: Number
    count: Size
    dtype: DType

    def infer(self) -> TensorType:
        return self.dtype[self.count]

    def define(self) -> Grid:
        wide = i64 if self.dtype.is_integer else f64 if self.dtype is f64 else f32

        def element(i: Expr) -> Expr:
            steps = i.cast(wide) * constant(self.step, wide)
            return (steps + constant(self.start, wide)).cast(self.dtype)

        return grid((self.count,), element)

    def reference(self) -> Any:
        return self.start + self.step * np.arange(*numbers((self.count,)))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(0, 1, 13, i64)
        yield cls(3, -2, 7, i32)
        yield cls(0.5, 0.25, 9, f32)
        yield cls(1, 1, 0, f16)
