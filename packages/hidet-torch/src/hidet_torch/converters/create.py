"""Tensors out of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet.ops.tensors.create import Scalar
from hidet.types import DType, Size, i64
from hidet_torch.converters.rounding import rounded
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import number_type


@torch(aten.full.default)
def full(
    shape: Sequence[Size],
    value: Scalar,
    *,
    dtype: DType | None = None,
    device: str = "cpu",
    **_: Any,
) -> Tensor:
    """`value` everywhere."""
    return ops.full(
        tuple(shape), value, number_type(value) if dtype is None else dtype, device=device
    )


def filled(value: Scalar) -> Any:
    """The converter of an operator that takes a shape alone."""

    def convert(
        shape: Sequence[Size], *, dtype: DType | None = None, device: str = "cpu", **_: Any
    ) -> Tensor:
        """One value everywhere, by default in PyTorch's default type."""
        return full(shape, value, dtype=number_type(1.0) if dtype is None else dtype, device=device)

    return convert


def filled_like(value: Scalar) -> Any:
    """The converter of an operator that takes shape and type of a tensor."""

    def convert(
        x: Tensor, *, dtype: DType | None = None, device: str | None = None, **_: Any
    ) -> Tensor:
        """One value everywhere, of the type of x unless told otherwise."""
        return full_like(x, value, dtype=dtype, device=device)

    return convert


def filled_new(value: Scalar) -> Any:
    """The converter of a tensor's method that takes a shape."""

    def convert(
        x: Tensor,
        shape: Sequence[Size],
        *,
        dtype: DType | None = None,
        device: str | None = None,
        **_: Any,
    ) -> Tensor:
        """One value everywhere, of the type of x unless told otherwise."""
        return new_full(x, shape, value, dtype=dtype, device=device)

    return convert


@torch(aten.full_like.default)
def full_like(
    x: Tensor, value: Scalar, *, dtype: DType | None = None, device: str | None = None, **_: Any
) -> Tensor:
    """`value` everywhere, in the shape of x."""
    return new_full(x, x.shape, value, dtype=dtype, device=device)


@torch(aten.new_full.default)
def new_full(
    x: Tensor,
    shape: Sequence[Size],
    value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    **_: Any,
) -> Tensor:
    """`value` everywhere, of the type of x unless told otherwise."""
    return full(shape, value, dtype=dtype or x.dtype, device=device or x.device)


torch(aten.zeros.default)(filled(0))
torch(aten.ones.default)(filled(1))
torch(aten.zeros_like.default)(filled_like(0))
torch(aten.ones_like.default)(filled_like(1))
torch(aten.new_zeros.default)(filled_new(0))
torch(aten.new_ones.default)(filled_new(1))
# What is there before anything is written does not matter; zero costs least.
torch(aten.empty.memory_format)(filled(0))
torch(aten.empty_like.default)(filled_like(0))
torch(aten.new_empty.default)(filled_new(0))


@torch(aten.empty_strided.default, aten.empty_permuted.default)
def empty(shape: Sequence[Size], strides: Sequence[Size], **options: Any) -> Tensor:
    """Memory of some layout, which the importer sees to."""
    found: Tensor = filled(0)(shape, **options)
    return found


@torch(aten.scalar_tensor.default)
def scalar_tensor(
    value: Scalar, *, dtype: DType | None = None, device: str = "cpu", **_: Any
) -> Tensor:
    """A number as a 0-d tensor."""
    return full((), value, dtype=number_type(1.0) if dtype is None else dtype, device=device)


@torch(aten.arange.start_step)
def arange(
    start: Any,
    stop: Any,
    step: Any = 1,
    *,
    dtype: DType | None = None,
    device: str = "cpu",
    **_: Any,
) -> Tensor:
    """start, start + step, ... before `stop`; of symbolic numbers whole steps are counted."""
    of = dtype or number_type(1)
    numbers = (int, float)
    if all(isinstance(each, numbers) for each in (start, stop, step)):
        return ops.arange(start, stop, step, dtype, device=device)
    count = (stop - start + (step - 1)) // step
    if all(isinstance(each, numbers) for each in (start, step)):
        return ops.iota(count, start=start, step=step, dtype=of, device=device)
    steps = ops.multiply(ops.iota(count, dtype=i64, device=device), step)
    return ops.cast(ops.add(steps, start), of)


@torch(aten.fill.Scalar)
def fill(x: Tensor, value: Scalar) -> Tensor:
    """A number in every place of x."""
    return full_like(x, value)


@torch(aten.fill.Tensor)
def fill_tensor(x: Tensor, value: Tensor) -> Tensor:
    """A 0-d tensor in every place of x."""
    return ops.expand(rounded(value, x.dtype), x.shape)


@torch(aten.copy.default)
def copy(x: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """The source in the shape and type of x."""
    return ops.expand(rounded(source, x.dtype), x.shape)
