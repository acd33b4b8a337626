"""If and Loop: taken into the graph where their course is known while importing, else operators of
the graph with their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.errors import HidetError, InternalError, NeedsValue, NotYet
from hidet.frontend.importing.operands import integer, numbers
from hidet.graph import Tensor
from hidet.graph.known import known, needs_value
from hidet.types import Size, boolean, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.nested import flat, nested, require_same_form
from hidet_onnx.converters.subgraph import Subgraph
from hidet_onnx.converters.table import onnx

ITERATIONS = 1024
"""More iterations are not taken into the graph one by one."""


def truth(condition: Tensor | None) -> bool | None:
    """What a condition is, as far as it is known; true if there is none."""
    if condition is None:
        return True
    elements = known(condition)
    found = None if elements is None else elements.reshape(-1)[0]
    return None if found is None else bool(found)


@onnx("If", since=1)
def choose(condition: Tensor, *, then_branch: Subgraph, else_branch: Subgraph) -> tuple[Any, ...]:
    """What one of two graphs gives.

    Where branches give other shapes or lists, the condition has to be known: NeedsValue.
    """
    found = truth(condition)
    if found is not None:
        return (then_branch if found else else_branch).inline()
    try:
        with then_branch.attempt():
            return branched(condition, then_branch, else_branch)
    except (InternalError, NeedsValue):
        raise
    except HidetError as error:
        needed = needs_value(condition)
        raise needed if needed.inputs else error from error


def branched(condition: Tensor, then: Subgraph, otherwise: Subgraph) -> tuple[Any, ...]:
    """Both graphs as branches of one operator."""
    given: list[tuple[Any, ...]] = []

    def branch(graph: Subgraph) -> list[Tensor]:
        given.append(graph.inline())
        return flat(given[-1])

    results = ops.if_(condition, lambda: branch(then), lambda: branch(otherwise))
    require_same_form("branches give results", *given)
    return tuple(nested(given[0], iter(results)))


@onnx("Loop", since=1)
def loop(
    trips: Tensor | None = None, condition: Tensor | None = None, *carried: Any, body: Subgraph
) -> tuple[Any, ...]:
    """Iterations of a graph: what it carries to the end, and what each iteration gives beside,
    stacked.

    Where iterations carry tensors of other shapes or longer lists, they are taken into the graph
    one by one; how many there are has to be known then: NeedsValue.
    """
    iterations = Iterations(trips, condition, carried, body)
    try:
        with body.attempt():
            return iterations.once()
    except InternalError:
        raise
    except HidetError as error:
        if iterations.needs_inputs(error):
            raise
        try:
            return iterations.one_by_one()
        except NeedsValue as needed:
            raise needed if needed.inputs else error from error


class Iterations:
    """A loop in either form."""

    def __init__(
        self, trips: Tensor | None, condition: Tensor | None, carried: Sequence[Any], body: Subgraph
    ) -> None:
        self.trips, self.condition, self.carried, self.body = trips, condition, carried, body
        self.own: set[Tensor] = set()

    def once(self) -> tuple[Any, ...]:
        """The graph as the body of an operator, converted once."""
        count = len(self.carried)
        trips = how_many(self.trips)
        if len(self.body.outputs) > 1 + count and isinstance(trips, int) and trips > ITERATIONS:
            trips = (
                self.trips
            )  # no place is made for so many rows before it is known that they come
        ends_early = False

        def iteration(
            number: Tensor, *now: Tensor
        ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
            self.own = {number, *now}
            values = nested(self.carried, iter(now))
            again, *found = self.body.inline(number, constant(True, boolean), *values)
            require_same_form("iterations carry values", self.carried, found[:count])
            nonlocal ends_early
            ends_early = not (truth(self.condition) and truth(again))
            return again, flat(found[:count]), found[count:]

        last, rows, iterations = ops.loop(
            iteration, flat(self.carried), trips=trips, go_on=self.condition
        )
        if rows and ends_early and trips is not None and not isinstance(trips, Tensor):
            there = ops.size_from(iterations, "iterations")
            rows = tuple(ops.slice(each, 0, 0, there) for each in rows)
        return (*nested(self.carried, iter(last)), *rows)

    def needs_inputs(self, error: HidetError) -> bool:
        """Whether values of the model's inputs are needed, not those of an iteration."""
        needed = error.inputs if isinstance(error, NeedsValue) else ()
        return bool(needed) and self.own.isdisjoint(needed)

    def one_by_one(self) -> tuple[Any, ...]:
        """All iterations taken into the graph around the loop; NeedsValue if they cannot be
        counted."""
        count = ITERATIONS + 1 if self.trips is None else integer(self.trips)
        condition, values, iteration = self.condition, list(self.carried), 0
        rows: list[list[Any]] = [[] for _ in self.body.outputs[1 + len(values) :]]
        while iteration < count and self.goes_on(condition):
            if iteration == ITERATIONS:
                raise NotYet(f"more than {ITERATIONS} iterations of which each is another graph")
            flag = constant(True, boolean)
            condition, *found = self.body.inline(constant(iteration, i64), flag, *values)
            values = found[: len(values)]
            for each, row in zip(rows, found[len(values) :], strict=True):
                each.append(row)
            iteration += 1
        return (*values, *(stacked(each, 0) for each in rows))

    def goes_on(self, condition: Tensor | None) -> bool:
        """Whether a condition is known to hold; NeedsValue if nothing is known."""
        found = truth(condition)
        if found is None and condition is not None:
            raise needs_value(condition)
        return bool(found)


def how_many(trips: Tensor | None) -> Tensor | Size | None:
    """A number of iterations as a size, where it is one; else as the tensor it is."""
    if trips is None:
        return None
    try:
        (count,) = numbers(trips)
    except NeedsValue:
        return trips
    return count


def stacked(rows: Sequence[Any], axis: int) -> Any:
    """What all iterations gave, as one tensor."""
    if not rows:
        raise NotYet("the rows of a loop without iterations")
    return ops.stack(rows, axis)


@onnx("SequenceMap", since=17)
def sequence_map(sequence: Any, *more: Any, body: Subgraph) -> tuple[Any, ...]:
    """The lists of what a graph gives for each element of a list."""
    if not isinstance(sequence, list | tuple):
        raise NotYet("a sequence whose length only a call tells")
    results: list[list[Any]] = [[] for _ in body.outputs]
    for number, each in enumerate(sequence):
        others = [other[number] if isinstance(other, list) else other for other in more]
        for into, value in zip(results, body.inline(each, *others), strict=True):
            into.append(value)
    return tuple(results)
