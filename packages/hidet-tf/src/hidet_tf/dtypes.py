"""Element types of TensorFlow and of hidet."""

from __future__ import annotations

import tensorflow as tf

from hidet.errors import BadArgument, NotYet
from hidet.types import DType, dtype


def hidet_dtype(own: tf.DType) -> DType:
    """The hidet type of a TensorFlow type; NotYet for one that the compiler lacks."""
    try:
        return dtype(own.as_numpy_dtype)
    except (BadArgument, TypeError, KeyError):
        raise NotYet(f"elements of type {own.name}") from None


def is_plain(own: tf.DType) -> bool:
    """Whether elements of a type are numbers that the compiler knows."""
    try:
        hidet_dtype(own)
    except NotYet:
        return False
    return True


def tf_dtype(of: DType) -> tf.DType:
    """The TensorFlow type of a hidet type."""
    return tf.as_dtype(of.numpy)
