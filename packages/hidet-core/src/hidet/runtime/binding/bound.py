"""A plan at given input shapes: every size a number, every workspace an offset in the arena."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import MappingProxyType

from hidet.errors import BadArchive, DtypeMismatch, ShapeMismatch, input_called
from hidet.runtime.binding.arena import Arena, place
from hidet.runtime.binding.in_results import in_results
from hidet.runtime.binding.order import dependencies, reduced, serial
from hidet.runtime.binding.reuse import reused
from hidet.runtime.devices.view import View
from hidet.runtime.plans import maps
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.plan import (
    Argument,
    Branch,
    Buffer,
    Host,
    Launch,
    Plan,
    Repeat,
    Scalar,
    Step,
    Then,
)
from hidet.runtime.plans.several_iterations import iterations_at_once
from hidet.runtime.plans.sizes import Size, evaluate
from hidet.runtime.plans.spread import spread
from hidet.runtime.plans.variants import at_call

FEW, SHORT = 8, 1 << 16
"""So many launches of so many bytes each, which take less time to move than to be launched, are
best one after the other, since the driver starts a line of launches as one: eight that nothing
connects take an H200 6 us and the host 1.5, side by side 11 us and the host 7. (Many are best
side by side: 200 in 8 lines take 44 us.)"""


NO_PLANS: Mapping[str, Plan] = MappingProxyType({})


@dataclass(frozen=True)
class BoundPlan:
    """What stays the same between calls with the same shapes.

    `steps` are those of the call that do something (no empty grid), their sizes numbers; `waits`
    says which earlier ones each waits for, but for those that they wait for in turn.
    """

    plan: Plan
    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    waits: tuple[frozenset[int], ...]
    arena: Arena
    bodies: Mapping[int, tuple[BoundPlan, ...]]
    """The plans that steps of control flow run, by the number of the step."""
    places: Mapping[int, int]
    """For each workspace the first one that lies in its place: itself, or what it replaces."""
    sizes: Mapping[str, int]
    """The number that each symbol is."""

    @cached_property
    def results(self) -> list[tuple[tuple[int, ...], str]]:
        """The shape and the element type of each output."""
        plan = self.plan
        return [(self.shapes[number], plan.buffers[number].dtype) for number in plan.outputs]

    @cached_property
    def first(self) -> list[int]:
        """The steps that wait for none."""
        return [number for number, waits in enumerate(self.waits) if not waits]

    @cached_property
    def last(self) -> list[int]:
        """The steps that none waits for."""
        waited = set[int]().union(*self.waits)
        return [number for number in range(len(self.steps)) if number not in waited]

    def overlaps(self, number: int) -> bool:
        """Whether a step may begin while the only one it waits for still runs.

        When a launch ends, those before it have ended: it began after them or waited for them. So
        it is enough to wait for the last, whatever the step reads or writes of the others'.
        """
        step = self.steps[number]
        if not (isinstance(step, Launch) and step.waits and len(self.waits[number]) == 1):
            return False
        (before,) = self.waits[number]
        return may_overlap(self.steps[before], step)

    def views(
        self, step: Host, at: Callable[[int], int], device: str
    ) -> tuple[list[View], list[View]]:
        """What a region of the framework's reads, in its shapes, and what it writes; `at` tells
        where a buffer lies."""

        def views(numbers: Sequence[int], shapes: Sequence[Sequence[Size]]) -> list[View]:
            return [
                View(at(number), tuple(shape), self.plan.buffers[number].dtype, device)  # type: ignore[arg-type]
                for number, shape in zip(numbers, shapes, strict=True)
            ]

        read, written = ([self.shapes[n] for n in each] for each in (step.reads, step.writes))
        return views(step.reads, step.shapes or read), views(step.writes, written)

    def nbytes(self, buffer: int) -> int:
        """Bytes of a buffer."""
        return nbytes_of(buffer, self.plan, self.shapes)


def may_overlap(before: Step, step: Launch) -> bool:
    """Whether a launch that waits itself may begin early after step `before`.

    Not after one that writes what it reads ahead of its wait; those further before have ended,
    since that one waited for them before it let this one begin. After one that signals, only if its
    blocks lie evenly wherever they begin (`spread`). That one may write where it reads: what it
    wrote is "made visible to the current grid" by the wait (PTX ISA), so that no cache holds what
    was there.
    """
    if not isinstance(before, Launch) or not set(step.ahead).isdisjoint(before.writes):
        return False
    return not before.signals or step.room is not None


def bind(plan: Plan, inputs: Sequence[View], plans: Mapping[str, Plan] = NO_PLANS) -> BoundPlan:
    """The plan at the shapes of `inputs`; ShapeMismatch says which input does not fit. Of `plans`
    its steps of control flow run some."""
    check_types(plan, inputs)
    check_limits(plan, inputs)
    symbols = {name: inputs[given].shape[axis] for name, (given, axis) in plan.symbols.items()}
    shapes = tuple(shape_of(buffer, symbols) for buffer in plan.buffers)
    check_shapes(plan, inputs, shapes)
    return at_sizes(plan, symbols, shapes, plans)


def at_sizes(
    plan: Plan,
    symbols: Mapping[str, int],
    shapes: tuple[tuple[int, ...], ...],
    plans: Mapping[str, Plan],
) -> BoundPlan:
    """The plan where symbols are these numbers, and buffers have these shapes."""
    steps = [fixed(step, symbols, plan, shapes) for step in at_call(plan.steps, symbols)]
    kept = [step for step in steps if not (isinstance(step, Launch) and 0 in step.grid)]
    kept = in_results(kept, plan, shapes)
    wholes = plan.wholes
    if len(kept) <= FEW and all(is_short(step, plan, shapes) for step in kept):
        waits = serial(len(kept))
    else:
        waits = reduced(dependencies(tuple(kept), wholes))
    if wholes:  # from here on steps write the whole of which they write a part
        kept = [step.on(lambda number: wholes.get(number, number)) for step in kept]
    users: dict[int, list[int]] = {}
    for number, step in enumerate(kept):
        for buffer in {*step.reads, *step.writes}:
            users.setdefault(buffer, []).append(number)
    bodies, shapes = with_bodies(kept, symbols, shapes, plan, plans)
    sizes = {
        number: nbytes_of(number, plan, shapes)
        for number in plan.of_role("workspace")
        if number in users
    }
    arena, places = placed(kept, sizes, users, waits)
    after = tuple(map(frozenset, waits))
    return BoundPlan(plan, shapes, tuple(kept), after, arena, bodies, places, dict(symbols))


def with_bodies(
    steps: Sequence[Step],
    symbols: Mapping[str, int],
    shapes: tuple[tuple[int, ...], ...],
    plan: Plan,
    plans: Mapping[str, Plan],
) -> tuple[dict[int, tuple[BoundPlan, ...]], tuple[tuple[int, ...], ...]]:
    """The bodies of steps at the sizes of their plan, and the shapes with those of their arenas and
    of the numbers of iterations."""
    bodies: dict[int, tuple[BoundPlan, ...]] = {}
    sized = list(shapes)
    for number, step in enumerate(steps):
        if isinstance(step, Branch | Repeat):
            found = tuple(body(plans[name], symbols, plans) for name in step.plans)
            for each in found:
                check_operands(step, each, plan, shapes)
                if isinstance(step, Repeat) and (wrong := misfit(step, each, plan, shapes)):
                    raise BadArchive(wrong)
            bodies[number] = found
            sized[step.arena] = (max(each.arena.nbytes for each in found),)
            if isinstance(step, Repeat):
                sized[step.iteration] = (iterations_at_once(step, found[0].steps),)
    return bodies, tuple(sized)


def body(plan: Plan, symbols: Mapping[str, int], plans: Mapping[str, Plan]) -> BoundPlan:
    """A plan that another one runs, or that follows it, at sizes that are known by then."""
    given = {name: symbols[name] for name in plan.given}
    shapes = tuple(shape_of(buffer, given) for buffer in plan.buffers)
    return at_sizes(plan, given, shapes, plans)


def check_operands(
    step: Branch | Repeat, made: BoundPlan, plan: Plan, shapes: Sequence[tuple[int, ...]]
) -> None:
    """Refuse a body that reads other bytes than the step gives to it."""
    here = [nbytes_of(each, plan, shapes) for each in step.passed[: len(made.plan.inputs)]]
    there = [made.nbytes(each) for each in made.plan.inputs]
    if here != there:
        raise BadArchive(f"a body takes {there} bytes, where its step gives {here}")


def misfit(
    step: Branch | Repeat, made: BoundPlan, plan: Plan, shapes: Sequence[tuple[int, ...]]
) -> str:
    """What is wrong with a body that writes other bytes than the step has place for; what follows
    it is checked when its sizes are known.

    Of two branches one may do so where data tell the sizes of results: the one that does not run.
    """
    results = made.plan.own(step.passed[len(made.plan.inputs) :])
    here = [nbytes_of(each, plan, shapes) for each in results]
    there = [made.nbytes(each) for each in made.plan.own_outputs]
    if here == there:
        return ""
    return f"a body gives {there} bytes, where its step has place for {here}"


def check_forwarded(before: BoundPlan, then: Then, following: BoundPlan) -> None:
    """Refuse a plan that reads other bytes than the one before it hands to it."""
    here = [before.nbytes(each) for each in then.forwarded]
    there = [following.nbytes(each) for each in following.plan.inputs]
    if here != there:
        raise BadArchive(f"plan {then.plan!r} takes {there} bytes, where it is given {here}")


def is_short(step: Step, plan: Plan, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a step is over in about the time that a launch takes, as far as bytes tell."""
    touched = {*step.reads, *step.writes}
    nbytes = sum(nbytes_of(each, plan, shapes) for each in touched)
    return isinstance(step, Launch) and nbytes <= SHORT


