"""Memory shared as DLPack: the C structures of its version 0, which every library understands."""

from __future__ import annotations

import ctypes
from typing import Any

from hidet.errors import BadArgument
from hidet.runtime.devices.stream import Event, is_capturing
from hidet.runtime.devices.view import View
from hidet.types import dtype
from hidet.types.strides import is_packed

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
NAME = b"dltensor"
CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
FLOAT8 = {
    10: "float8_e4m3", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz",
    14: "float8_e8m0",
}  # fmt: skip
"""Narrow floats have codes of their own, since version 1.1."""

Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


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


class DLManagedTensor(ctypes.Structure):
    """A tensor and what its taker calls when done with it."""

    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", Callback),
    )


_exported: dict[int, Any] = {}
"""What takers still use, by the address that they know."""


def forget(address: int) -> None:
    """A taker is done with what it took."""
    _exported.pop(address, None)


def unused(capsule: int) -> None:
    """A capsule goes that nobody took: a taker renames it, and calls the deleter itself."""
    if _is_valid(capsule, NAME):
        forget(_pointer_of(capsule, NAME))


def view_of_dlpack(value: Any) -> tuple[View, bool, bool]:
    """The memory of an exporter, whether it has gaps, and whether it may be written.

    The view's owner is the capsule: the exporter keeps the memory while it lives. An exporter that
    refuses (numpy does for read-only arrays) says why itself.
    """
    kind, _ = value.__dlpack_device__()
    # Stream 1 is the default stream: what the exporter has under way is done before it goes on.
    capsule = value.__dlpack__(stream=1) if kind == CUDA else value.__dlpack__()
    address = _pointer(capsule, NAME)
    tensor = ctypes.cast(address, ctypes.POINTER(DLTensor)).contents
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    pointer = (tensor.data or 0) + tensor.byte_offset
    view = View(pointer, shape, element(tensor), device(tensor.device), capsule)
    return view, has_gaps(shape, strides), True


def capsule_of(view: View) -> Any:
    """A DLPack capsule of a view's memory, which whoever takes it keeps alive.

    BufferError for elements of less than a byte: takers would expect several in each.
    """
    of = dtype(view.dtype)
    if of.bits < 8:
        raise BufferError(f"DLPack has several elements of {of.name} in a byte; cast it to int8")
    named = {name: number for number, name in FLOAT8.items()}
    code = named.get(of.name)
    if code is None:
        code = next(number for number, name in CODES.items() if of.name.startswith(name))
    kind, index = device_type(view.device)
    managed = DLManagedTensor()
    held = (view, sizes(view.shape))
    managed.tensor = DLTensor(
        view.pointer,
        DLDevice(kind, index),
        len(view.shape),
        code,
        of.bits,
        1,
        held[1],
        None,
        0,
    )
    managed.deleter = _forget
    address = ctypes.addressof(managed)
    _exported[address] = managed, held
    return _new_capsule(address, NAME, _unused)


def exported(
    view: View,
    stream: int | None = None,
    *,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
    max_version: tuple[int, int] | None = None,
) -> Any:
    """A view's memory as the protocol's `__dlpack__` gives it to work on `stream`.

    BufferError, as the protocol demands, for what would need a copy.
    """
    if copy or dl_device not in (None, device_type(view.device)):
        raise BufferError("a tensor is exported where it is, without a copy")
    if view.device != "cpu" and stream not in (None, -1, 0, 1):
        assert stream is not None
        done = Event(view.device)
        done.record(0)  # values that are not there yet are computed on the default stream
        if is_capturing(stream):  # a graph cannot wait for what is no part of it
            done.synchronize()
        else:
            done.hold(stream)
    return capsule_of(view)


def device_type(device: str) -> tuple[int, int]:
    """A device as DLPack numbers it: kind and index."""
    kind, _, index = device.partition(":")
    return (CPU, 0) if kind == "cpu" else (CUDA, int(index or 0))


def sizes(shape: tuple[int, ...]) -> Any:
    """A shape as C has it."""
    return (ctypes.c_int64 * len(shape))(*shape)


def element(tensor: DLTensor) -> str:
    """The name of the element type."""
    if tensor.code in FLOAT8 and tensor.lanes == 1:
        return FLOAT8[tensor.code]
    name = CODES.get(tensor.code)
    if name is None or tensor.lanes != 1 or tensor.bits < 8:
        raise BadArgument(
            f"DLPack elements of code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes, are "
            "unknown"
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
    return strides is not None and not is_packed(shape, strides, range(len(shape)), item)


_forget = Callback(forget)
_unused = Callback(unused)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
# In a destructor the capsule has no references left: it may be looked at, but not be counted.
_is_valid = ctypes.PyDLL(None).PyCapsule_IsValid
_is_valid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_pointer_of = ctypes.PyDLL(None).PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
