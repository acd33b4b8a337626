"""What callers pass to compiled functions: tensors of any library, seen as memory.

`glance` is what every call pays: an address and the facts that a call depends on, as the library
keeps them, in plain tuples, which are made and compared fastest. `described` spells the same out,
for arguments not seen before and for messages. No library is imported; a tensor tells by its
protocol what it is.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hidet.build.permuted import Permuted
from hidet.errors import BadArgument
from hidet.graph.tensor import Tensor
from hidet.runtime.binding.memory import View, start_of
from hidet.runtime.devices.device import index_of
from hidet.runtime.devices.dlpack import has_gaps, view_of_dlpack
from hidet.types import dtype

Glance: TypeAlias = tuple[int, Any, int | None, Any]
"""An argument's address, facts that compare equal where calls are alike, its stream if it has one,
and what has to live as long as the call."""


class Described(NamedTuple):
    """What an argument is: `gaps` if its elements do not lie one after the other."""

    dtype: str
    shape: tuple[int, ...]
    device: str
    gaps: bool
    writable: bool = True


def glance(value: Any) -> Glance | None:
    """An array argument at a glance; None if it is nothing with memory."""
    kind = type(value)
    reader = READERS.get(kind)
    if reader is None:
        reader = reader_for(value)
        if reader is None:
            return None
        READERS[kind] = reader
    return reader(value)


def reader_for(value: Any) -> Callable[[Any], Glance] | None:
    """How arguments of this one's type are read."""
    known = (
        (np.ndarray, of_array), (np.generic, of_scalar), (Tensor, of_tensor), (View, of_view),
        (Permuted, of_permuted),
    )  # fmt: skip
    for kind, reader in known:
        if isinstance(value, kind):
            return reader
    if hasattr(value, "data_ptr") and hasattr(value, "is_contiguous"):
        return of_torch
    if hasattr(value, "__cuda_array_interface__"):
        return of_cuda_array
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return of_dlpack
    return of_pointer if hasattr(value, "data_ptr") else None


READERS: dict[type, Callable[[Any], Glance]] = {}
"""How arguments of the types seen so far are read."""


def read_by(kind: type, reader: Callable[[Any], Glance]) -> None:
    """Read arguments of a type so from now on: a framework may know a quicker way than DLPack."""
    READERS[kind] = reader


def of_torch(value: Any) -> Glance:
    """A tensor of PyTorch, or of a library with its interface."""
    facts = (value.shape, value.dtype, value.device, value.is_contiguous())
    return value.data_ptr(), facts, None, None


def of_array(value: np.ndarray[Any, Any]) -> Glance:
    """A numpy array."""
    flags, kind = value.flags, value.dtype
    buffered = kind.kind in BUFFERED and kind.isbuiltin == 1  # 2: types that others brought
    if buffered and flags.writeable and flags.c_contiguous and value.size:
        pointer, read_only = start_of(value), False
    else:
        pointer, read_only = value.__array_interface__["data"]
    return pointer, (value.shape, kind, read_only, flags.c_contiguous), None, None


def of_scalar(value: np.generic) -> Glance:
    """A number of numpy's: an array without axes."""
    array = np.asarray(value)
    pointer, facts, stream, _ = of_array(array)
    return pointer, facts, stream, array


BUFFERED = "fiub"
"""The kinds of numpy's types whose arrays Python can see as buffers."""


def of_tensor(value: Tensor) -> Glance:
    """A tensor of ours."""
    if value.storage is None:
        raise BadArgument("a symbolic tensor has no values", help="run the graph that gives it")
    return of_view(value.storage) if isinstance(value.storage, View) else of_array(value.storage)


def of_view(value: View) -> Glance:
    """Memory of the runtime."""
    return value.pointer, Described(value.dtype, value.shape, value.device, False), None, None


def of_permuted(value: Permuted) -> Glance:
    """A tensor of ours with its axes in another order."""
    pointer, facts, _, owner = of_tensor(value.tensor)
    of = described(facts)
    return pointer, of._replace(shape=value.shape, gaps=not value.is_packed), None, owner


def of_cuda_array(value: Any) -> Glance:
    """An array of CuPy, Numba and others."""
    given = value.__cuda_array_interface__
    pointer, read_only = given["data"]
    kind = np.dtype(given["typestr"])
    gaps = has_gaps(given["shape"], given.get("strides"), kind.itemsize)
    where = f"cuda:{getattr(getattr(value, 'device', None), 'id', 0)}"
    facts = Described(name_of(kind), tuple(given["shape"]), where, gaps, not read_only)
    stream = given.get("stream")
    return pointer, facts, 0 if stream == 1 else stream, None


def of_dlpack(value: Any) -> Glance:
    """An array that exports its memory as DLPack."""
    view, gaps, writable = view_of_dlpack(value)
    facts = Described(view.dtype, view.shape, view.device, gaps, writable)
    return view.pointer, facts, None, view.owner


def of_pointer(value: Any) -> Glance:
    """Anything that says its address, element type and shape, and perhaps its device."""
    kind = str(value.dtype).rpartition(".")[2]
    where = str(getattr(value, "device", "cpu"))
    return int(value.data_ptr()), Described(kind, tuple(value.shape), where, False), None, None


def described(facts: Any) -> Described:
    """The facts of a glance, spelled out."""
    if isinstance(facts, Described):
        return facts
    shape, kind, device, contiguous = facts
    if isinstance(kind, np.dtype):
        read_only = device
        return Described(name_of(kind), shape, "cpu", not contiguous, not read_only)
    where = "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"
    name = str(kind).rpartition(".")[2]
    return Described(NAMES.get(name, name), tuple(map(int, shape)), where, not contiguous)


NAMES = {"float8_e4m3fn": "float8_e4m3", "float8_e8m0fnu": "float8_e8m0"}
"""Element types that PyTorch calls otherwise."""


def name_of(kind: np.dtype[Any]) -> str:
    """An element type's name; numpy's own for one that we do not have."""
    try:
        return dtype(kind).name
    except BadArgument:
        return str(kind)


def current_stream(device: str) -> int:
    """The CUDA stream on which the caller works: PyTorch's current one where it is in use."""
    return stream_of(index_of(device))


def stream_of(index: int) -> int:
    """The same for a device's number."""
    if not _ask_torch:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return 0
        _ask_torch.append(torch._C._cuda_getCurrentRawStream)
    return _ask_torch[0](index)


_ask_torch: list[Callable[[int], int]] = []
"""What tells PyTorch's current stream, once it uses GPUs: from then on it always does."""


def host_array(
    pointer: int, kind: str, shape: tuple[int, ...], writable: bool = True
) -> np.ndarray[Any, Any]:
    """Memory of the host as a numpy array that shares it; whoever owns it must live longer."""
    element = dtype(kind).numpy
    nbytes = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    if nbytes == 0:
        return np.empty(shape, element)
    raw = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))
    raw.flags.writeable = writable
    found: np.ndarray[Any, Any] = raw.view(element).reshape(shape)
    return found
