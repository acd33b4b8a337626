"""Whether tensors lie where they did: asked of many at once, by a compiled function.

From Python the address of a tensor takes a microsecond, longer than TensorFlow needs to read a
variable. A function of a few lines, which the C++ compiler of the machine makes once, asks
TensorFlow's C interface for it. Where there is no compiler, or another TensorFlow than those we
know, the addresses come through DLPack.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from hidet.frontend.running.native import native
from hidet_tf.tensors import place

SOURCE = """
extern "C" int lie_there(
    void *tensors, void *const *places, long count, void *(*item)(void *, long),
    void *(*handle)(const void *), void *(*address)(void *, void *), void *status) {
  for (long i = 0; i < count; ++i)
    if (address(handle(item(tensors, i)), status) != places[i]) return 0;
  return 1;
}
"""
HANDLE = "_Z18EagerTensor_HandlePK7_object"
"""TensorFlow's `TFE_TensorHandle *EagerTensor_Handle(const PyObject *)`."""
Asked = Callable[[list[Any]], bool]


def remembered(tensors: Sequence[Any]) -> Asked:
    """What tells of as many tensors whether each lies where the one of these did."""
    places, given = [*map(place, tensors)], [*tensors]
    quick = by_function(places)
    if quick is not None and quick(given):
        return quick
    return lambda found: [*map(place, found)] == places


def by_function(places: Sequence[int]) -> Asked | None:
    """The same of addresses, by the compiled function; None where there is none."""
    found = compiled()
    if found is None or not places:
        return None
    function, known = found
    array, count = (ctypes.c_void_p * len(places))(*places), len(places)
    return lambda tensors: function(tensors, array, count, *known) == 1


@cache
def compiled() -> tuple[Callable[..., int], tuple[Any, ...]] | None:
    """The compiled function, and its last arguments: what it calls of Python and TensorFlow."""
    handle, address, status = (symbol(name) for name in (HANDLE, DEVICE_POINTER, "TF_NewStatus"))
    library = native(SOURCE, "addresses")
    if library is None or handle is None or address is None or status is None:
        return None
    # It holds Python's lock, since it looks at Python's objects.
    prototype = ctypes.PYFUNCTYPE(
        ctypes.c_int, ctypes.py_object, POINTER, ctypes.c_long, POINTER, POINTER, POINTER, POINTER
    )
    function = prototype(ctypes.cast(library.lie_there, POINTER).value or 0)
    made = ctypes.CFUNCTYPE(POINTER)(status)()
    item = ctypes.cast(ctypes.pythonapi.PyList_GetItem, POINTER).value
    return function, (item, handle, address, made)


POINTER = ctypes.c_void_p
DEVICE_POINTER = "TFE_TensorHandleDevicePointer"


def symbol(name: str) -> int | None:
    """The address of a function of TensorFlow's, in whichever of its libraries it is."""
    folder = Path(tf.__file__).parent
    for library in LIBRARIES:
        if (path := folder / library).exists():
            found = getattr(ctypes.CDLL(str(path)), name, None)
            if found is not None:
                return ctypes.cast(found, POINTER).value
    return None


LIBRARIES = (
    "libtensorflow_framework.so.2", "libtensorflow_cc.so.2",
    "python/lib_pywrap_tensorflow_common.so", "python/_pywrap_tensorflow_internal.so",
)  # fmt: skip
"""Where they have been since 2.18."""
