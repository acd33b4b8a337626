"""An operator for TensorFlow to run, with the constants and producers that it needs there.

What a producer became may be nothing that TensorFlow can be given: a TensorList is a tensor and a
length to the compiler. Then TensorFlow makes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from hidet.errors import NotYet
from hidet.frontend.importing.importer import LOST
from hidet.frontend.running.host_values import HostValue
from hidet.graph import Tensor
from hidet_tf.importing.region import GIVEN, Region
from hidet_tf.importing.resource import Resource
from hidet_tf.variables import Variable

Source: TypeAlias = tuple[int, int]


class Closure:
    """The operators of a region that ends in `op`.

    `operands` are the values that a call brings, each once; `fixed` are handles and text. `value`
    says what a tensor became. NotYet if a tensor is of no use to TensorFlow.
    """

    def __init__(self, op: tf.Operation, value: Callable[[tf.Tensor], Any]) -> None:
        self.value = value
        self.ops: dict[tf.Operation, tuple[Source, ...]] = {}
        self.specs: dict[Any, tf.TensorSpec] = {}
        self.fixed: dict[int, tuple[Any, tf.TensorSpec]] = {}
        """By the identity of a value: the value, and its spec."""
        self.add(op)

    @property
    def operands(self) -> list[Any]:
        return [*self.specs]

    def add(self, op: tf.Operation) -> int:
        """The number of an operator among those of the region."""
        if op not in self.ops:
            sources = tuple(map(self.source, op.inputs))
            self.ops[op] = sources
        return [*self.ops].index(op)

    def source(self, tensor: tf.Tensor) -> Source:
        """Where an operand comes from; what is fixed has numbers from -1 down."""
        if tensor.op.type == "Const":
            return self.add(tensor.op), 0
        value, spec = self.value(tensor), tf.TensorSpec(tensor.shape, tensor.dtype)
        if isinstance(value, Tensor | HostValue):
            self.specs.setdefault(value, spec)
            return GIVEN, [*map(id, self.specs)].index(id(value))
        if isinstance(value, Variable | Resource | np.ndarray):
            self.fixed.setdefault(id(value), (value, spec))
            return GIVEN, -1 - [*self.fixed].index(id(value))
        if value is LOST or tensor.op.type == "Placeholder":
            raise NotYet(f"{tensor.op.type} gives what TensorFlow cannot be given")
        return self.add(tensor.op), tensor.value_index

    def region(self) -> Region:
        """The region, whose results are those of its last operator."""
        count = len(self.specs)

        def placed(source: Source) -> Source:
            op, number = source
            return (op, number) if number >= 0 else (op, count - 1 - number)

        last = len(self.ops) - 1
        return Region(
            tuple(self.ops),
            tuple(tuple(map(placed, sources)) for sources in self.ops.values()),
            (*self.specs.values(), *(spec for _, spec in self.fixed.values())),
            tuple((last, result) for result in range(len([*self.ops][-1].outputs))),
        )

    def handles(self) -> tuple[Any, ...]:
        """What is fixed as TensorFlow takes it."""
        values = (value for value, _ in self.fixed.values())
        return tuple(tf.constant(v) if isinstance(v, np.ndarray) else v.handle for v in values)