def nbytes_of(buffer: int, plan: Plan, shapes: Sequence[tuple[int, ...]]) -> int:
    """Bytes of a plan's buffer, the shapes of all of them being numbers."""
    return prod(shapes[buffer]) * plan.buffers[buffer].item_bytes


def placed(
    steps: Sequence[Step],
    sizes: Mapping[int, int],
    users: Mapping[int, Sequence[int]],
    waits: Sequence[set[int]],
) -> tuple[Arena, dict[int, int]]:
    """Where workspaces lie; one takes an operand's place only if that makes the arena smaller."""
    apart = place(sizes, users, waits)
    places = reused(steps, sizes, users, waits)
    if all(each == first for each, first in places.items()):
        return apart, places
    merged: dict[int, set[int]] = {}
    for each, first in places.items():
        merged.setdefault(first, set()).update(users[each])
    together = place({each: sizes[each] for each in merged}, merged, waits)
    if together.nbytes >= apart.nbytes:
        return apart, {each: each for each in sizes}
    offsets = {each: together.offsets[first] for each, first in places.items()}
    return Arena(offsets, together.nbytes), places


def fixed(
    step: Step, symbols: Mapping[str, int], plan: Plan, shapes: Sequence[tuple[int, ...]]
) -> Step:
    """A step with every size a number."""
    if isinstance(step, Branch):
        return step
    if isinstance(step, Host):
        at = tuple(tuple(evaluate(size, symbols) for size in shape) for shape in step.shapes)
        return replace(step, shapes=at)
    if isinstance(step, Repeat):
        count = None if step.count is None else evaluate(step.count, symbols)
        return replace(step, count=count)
    x, y, z = (evaluate(each, symbols) for each in step.grid)
    if 0 in (x, y, z):  # not launched; tensor maps of nothing are none
        return replace(step, args=(), grid=(x, y, z))
    args: list[Argument] = []
    for arg in step.args:
        if isinstance(arg, Scalar):
            arg = Scalar(arg.dtype, evaluate(arg.value, symbols))
        elif isinstance(arg, Map):
            nbytes = nbytes_of(arg.buffer, plan, shapes)
            arg = maps.fixed(arg, symbols, plan.buffers[arg.buffer].name, nbytes)
        args.append(arg)
    return spread(replace(step, args=tuple(args), grid=(x, y, z)))


