"""Whether variables lie where they did: asked of many at once, by a compiled function.

Python makes a tensor of each variable that it reads. A function of a few lines, which the C++
compiler of the machine makes once, has TensorFlow read all of them by its C interface, compares
addresses and lets go. Where there is no compiler, or another TensorFlow than those we know, Python
reads them, and the addresses come through DLPack.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from hidet.frontend.running.native import native
from hidet_tf.tensors import place

SOURCE = """
struct Api {
  void *(*new_status)(void);
  int (*code)(const void *);
  void (*delete_status)(void *);
  void *(*new_op)(void *, const char *, void *);
  void (*add_inputs)(void *, void *const *, int, void *);
  void (*set_types)(void *, const char *, const int *, int);
  void (*execute)(void *, void **, int *, void *);
  void (*delete_op)(void *);
  void *(*address)(void *, void *);
  void (*delete_tensor)(void *);
};

static int read(const Api &of, void *context, void *const *handles, const int *types, int count,
                void **tensors, void *status) {
  void *op = of.new_op(context, "_ReadVariablesOp", status);
  if (of.code(status)) return 0;
  of.add_inputs(op, handles, count, status);
  of.set_types(op, "dtypes", types, count);
  if (!of.code(status)) of.execute(op, tensors, &count, status);
  of.delete_op(op);
  return of.code(status) ? 0 : count;
}

extern "C" int lie_there(const Api *api, void *context, void *const *handles, const int *types,
                         void *const *places, int count) {
  void *status = api->new_status();
  void **tensors = new void *[count];
  int made = read(*api, context, handles, types, count, tensors, status), same = made == count;
  for (int i = 0; i < made; ++i) {
    same = same && api->address(tensors[i], status) == places[i];
    api->delete_tensor(tensors[i]);
  }
  delete[] tensors;
  api->delete_status(status);
  return same;
}
"""
API = (
    "TF_NewStatus", "TF_GetCode", "TF_DeleteStatus", "TFE_NewOp", "TFE_OpAddInputList",
    "TFE_OpSetAttrTypeList", "TFE_Execute", "TFE_DeleteOp", "TFE_TensorHandleDevicePointer",
    "TFE_DeleteTensorHandle",
)  # fmt: skip
"""What the source has as `Api`."""
HANDLE = "_Z18EagerTensor_HandlePK7_object"
"""TensorFlow's `TFE_TensorHandle *EagerTensor_Handle(const PyObject *)`."""
POINTER = ctypes.c_void_p
Asked = Callable[[], bool]


def remembered(handles: Sequence[Any], held: Sequence[Any], read: Callable[[], Any]) -> Asked:
    """What tells of variables whether each lies where the tensor that is `held` of it does.

    `read` is how Python reads all of them.
    """
    places = [*map(place, held)]
    quick = by_function(handles, held, places)
    if quick is not None and quick():
        return quick
    return lambda: [*map(place, read())] == places


def by_function(handles: Sequence[Any], held: Sequence[Any], places: Sequence[int]) -> Asked | None:
    """The same by the compiled function, which also says no where TensorFlow fails to read; None
    where there is none."""
    found = compiled()
    if found is None or not places:
        return None
    function, handle_of, api = found
    kept, count = [*handles], len(places)
    array, wanted = (POINTER * count)(*map(handle_of, kept)), (POINTER * count)(*places)
    types = (ctypes.c_int * count)(*(each.dtype.as_datatype_enum for each in held))
    current = capsule(context.context()._handle, None)
    return lambda: function(api, current, array, types, wanted, len(kept)) == 1


@cache
def compiled() -> tuple[Callable[..., int], Callable[[Any], int | None], Any] | None:
    """The compiled function, what gives TensorFlow's own pointer to a tensor, and the `Api`."""
    handle_of, *api = map(symbol, (HANDLE, *API))
    library = native(SOURCE, "addresses") if handle_of and all(api) else None
    if library is None:
        return None
    # Without Python's lock: what another thread does in TensorFlow may wait for Python.
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, *(POINTER,) * 5, ctypes.c_int)
    function = prototype(ctypes.cast(library.lie_there, POINTER).value or 0)
    pointer_of = ctypes.PYFUNCTYPE(POINTER, ctypes.py_object)(handle_of or 0)
    return function, pointer_of, (POINTER * len(API))(*api)


capsule = ctypes.PYFUNCTYPE(POINTER, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


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
