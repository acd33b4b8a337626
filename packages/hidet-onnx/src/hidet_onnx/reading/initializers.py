"""Tensors of a model file as numpy arrays, checked before any memory is taken."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from hidet.errors import BadArgument
from hidet.frontend.importing.limits import Limits
from hidet_onnx.dtypes import is_text, numpy_type, spelled
from hidet_onnx.reading.external import Folder

ALIGNMENT = 64
"""Where constants start: kernels load whole vectors."""


def array_of(tensor: TensorProto, folder: Folder, limits: Limits) -> np.ndarray[Any, Any]:
    """The values of a tensor, in the file's memory if they lie there as they are needed.

    BadArgument names the tensor if dimensions and data do not fit together.
    """
    shape = shape_of(tensor, limits)
    kind = numpy_type(tensor.data_type)
    if tensor.data_location == TensorProto.EXTERNAL:
        raw: Any = folder.map(tensor)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data
    else:
        return from_fields(tensor, shape)
    if is_text(tensor.data_type):
        raise BadArgument(f"the strings of {tensor.name!r} are given as bytes")
    bits = bits_of(tensor.data_type, kind)
    expected = -(-prod(shape) * bits // 8)
    if len(raw) != expected:
        raise BadArgument(
            f"{tensor.name!r} is {spelled(tensor.data_type)}{list(shape)}, which takes {expected} "
            f"bytes, but has {len(raw)}"
        )
    if bits < 8:
        return packed(tensor, raw)
    return aligned(np.frombuffer(raw, kind).reshape(shape))


def dense_array(sparse: SparseTensorProto, folder: Folder, limits: Limits) -> np.ndarray[Any, Any]:
    """The values of a sparse tensor and the zeros between them.

    Positions are numbers in row-major order, or rows of one number for each axis.
    """
    name, shape = sparse.values.name, tuple(sparse.dims)
    values = array_of(sparse.values, folder, limits)
    indices = array_of(sparse.indices, folder, limits)
    limits.require_shape(shape)
    limits.require("constant_bytes", prod(shape) * values.itemsize)
    found = np.zeros(shape, values.dtype)
    where = indices if indices.ndim == 2 else np.stack(np.unravel_index(indices, shape), 1)
    if where.shape != (values.size, len(shape)) or ((where < 0) | (where >= shape)).any():
        raise BadArgument(f"the values of {name!r} do not lie in a tensor of {list(shape)}")
    found[tuple(where.T)] = values.reshape(-1)
    return aligned(found)


def shape_of(tensor: TensorProto, limits: Limits) -> tuple[int, ...]:
    """The shape of a tensor; BadArgument for a negative size or more elements than are accepted."""
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise BadArgument(f"{tensor.name!r} has a negative size: {list(shape)}")
    limits.require_shape(shape)
    return shape


def from_fields(tensor: TensorProto, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The values of a tensor whose elements are listed one by one."""
    held = listed(tensor)
    # Numbers that take less than a byte each are packed, complex ones are two.
    bits = bits_of(tensor.data_type, numpy_type(tensor.data_type))
    complex_ = tensor.data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128)
    expected = -(-prod(shape) * bits // 8) if bits < 8 else prod(shape) * (2 if complex_ else 1)
    if held != expected:
        raise BadArgument(f"{tensor.name!r} of shape {list(shape)} has {held} elements")
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadArgument(f"{tensor.name!r} cannot be read: {error}") from error
    return array if array.dtype == object else aligned(array)


def listed(tensor: TensorProto) -> int:
    """How many numbers or strings a tensor lists."""
    fields = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
    return sum(len(getattr(tensor, field)) for field in fields)


def packed(tensor: TensorProto, raw: Any) -> np.ndarray[Any, Any]:
    """Elements of less than a byte, a byte for each."""
    copy = TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=bytes(raw))
    return aligned(numpy_helper.to_array(copy))


def bits_of(code: int, kind: np.dtype[Any]) -> int:
    """How many bits an element takes in a file."""
    return BITS.get(spelled(code), kind.itemsize * 8)


BITS = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}
BITS |= {"FLOAT6E2M3": 6, "FLOAT6E3M2": 6}


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array where it lies if kernels can read it there, else a copy."""
    if array.flags.c_contiguous and array.__array_interface__["data"][0] % ALIGNMENT == 0:
        return array
    raw = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    made = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made