def shape_of(buffer: Buffer, symbols: Mapping[str, int]) -> tuple[int, ...]:
    """A buffer's sizes as numbers; ShapeMismatch if the inputs leave no sensible ones."""
    try:
        shape = tuple(evaluate(size, symbols) for size in buffer.shape)
    except ZeroDivisionError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        given = ", ".join(f"{name} = {size}" for name, size in symbols.items())
        raise ShapeMismatch(f"{buffer.name} cannot have the shape {typed(buffer)} with {given}")
    return shape


def check_count(plan: Plan, count: int) -> None:
    """Raise unless there are as many inputs as the plan has."""
    if count != len(plan.inputs):
        taken = (
            f"{called(plan, position)} {typed(plan.buffers[number])}"
            for position, number in enumerate(plan.inputs)
        )
        noun = "input" if count == 1 else "inputs"
        raise ShapeMismatch(
            f"{count} {noun} for a graph of {len(plan.inputs)}",
            help=f"it takes {', '.join(taken) or 'none'}",
        )


def check_types(plan: Plan, inputs: Sequence[View]) -> None:
    """Raise unless the inputs have the number, ranks and element types of the plan's."""
    check_count(plan, len(inputs))
    for position, (given, number) in enumerate(zip(inputs, plan.inputs, strict=True)):
        buffer = plan.buffers[number]
        if given.dtype != buffer.dtype:
            to = buffer.dtype
            said = refusal(plan, position, given)
            raise DtypeMismatch(said, help=f"cast it first: `x.astype({to!r})`, `x.to(torch.{to})`")
        if len(given.shape) != len(buffer.shape):
            raise ShapeMismatch(refusal(plan, position, given))


