"""Whether weights were moved or written to: asked of all at once, by a compiled function.

From Python PyTorch is asked for one tensor after the other, and what tells lies in memory that the
call before has driven out of the caches: half a millisecond for the 158 weights of a MobileNet. A
function of a few lines, which the C++ compiler of the machine makes once, asks PyTorch for all of
them, and need not wait for one before it asks for the next.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import torch
from torch._C import _aoti

from hidet.frontend.running.native import native
from hidet.frontend.running.weights import Stamp

FEW = 8
"""Tensors up to which Python asks as quickly."""
SOURCE = """
extern "C" void *stamps(
    void *const *tensors, long places, long counts, int (*place)(void *, void **),
    long long (*count)(const void *), void *(*bytes)(const char *, long), char *(*text)(void *)) {
  void *made = bytes(nullptr, (places + counts) * sizeof(void *));
  if (!made) return made;
  void **to = (void **)text(made);
  for (long i = 0; i < places; ++i) place(tensors[i], to + i);
  for (long i = places; i < places + counts; ++i) to[i] = (void *)count(tensors[i]);
  return made;
}
"""
PLACE, COUNT = "aoti_torch_get_data_ptr", "_ZNK2at10TensorBase8_versionEv"
"""PyTorch's functions of a tensor: where it lies, and how often it was written to."""
PLAIN = (torch.Tensor, torch.nn.Parameter)
POINTER = ctypes.c_void_p


def by_function(sources: Sequence[torch.Tensor], counted: Sequence[torch.Tensor]) -> Stamp | None:
    """What tells where tensors lie, and how often those `counted` were written to; None where
    Python tells as quickly, or there is no compiler."""
    tensors = [*sources, *counted]
    found = compiled() if len(tensors) > FEW and all(type(e) in PLAIN for e in tensors) else None
    if found is None:
        return None
    function, known = found
    handles: Any = _aoti.unsafe_alloc_void_ptrs_from_tensors(tensors)
    array = (POINTER * len(tensors))(*map(pointer, handles))
    places, counts = len(sources), len(counted)

    def stamps() -> object:
        return function(array, places, counts, *known)

    # Handles hold tensors; made tensors again, these let go of them.
    end = weakref.finalize(stamps, _aoti.alloc_tensors_by_stealing_from_void_ptrs, handles)
    end.atexit = False
    return stamps


@cache
def compiled() -> tuple[Callable[..., object], tuple[Any, ...]] | None:
    """The compiled function, and its last arguments: what it calls of PyTorch and Python."""
    library = ctypes.CDLL(torch._C.__file__)  # and all that it was linked with
    place, count = (getattr(library, name, None) for name in (PLACE, COUNT))
    made = native(SOURCE, "stamps") if place and count else None
    if made is None:
        return None
    # It holds Python's lock, since it makes one of Python's objects.
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, POINTER, ctypes.c_long, ctypes.c_long, *(POINTER,) * 4
    )
    function = prototype(address(made.stamps))
    api = ctypes.pythonapi
    given = (place, count, api.PyBytes_FromStringAndSize, api.PyBytes_AsString)
    return function, tuple(map(address, given))


def address(function: Any) -> int:
    """Where a function of C lies."""
    return ctypes.cast(function, POINTER).value or 0


def pointer(capsule: Any) -> int | None:
    """What a capsule of PyTorch's holds."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]
    return cast("int | None", get(capsule, None))
