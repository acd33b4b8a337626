"""What follows an anchor, computed where its sums are: in registers, ahead of their rounding.

A schedule that brings results through shared memory in their own type has two hooks for a result:
`from_accumulators` where it has sums, and `put` where it writes what became of them.

before   held = c.from_accumulators(i, j, total);  ...  c.put(i, j, staged)
after    held = f16(gelu(total));                 ...  y.put(i, j, staged)

What reads other tensors is computed where `put` is, from whole lines of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute import Grid
from hidet.errors import InternalError
from hidet.fusion.epilogue import Epilogue, Result, place_of, stored
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.group import Group
from hidet.ir.expr import Expr, FromAccumulators, Get, Var
from hidet.ir.kernel import Module
from hidet.ir.node import Node
from hidet.ir.stmt import Body, Put
from hidet.ir.walk import find, replaced, substitute
from hidet.schedules.automatic.expand import Expansion
from hidet.schedules.base import AccumulatorEpilogue
from hidet.types import TensorType, i32


class OnAccumulators(Epilogue):
    """What follows in two steps: a value made of sums, and the write of that."""

    def __init__(self, value: Var, results: Sequence[Result], read: Expansion) -> None:
        super().__init__(value, results, read)
        self.count, self.neighbours = self.neighbours, 1
        (self.result,) = results
        self.axes = tuple(Var(f"i{axis}", i32) for axis in range(ndim(value)))
        self.whole = self.element(self.result, self.axes, lambda e: e)
        """The element at `axes`, made of the anchor's there, or of two of these."""

    @property
    def is_alone(self) -> bool:
        """Whether it reads nothing but what the anchor has summed up."""
        return all(each.tensor is self.value for each in find(self.whole, Get))

    def instead(self, hook: Node) -> Node | Body:
        """What becomes of a hook on the anchor's result."""
        return self.computed(hook) if isinstance(hook, FromAccumulators) else super().instead(hook)

    def computed(self, e: FromAccumulators) -> Expr:
        """What becomes of sums."""
        own = [each for each in find(self.whole, Get) if each.tensor is self.value]
        known: dict[Expr, Expr] = {each: e.sums[place_of(each.index[-1])] for each in own}
        index = dict(zip(self.axes, self.place(e.index), strict=True))
        return substitute(replaced(self.whole, known), index)

    def place(self, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where what is made of the anchor's element at an index goes, but for its landing."""
        return (*index[:-1], index[-1] // self.count) if self.count > 1 else index

    def put(self, write: Put) -> Put | Body:
        """The write of a value that was computed before."""
        return (stored(self.result, self.place(write.index), write.value, write),)


def accumulator_epilogue(group: Group) -> AccumulatorEpilogue | None:
    """What a schedule has to know of what follows the anchor, to have it computed where its sums
    are; None if nothing needs them in float32, or more than these is read, or stored."""
    assert group.anchor is not None
    if group.last is group.anchor or len(group.results) > 1:
        return None
    after, of = EpilogueDefinition(group), group.anchor.outputs[0].dtype
    where = after.landings()
    (out,) = group.results
    if where is None or not after.is_wide or out.dtype is not of or where[out].neighbours > 2:
        return None
    tensors: dict[Grid, Var] = {grid: Var("x", each.type) for each, grid in after.inputs.items()}
    tensors[after.value] = value = Var("value", after.value.type)
    made = Result(Var("y", out.type), after.grids[out], where[out])
    how = OnAccumulators(value, [made], Expansion(tensors))
    return AccumulatorEpilogue(how.count == 2) if how.is_alone else None


def has_accumulator_epilogue(module: Module) -> bool:
    """Whether a scheduled module has what follows computed where its sums are."""
    return any(True for kernel in module.kernels for _ in find(kernel.body, FromAccumulators))


def ndim(tensor: Var) -> int:
    """How many axes a tensor has."""
    if not isinstance(tensor.of, TensorType):
        raise InternalError(f"{tensor.name} is no tensor")
    return len(tensor.of.shape)