def check_limits(plan: Plan, inputs: Sequence[View]) -> None:
    """Raise unless the sizes of inputs, whose ranks are right, are within their limits."""
    for name, (low, high) in plan.limits.items():
        position, axis = plan.symbols[name]
        given = inputs[position]
        if given.shape[axis] < low or (high is not None and given.shape[axis] > high):
            said = f"{refusal(plan, position, given)}, where {name} is {between(low, high)}"
            raise ShapeMismatch(said)


def check_shapes(plan: Plan, inputs: Sequence[View], shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise unless the inputs' sizes agree with each other and with the plan."""
    for position, (given, number) in enumerate(zip(inputs, plan.inputs, strict=True)):
        if tuple(given.shape) != shapes[number]:
            buffer = plan.buffers[number]
            sizes = zip(given.shape, shapes[number], buffer.shape, strict=True)
            fixed = all(isinstance(size, int) for a, b, size in sizes if a != b)
            here = "" if fixed else f", here {list(shapes[number])}"
            why = reasons(plan, position, given.shape, shapes[number])
            raise ShapeMismatch(refusal(plan, position, given) + here, help=why)


def refusal(plan: Plan, position: int, given: View) -> str:
    """An input as it is, and as the graph takes it."""
    name, buffer = called(plan, position), plan.buffers[plan.inputs[position]]
    return f"{input_called(name)} is {typed(given)}; the graph takes {typed(buffer)}"


def reasons(plan: Plan, position: int, given: Sequence[int], wanted: Sequence[int]) -> str | None:
    """Why the axes that differ have the sizes they have, where the model does not say it of its
    inputs."""
    found = [
        f"`{each.symbol}` of the model has to be {wanted[each.axis]}"
        + (f": {each.place}" * bool(each.place))
        for each in plan.guards
        if each.input == position and given[each.axis] != wanted[each.axis]
    ]
    return "; ".join(found) or None


def called(plan: Plan, position: int) -> str:
    """What users call an input: by its name if they gave one, else by its number."""
    name = plan.input_names[position]
    return str(position) if name == f"input{position}" else name


def between(low: int, high: int | None) -> str:
    """Limits as messages show them."""
    least, most = ["at least " + str(low)] * (low > 0), [f"at most {high}"] * (high is not None)
    return " and ".join([*least, *most])


def typed(of: Buffer | View) -> str:
    """A tensor's element type and shape, as messages show it."""
    return f"{of.dtype}[{', '.join(map(spelled, of.shape))}]"


def spelled(size: Size) -> str:
    """A size as a person writes it."""
    if isinstance(size, list | tuple):
        operator, left, right = size
        if operator in ("min", "max"):
            return f"{operator}({spelled(left)}, {spelled(right)})"
        return f"({spelled(left)} {operator} {spelled(right)})"
    return str(size)
