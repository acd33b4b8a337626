"""A model's variables: constants where TensorFlow has them, looked at before each call.

TensorFlow does not count the writes to a variable. But what was read of one shares the variable's
memory and never changes, so that a write goes elsewhere for as long as somebody holds what was
read. We hold it: a variable whose value lies where it did was not written to, and none that was
written to lies there again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from operator import getitem
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute

from hidet.build.compiled import CompiledGraph
from hidet.errors import NotYet
from hidet.frontend.running.execute import Origin, View
from hidet.frontend.running.weights import GraphWeights, Stamp
from hidet.graph import Tensor, from_numpy
from hidet_tf.addresses import remembered
from hidet_tf.tensors import NUMPY, place


class Reading(Enum):
    """How a graph has a variable."""

    WATCHED = "watched"
    """As a constant whose values nobody may count on, since they change."""
    FROZEN = "frozen"
    """As a constant that stays what it is."""
    GIVEN = "given"
    """As an input, which each call reads."""


class Variable:
    """One variable while it is imported, and after; `handle` is the resource that stands for it.

    `after` is what the program assigned to it, once it did.
    """

    def __init__(
        self,
        handle: Any,
        dtype: Any,
        device: str = "cpu",
        name: str = "",
        reading: Reading = Reading.FROZEN,
    ) -> None:
        self.handle, self.dtype, self.device, self.name = handle, dtype, device, name
        self.reading = reading
        self.before: Tensor | None = None
        self.after: Tensor | None = None
        self.changes = [0]
        """How often it was seen to be written to; a list, so that a C function can look it up."""

    def tensor(self) -> Tensor:
        """What the program reads of it: the value that it was assigned, or the one that it has
        before the call, which is the same tensor for all who read it."""
        if self.after is not None:
            return self.after
        if self.dtype.as_datatype_enum not in NUMPY:  # DLPack of text would end the process
            raise NotYet(f"a variable of type {self.dtype.name}")
        if self.before is None:
            self.take()
            storage = self.memory.storage if self.reading is Reading.FROZEN else None
            self.before = Tensor(self.memory.type, self.device, storage, name=self.name)
        return self.before

    def assign(self, value: Tensor) -> None:
        """From here on the program reads this value, which the variable gets after the call."""
        self.after = value

    def fill(self) -> None:
        """Let the constant have its values: the graph is made, and nobody counts on them."""
        if self.before is not None and self.reading is Reading.WATCHED:
            self.before.storage = self.memory.storage

    def take(self) -> None:
        """Hold the value that the variable has now, and let kernels read it."""
        self.held = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=self.dtype)
        self.memory = from_numpy(np.asarray(self.held)).to(device=self.device)

    def look(self, value: Any) -> None:
        """Note whether the variable was written to, given its value now."""
        if place(value) == place(self.held):
            return
        if is_same(value, self.held):  # written anew, or in the mode in which each read is a copy
            self.held = value
        else:
            self.changes[0] += 1

    # ---- what core's Weights ask of a source -----------------------------------------------------

    def view(self) -> View:
        storage = self.memory.storage
        if isinstance(storage, View):
            return storage
        assert storage is not None, "who reads a variable that was released?"
        of = self.memory.type
        return View(storage.ctypes.data, storage.shape, of.dtype.name, "cpu", storage)

    def renew(self) -> View:
        self.take()
        return self.view()

    def is_copied(self) -> bool:
        return self.device != "cpu"

    def stamp(self) -> Stamp:
        return partial(getitem, self.changes, 0)

    def counted(self) -> None:
        return None

    def origin(self) -> Origin:
        return Origin(self.handle, ())

    def release(self) -> None:
        """Let go of what kernels read; what is held stays, to tell of writes."""
        self.memory = Tensor(self.memory.type, self.device)


class Weights(GraphWeights[Variable]):
    """The variables that a compiled graph has as constants, looked at before each call."""

    def __init__(self, compiled: CompiledGraph, variables: Sequence[Variable]) -> None:
        named = {each.before: each for each in variables if each.before is not None}
        read = {each: named[each] for each in compiled.weights.values() if each in named}
        super().__init__(compiled, read)
        self.sources = [*read.values()]
        self.values = reader(self.sources)
        self.remember()

    def remember(self) -> None:
        """Take the places where the variables lie for those where they should."""
        handles, held = ([getattr(e, of) for e in self.sources] for of in ("handle", "held"))
        self.lie_there = remembered(handles, held, self.values)
        """Whether they lie where they did when they were last looked at."""

    def check(self) -> None:
        """Bring everything up to date if a variable was written to since the last call."""
        if not self.lie_there():
            for source, value in zip(self.sources, self.values(), strict=True):
                source.look(value)
            super().check()
            self.remember()  # after a failure it tries again


def reader(variables: Sequence[Variable]) -> Callable[[], list[Any]]:
    """What reads all variables by one operator; a read of its own for each takes eight times as
    long."""
    count = len(variables)
    if not count:
        return lambda: []
    handles = [each.handle for each in variables]
    attributes = ("N", count, "dtypes", [each.dtype.as_datatype_enum for each in variables])
    current = context.context()
    return lambda: execute.execute(b"_ReadVariablesOp", count, handles, attributes, current)


def is_same(one: Any, other: Any) -> bool:
    """Whether two tensors are of one shape and have the same bytes."""
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return False
    return np.array_equal(first.reshape(-1).view(np.uint8), second.reshape(-1).view(np.uint8))
