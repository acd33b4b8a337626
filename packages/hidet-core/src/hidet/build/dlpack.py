"""Memory exported as DLPack: the C structures of its version 0, which every library can give."""

from __future__ import annotations

import ctypes
from typing import Any

from hidet.errors import BadArgument
from hidet.runtime.memory import View

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


class DLDevice(ctypes.Structure):
    """Kind and number of a device."""

    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class DLTensor(ctypes.Structure):
    """A tensor: strides are in elements, none means that there are no gaps."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def view_of_dlpack(value: Any) -> tuple[View, bool, bool]:
    """The memory of an exporter, whether it has gaps, and whether it may be written.

    The view's owner is the capsule: the exporter keeps the memory while it lives. An exporter that
    refuses (numpy does for read-only arrays) says why itself.
    """
    kind, _ = value.__dlpack_device__()
    # Stream 1 is the default stream: what the exporter has under way is done before it goes on.
    capsule = value.__dlpack__(stream=1) if kind == CUDA else value.__dlpack__()
    address = _pointer(capsule, b"dltensor")
    tensor = ctypes.cast(address, ctypes.POINTER(DLTensor)).contents
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    pointer = (tensor.data or 0) + tensor.byte_offset
    view = View(pointer, shape, element(tensor), device(tensor.device), capsule)
    return view, has_gaps(shape, strides), True


def element(tensor: DLTensor) -> str:
    """The name of the element type."""
    name = CODES.get(tensor.code)
    if name is None or tensor.lanes != 1:
        raise BadArgument(
            f"DLPack elements of code {tensor.code}, {tensor.lanes} lanes, are unknown"
        )
    return "bool" if name == "bool" else f"{name}{tensor.bits}"


def device(of: DLDevice) -> str:
    """Where the memory lies, as we call it."""
    if of.kind in (CPU, CUDA_HOST):
        return "cpu"
    if of.kind in (CUDA, CUDA_MANAGED):
        return f"cuda:{of.index}"
    raise BadArgument(f"a tensor on a device of DLPack's kind {of.kind}", help="use CPU or CUDA")


def has_gaps(shape: tuple[int, ...], strides: tuple[int, ...] | None, item: int = 1) -> bool:
    """Whether elements do not lie one after the other; strides count an element as `item`."""
    if strides is None or 0 in shape:
        return False
    expected = item
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return True
        expected *= size
    return False


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
