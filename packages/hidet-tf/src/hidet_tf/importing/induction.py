"""What loops do with the values that they carry, as far as their graphs show it.

Python's `for` and `while`, map_fn and Keras' recurrent layers count iterations in values of their
own, and carry along whatever an iteration reads. A loop whose values are known to stay or to count
is one of core's loops that know how many iterations they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tensorflow as tf

from hidet_tf.importing.walk import FuncGraph

COMPARED = {
    "Less": (True, 0),
    "LessEqual": (True, 1),
    "Greater": (False, 0),
    "GreaterEqual": (False, 1),
}
"""Comparisons that end loops: whether the counter counts up to the limit, and whether the iteration
in which both are equal runs too."""


@dataclass(frozen=True)
class Amount:
    """An integer that all iterations share: the value number `at` that loops carry, or `number`."""

    at: int | None = None
    number: int = 0


@dataclass(frozen=True)
class Bound:
    """A loop goes on as long as the value number `counter` is below a limit, or above it if not
    `is_upper`. `inclusive`: an iteration in which both are equal runs too."""

    counter: int
    limit: Amount
    is_upper: bool
    inclusive: int


@dataclass(frozen=True)
class Induction:
    """The values of a loop with these graphs, by number."""

    cond: FuncGraph
    body: FuncGraph

    @cached_property
    def invariant(self) -> frozenset[int]:
        """The values that each iteration hands on as it gets them."""
        pairs = enumerate(zip(self.body.inputs, self.body.outputs, strict=True))
        return frozenset(at for at, (given, found) in pairs if passed(found) is given)

    @cached_property
    def steps(self) -> Mapping[int, Amount]:
        """The integers that each iteration adds an amount to, and that amount."""
        values = enumerate(zip(self.body.inputs, self.body.outputs, strict=True))
        found = ((at, self.step(given, passed(after))) for at, (given, after) in values)
        return {at: step for at, step in found if step is not None}

    def step(self, given: Any, found: Any) -> Amount | None:
        """What an iteration adds to an integer; None if it does something else."""
        if found.op.type not in ("Add", "AddV2", "Sub") or not found.dtype.is_integer:
            return None
        first, second = map(passed, found.op.inputs)
        if found.op.type == "Sub":
            taken = integer(second) if first is given else None
            return None if taken is None else Amount(number=-taken)
        other = second if first is given else first if second is given else None
        return None if other is None else self.amount(other, self.body)

    @cached_property
    def conditions(self) -> list[Bound | None]:
        """What has to hold before each iteration; None for what is no bound of a counter."""
        return [self.bound(each.op) for each in conjuncts(self.cond.outputs[0])]

    def bound(self, op: tf.Operation) -> Bound | None:
        """A comparison of a counter with what stays as it is."""
        if op.type not in COMPARED:
            return None
        counter, limit = (passed(each) for each in op.inputs)
        upto = self.amount(limit, self.cond)
        at = place(counter, self.cond)
        if at is None or at not in self.steps or upto is None:
            return None
        return Bound(at, upto, *COMPARED[op.type])

    def amount(self, tensor: Any, graph: FuncGraph) -> Amount | None:
        """The integer that a tensor of one of the graphs is in all iterations."""
        number, at = integer(tensor), place(tensor, graph)
        if number is not None:
            return Amount(number=number)
        return Amount(at) if at in self.invariant else None


def place(tensor: Any, graph: FuncGraph) -> int | None:
    """Which of a graph's inputs a tensor is."""
    return next((at for at, each in enumerate(graph.inputs) if each is tensor), None)


def passed(tensor: Any) -> Any:
    """The tensor that another one is, handed on by Identity."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def integer(tensor: Any) -> int | None:
    """The integer that a constant without axes is."""
    if tensor.op.type != "Const" or not tensor.dtype.is_integer or tensor.shape.rank != 0:
        return None
    return int(tf.make_ndarray(tensor.op.get_attr("value")))


def conjuncts(tensor: Any) -> list[Any]:
    """The conditions that have to hold for another one to hold."""
    found = passed(tensor)
    if found.op.type != "LogicalAnd":
        return [found]
    return [each for operand in found.op.inputs for each in conjuncts(operand)]
