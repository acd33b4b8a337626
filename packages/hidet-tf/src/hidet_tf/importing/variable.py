"""What a function reads from around it, while it is imported."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_tf.dtypes import hidet_dtype


class Variable:
    """Stands for the handle of a variable, whose values are read when they are first needed."""

    def __init__(self, variable: tf.Variable, device: str) -> None:
        self.handle, self.own, self.name = variable.handle, variable.dtype, variable.name
        self.device = device

    def tensor(self) -> Tensor:
        """The constant with the variable's values: the same for all who read it."""
        return self.constant

    @cached_property
    def constant(self) -> Tensor:
        """The same, made once. It shares TensorFlow's memory."""
        array = np.asarray(tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=self.own))
        kind = TensorType(hidet_dtype(self.own), array.shape)
        return Tensor(kind, self.device, array, name=self.name)


class Resource:
    """Stands for a handle that only TensorFlow's own operators read, such as a table's."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
