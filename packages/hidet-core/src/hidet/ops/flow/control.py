"""Control flow as operators: a choice of two graphs, and a graph that runs in a loop.

Functions that take Python callables for their bodies are in `branches.py` and `loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Body, FlowGraph, Region, Tensor, evaluate, operator, symbol, tracing
from hidet.graph.tensor import alike
from hidet.ir.expr import Expr
from hidet.ops.elementwise.binary import add, multiply
from hidet.ops.elementwise.compare import less
from hidet.ops.elementwise.unary import negative
from hidet.ops.reductions.reduce import sum as sum_
from hidet.types import Size, TensorType, boolean, f32, i64

Array = np.ndarray[Any, Any]
Run = Callable[..., tuple[Array, ...]]
"""The results of a graph for arrays."""
ITERATION, FLAG = TensorType(i64, ()), TensorType(boolean, ())


@operator("if")
class If(Region):
    """What the first branch gives of the captured tensors where the condition holds, else what the
    second one gives.

    `shapes` are those of the results, where branches give other ones: they are what the branch
    gives that runs.
    """

    condition: TensorType
    captured: tuple[TensorType, ...]
    branches: tuple[Body, Body]
    shapes: tuple[tuple[Size, ...], ...] = ()

    def bodies(self) -> dict[str, Body]:
        return {"then": self.branches[0], "else": self.branches[1]}

    def with_bodies(self, change: Callable[[Body], Body]) -> If:
        first, second = map(change, self.branches)
        return replace(self, branches=(first, second))

    def infer(self) -> tuple[TensorType, ...]:
        require("the condition of if", FLAG, self.condition)
        first, second = self.branches
        for each in self.branches:
            agree("if", "captured tensor", self.captured, each.inputs)
        if len(first.outputs) != len(second.outputs):
            raise BadArgument(
                f"the branches of if give {len(first.outputs)} and {len(second.outputs)} tensors"
            )
        for at, (one, other) in enumerate(zip(first.outputs, second.outputs, strict=True)):
            check_branches(at, one, other, bool(self.shapes))
        if not self.shapes:
            return first.outputs
        pairs = zip(first.outputs, self.shapes, strict=True)
        return tuple(each.dtype[shape] for each, shape in pairs)

    def reference(self, condition: Array, captured: tuple[Array, ...]) -> tuple[Array, ...]:
        return self.follow(evaluate, condition, captured)

    def follow(self, run: Run, condition: Array, captured: tuple[Array, ...]) -> tuple[Array, ...]:
        """What it gives where `run` computes graphs."""
        return run(self.branches[0 if condition else 1].graph, *captured)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        x = f32[2, 3]
        double = traced([x], lambda x: [add(x, x)])
        negated = traced([x], lambda x: [negative(x)])
        yield cls(FLAG, (x,), (double, negated))
        yield cls(FLAG, (x,), (double, double))


@operator("loop")
class Loop(Region):
    """Iterations of a body, as long as there is a reason: fewer than `trips` and than `count`, and
    `go_on`. At least one of the three is there.

    The body takes the number of the iteration (i64), the carried tensors and the captured ones; it
    gives `go_on`, if there is one, and what the next iteration carries. Results are what the last
    iteration gives (without an iteration what was carried to the first) and the number of
    iterations.
    """

    go_on: TensorType | None
    trips: TensorType | None
    carried: tuple[TensorType, ...]
    captured: tuple[TensorType, ...]
    body: Body
    count: int | Expr | None = None

    def bodies(self) -> dict[str, Body]:
        return {"body": self.body}

    def with_bodies(self, change: Callable[[Body], Body]) -> Loop:
        return replace(self, body=change(self.body))

    def infer(self) -> tuple[TensorType, ...]:
        if self.go_on is None and self.trips is None and self.count is None:
            raise BadArgument("nothing ends the loop", help="give trips, a count or a condition")
        if self.go_on is not None:
            require("the condition of loop", FLAG, self.go_on)
        if self.trips is not None:
            require("the trips of loop", ITERATION, self.trips)
        agree("loop", "input", (ITERATION, *self.carried, *self.captured), self.body.inputs)
        flags = () if self.go_on is None else (FLAG,)
        check_carried((*flags, *self.carried), self.body.outputs)
        return (*self.carried, ITERATION)

    def reference(
        self,
        go_on: Array | None,
        trips: Array | None,
        carried: tuple[Array, ...],
        captured: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        return self.follow(evaluate, go_on, trips, carried, captured)

    def follow(
        self,
        run: Run,
        go_on: Array | None,
        trips: Array | None,
        carried: tuple[Array, ...],
        captured: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """What it gives where `run` computes graphs."""
        iteration = 0
        while (
            (go_on is None or bool(go_on))
            and (trips is None or iteration < trips)
            and (self.count is None or iteration < int(self.count))  # type: ignore[arg-type]
        ):
            found = run(self.body.graph, np.asarray(iteration, np.int64), *carried, *captured)
            if go_on is not None:
                go_on, *found = found  # type: ignore[assignment]
            carried, iteration = tuple(found), iteration + 1
        return (*carried, np.asarray(iteration, np.int64))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        x = f32[2, 3]
        types = [ITERATION, x, x]
        summed = traced(types, lambda iteration, x, y: [add(multiply(x, 0.5), y)])
        bounded = traced(types, lambda iteration, x, y: [less(sum_(x), 9.0), add(x, y)])
        yield cls(None, None, (x,), (x,), summed, 3)
        yield cls(None, None, (x,), (x,), summed, 0)
        yield cls(None, ITERATION, (x,), (x,), summed)
        yield cls(FLAG, None, (x,), (x,), bounded, 5)
        yield cls(FLAG, ITERATION, (x,), (x,), bounded)


def traced(types: list[TensorType], function: Callable[..., list[Tensor]]) -> Body:
    """The body that a function computes of inputs of these types."""
    inputs = [symbol(each.shape, each.dtype) for each in types]
    with tracing():
        return Body(FlowGraph(inputs, function(*inputs), "body", data_sizes=()))


def require(what: str, wanted: TensorType, given: TensorType) -> None:
    """Raise unless a type is the one that control flow asks for."""
    if given != wanted:
        raise DtypeMismatch(f"{what} is one {wanted.dtype}, not {given}")


def agree(
    name: str, what: str, wanted: tuple[TensorType, ...], given: tuple[TensorType, ...]
) -> None:
    """Raise unless what goes through the border of a body has there the types that it has here."""
    if len(wanted) != len(given):
        raise BadArgument(f"the body of {name} has {len(given)} {what}s, where {len(wanted)} are")
    for at, (here, inside) in enumerate(zip(wanted, given, strict=True)):
        if not alike(here, inside):
            raise ShapeMismatch(f"{what} {at} of {name} is {here}, in the body {inside}")


def check_carried(before: tuple[TensorType, ...], after: tuple[TensorType, ...]) -> None:
    """Raise unless an iteration gives what the next one takes: of the types that it took itself."""
    for at, (one, other) in enumerate(zip(before, after, strict=False)):
        if one.dtype is other.dtype and not alike(one, other):
            raise ShapeMismatch(
                f"result {at} of loop is {one}, in the body {other}: what a loop carries keeps its "
                "shape; rows of its iterations that are results of their own are stacked"
            )
    agree("loop", "result", before, after)


def check_branches(at: int, one: TensorType, other: TensorType, any_shape: bool) -> None:
    """Raise unless both branches give a result of one type, but for its sizes if these are any."""
    if alike(one, other):
        return
    if not any_shape or one.dtype is not other.dtype or len(one.shape) != len(other.shape):
        raise ShapeMismatch(
            f"result {at} of if is {one} in one branch, {other} in the other",
            help="both branches give equal element types and ranks",
        )
