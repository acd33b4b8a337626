"""Tensors out of nothing, and what inference leaves as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.frontend.importing.operands import number, sizes_of
from hidet.frontend.importing.slices import range_between
from hidet.graph import Tensor
from hidet.types import boolean, f32, i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element


@onnx("Constant", since=1)
def constant_of(
    *, value: Tensor | None = None, value_float: float | None = None,
    value_floats: Sequence[float] | None = None, value_int: int | None = None,
    value_ints: Sequence[int] | None = None, value_string: str | None = None,
    value_strings: Sequence[str] | None = None, sparse_value: Any = None,
) -> Any:  # fmt: skip
    """The values that the model holds."""
    if value is not None:
        return value
    for whole, of in ((value_int, i64), (value_ints, i64)):
        if whole is not None:
            return constant(whole, of)
    for real in (value_float, value_floats):
        if real is not None:
            return constant(real, f32)
    raise BadArgument("a Constant without numbers")


@onnx("ConstantOfShape", since=9)
def constant_of_shape(shape: Tensor, *, value: Tensor | None = None) -> Tensor:
    """One value everywhere."""
    wanted = sizes_of(shape)
    if value is None:
        return ops.zeros(wanted, f32, device=here().device)
    return ops.full(wanted, number(value), value.dtype, device=here().device)


@onnx("Range", since=11)
def range_of(start: Tensor, limit: Tensor, delta: Tensor, *, stash_type: int = 1) -> Tensor:
    """start, start + delta, ... before the limit."""
    return range_between(start, limit, delta)


@onnx("EyeLike", since=9)
def eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    """Ones on a diagonal, zeros elsewhere."""
    rows, columns = x.shape
    row = ops.reshape(ops.iota(rows, device=x.device), (-1, 1))
    found = ops.equal(ops.add(row, k), ops.iota(columns, device=x.device))
    return ops.cast(found, x.dtype if dtype is None else element(dtype))


@onnx("Dropout", since=12)
def dropout(
    x: Tensor, ratio: Tensor | None = None, training_mode: Tensor | None = None, *,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """x as it is, and a mask that keeps all: so it is unless in training with a ratio above 0."""
    is_training = training_mode is not None and bool(number(training_mode))
    if is_training and (ratio is None or number(ratio) != 0):
        raise NotYet("dropout in training draws numpy's random numbers")
    return x, ops.ones(x.shape, boolean, device=x.device)


@onnx("Dropout", since=7)
def dropout_before_12(x: Tensor, *, ratio: float = 0.5) -> tuple[Tensor, Tensor]:
    """x as it is, and a mask that keeps all."""
    mask = boolean if here().version >= 10 else x.dtype
    return x, ops.ones(x.shape, mask, device=x.device)


@onnx("Dropout", since=1)
def dropout_before_7(
    x: Tensor, *, ratio: float = 0.5, is_test: int = 0,
    consumed_inputs: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """x as it is; in training, which is the default, models of that age cannot run."""
    if not is_test:
        raise NotYet("dropout in training draws random numbers")
    return x, ops.ones_like(x)
