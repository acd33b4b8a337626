"""Tensors of TensorFlow as core reads them, and results as tensors of TensorFlow: no copies."""

from __future__ import annotations

import ctypes
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hidet.build.arguments import Described, Glance, read_by
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_tf.dtypes import hidet_dtype, is_plain

EagerTensor = tf.__internal__.EagerTensor
to_dlpack = tf.experimental.dlpack.to_dlpack
"""Only for plain types: for text and handles it ends the process."""

NUMPY: dict[int, np.dtype[Any]] = {
    each.as_datatype_enum: np.dtype(each.as_numpy_dtype)
    for each in (tf.as_dtype(number) for number in (1, 2, 3, 4, 5, 6, 9, 10, 14, 17, 19, 22, 23))
    if is_plain(each)
}
"""The types whose elements core computes with, by TensorFlow's number."""


def read_tensor(tensor: Any) -> Glance:
    """A tensor in the host's memory at a glance: DLPack tells its address, and keeps it alive."""
    kind = NUMPY.get(tensor._datatype_enum())
    if kind is None:
        hidet_dtype(tensor.dtype)  # says what is wrong with it
        return read_by_numpy(tensor)
    capsule = to_dlpack(tensor)
    return place_of(capsule), (tensor._shape_tuple(), kind, True, True), None, capsule


def read_by_numpy(tensor: Any) -> Glance:
    """The same for narrow types, which DLPack lacks."""
    array = np.asarray(tensor)
    facts = Described(hidet_dtype(tensor.dtype).name, array.shape, "cpu", False, False)
    return array.__array_interface__["data"][0], facts, None, array


def result_of(tensor: Tensor) -> Any:
    """A result as a tensor of TensorFlow's, which shares its memory.

    The memory is nobody else's and starts at a multiple of 64 bytes, as TensorFlow needs.
    """
    array = tensor.cpu().numpy() if tensor.device != "cpu" else tensor.storage
    if array.dtype.isbuiltin == 1:
        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    if tensor.dtype.name == "bfloat16":
        return tf.experimental.dlpack.from_dlpack(Tensor(tensor.type, "cpu", array).__dlpack__())
    return tf.constant(array)  # narrow types, which DLPack lacks


def lent(array: np.ndarray[Any, Any]) -> Any:
    """An array as a tensor of TensorFlow's that reads it where it lies, if it may; else a copy.

    For those who are done with the tensor before the array changes.
    """
    flags, place = array.flags, array.__array_interface__["data"][0]
    is_exportable = array.dtype.isbuiltin == 1 and flags.writeable and flags.c_contiguous
    if is_exportable and place % ALIGNMENT == 0:
        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    return tf.constant(array)


ALIGNMENT = 64
"""TensorFlow ends the process at memory that starts elsewhere."""


class Wanted:
    """The element type that a function takes, as numpy has it; of text and handles `object`."""

    def __init__(self, own: tf.DType) -> None:
        self.is_number = is_plain(own)
        self.numpy = np.dtype(own.as_numpy_dtype) if self.is_number else np.dtype(object)
        self.is_float = self.is_number and hidet_dtype(own).is_float


def argument_of(value: Any, wanted: Wanted) -> Any:
    """An argument as core takes it: numbers and lists as arrays, floats of numpy's in the type that
    the function computes with, as Keras does."""
    kind = type(value)
    if kind is EagerTensor or (kind is np.ndarray and value.dtype == wanted.numpy):
        return value
    if isinstance(value, np.ndarray | np.generic | int | float | complex | list | tuple):
        return as_array(value, wanted)
    if tf.is_symbolic_tensor(value) or isinstance(value, keras.KerasTensor):
        raise BadArgument(
            "a symbolic tensor has no values",
            help="compiled.as_layer() is a layer, of which Keras makes models",
        )
    if isinstance(value, tf.Variable):
        return value.read_value()
    if hasattr(value, "value") and isinstance(value.value, tf.Variable):  # Keras' own
        return value.value.read_value()
    return value


def as_array(value: Any, wanted: Wanted) -> Any:
    """A value of numpy's or Python's as an array; of another kind of type it stays, and is refused
    by who knows the argument's name."""
    given = np.asarray(value)
    if given.dtype == wanted.numpy or not wanted.is_number:
        return given
    is_count = not isinstance(value, np.ndarray | np.generic) and given.dtype.kind in "iu"
    is_float = given.dtype.kind == "f" and wanted.is_float
    if is_float or is_count or given.dtype.kind == wanted.numpy.kind:
        return given.astype(wanted.numpy)
    return given


read_by(EagerTensor, read_tensor)


def place(tensor: Any) -> int:
    """The address at which a tensor of numbers begins."""
    return place_of(to_dlpack(tensor))


def place_of(capsule: Any) -> int:
    """The address in a DLPack capsule: the first field of what it holds."""
    return ADDRESS.from_address(POINTER(capsule, b"dltensor")).value or 0


ADDRESS = ctypes.c_void_p
POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
