"""A plan at given input shapes: every size a number, every workspace an offset in the arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from hidet.errors import ShapeMismatch
from hidet.runtime.arena import Arena, place
from hidet.runtime.memory import View
from hidet.runtime.plan import Host, Launch, Plan, Scalar, Step, dependencies
from hidet.runtime.sizes import evaluate


@dataclass(frozen=True)
class BoundPlan:
    """What stays the same between calls with the same shapes.

    `steps` are those that do something (no empty grid), their sizes numbers; `waits` says which
    earlier ones each waits for.
    """

    plan: Plan
    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    waits: tuple[frozenset[int], ...]
    arena: Arena

    def nbytes(self, buffer: int) -> int:
        """Bytes of a buffer."""
        return prod(self.shapes[buffer]) * self.plan.buffers[buffer].item_bytes


def bind(plan: Plan, inputs: Sequence[View]) -> BoundPlan:
    """The plan at the shapes of `inputs`; ShapeMismatch says which input does not fit."""
    symbols = {
        name: inputs[given].shape[axis]
        for name, (given, axis) in plan.symbols.items()
        if axis < len(inputs[given].shape)
    }
    check_inputs(plan, inputs, symbols)
    shapes = tuple(tuple(evaluate(n, symbols) for n in buffer.shape) for buffer in plan.buffers)
    steps = [fixed(step, symbols) for step in plan.steps]
    kept = [step for step in steps if not (isinstance(step, Launch) and 0 in step.grid)]
    waits = dependencies(tuple(kept))
    users: dict[int, list[int]] = {}
    for number, step in enumerate(kept):
        for buffer in {*step.reads, *step.writes}:
            users.setdefault(buffer, []).append(number)
    sizes = {
        number: prod(shapes[number]) * plan.buffers[number].item_bytes
        for number in plan.of_role("workspace")
        if number in users
    }
    arena = place(sizes, users, waits)
    return BoundPlan(plan, shapes, tuple(kept), tuple(map(frozenset, waits)), arena)


def fixed(step: Step, symbols: Mapping[str, int]) -> Step:
    """A step with every size a number."""
    if isinstance(step, Host):
        return step
    args = tuple(
        Scalar(arg.dtype, evaluate(arg.value, symbols)) if isinstance(arg, Scalar) else arg
        for arg in step.args
    )
    x, y, z = (evaluate(each, symbols) for each in step.grid)
    return replace(step, args=args, grid=(x, y, z))


def check_inputs(plan: Plan, inputs: Sequence[View], symbols: Mapping[str, int]) -> None:
    """Raise unless the inputs are those that the plan was made for."""
    if len(inputs) != len(plan.inputs):
        raise ShapeMismatch(f"{len(inputs)} inputs for a graph of {len(plan.inputs)}")
    for position, (given, number) in enumerate(zip(inputs, plan.inputs, strict=True)):
        buffer = plan.buffers[number]
        expected = f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"
        found = f"{given.dtype}[{', '.join(map(str, given.shape))}]"
        if len(given.shape) != len(buffer.shape) or given.dtype != buffer.dtype:
            raise ShapeMismatch(f"input {position} is {found}; the graph takes {expected}")
        wanted = tuple(evaluate(size, symbols) for size in buffer.shape)
        if tuple(given.shape) != wanted:
            raise ShapeMismatch(f"input {position} is {found}; the graph takes {expected}")
