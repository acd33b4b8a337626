"""Element types: ONNX's numbers for them, ours, and numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hidet.errors import BadArgument, NotYet
from hidet.types import DType, dtype


def element(code: int) -> DType:
    """Our element type for ONNX's number; NotYet for one that the compiler lacks."""
    found = numpy_type(code)
    try:
        return dtype(found)
    except BadArgument:
        raise NotYet(f"there is no element type {spelled(code)} yet") from None


def numpy_type(code: int) -> np.dtype[Any]:
    """Numpy's element type; that of strings is `object`."""
    if code not in TensorProto.DataType.values() or code == TensorProto.UNDEFINED:
        raise BadArgument(f"{code} is the number of no element type of ONNX")
    return np.dtype(helper.tensor_dtype_to_np_dtype(code))


def code_of(of: DType | np.dtype[Any]) -> int:
    """ONNX's number of an element type."""
    found = of.numpy if isinstance(of, DType) else of
    return int(helper.np_dtype_to_tensor_dtype(found))


def spelled(code: int) -> str:
    """How ONNX calls an element type."""
    if code not in TensorProto.DataType.values():
        return f"number {code}"
    return str(TensorProto.DataType.Name(code))


def is_text(code: int) -> bool:
    """Whether elements are strings."""
    return bool(code == TensorProto.STRING)
