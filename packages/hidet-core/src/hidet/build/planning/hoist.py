"""Launches that read constants alone run once: they go from the main plan to the prepare plan.

So the weights that a schedule reads in another order are brought into that order before the first
call, whichever schedule was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from hidet.build.planning.invariant import compacted, lifted, movable
from hidet.runtime.plans.plan import Buffer, Launch, Plan, Step, has_fixed_sizes
from hidet.runtime.plans.sizes import Size

MADE_BYTES = 1 << 20
"""How large what is made from nothing may be to be kept between calls."""


def hoist(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans of a call, and "prepare" if there is one, with such launches in the latter; what
    is the same in each iteration of a loop leaves its body before."""
    plans = lifted(plans)
    if plans["main"].then is None:
        return hoisted(plans, "main")
    found, name = dict(plans), "main"
    while (then := found[name].then) is not None:
        found, name = hoisted(found, name, shared=True), then.plan
    return without_unread(hoisted(found, name, shared=True))


def hoisted(plans: Mapping[str, Plan], name: str, shared: bool = False) -> dict[str, Plan]:
    """The plans with such launches of one of them in "prepare", whose outputs others read too if it
    is `shared`."""
    main = plans[name]
    moved = movable(main, constants(main), is_kept)
    if not moved:
        return dict(plans)
    prepare = plans.get("prepare") or Plan(main.target, (), (), (), ())
    rest = [step for number, step in enumerate(main.steps) if number not in moved]
    kept = prepare.outputs if shared else ()
    steps = [always(main.steps[number]) for number in moved]
    extended = Extended(prepare, main, steps, rest, kept)
    return {**plans, name: extended.main(), "prepare": extended.plan()}


def without_unread(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans without outputs of "prepare" that no other one reads."""
    prepare = plans.get("prepare")
    if prepare is None:
        return dict(plans)
    read = {plan.buffers[n].name for plan in plans.values() for n in plan.of_role("derived")}
    kept = [at for at in range(len(prepare.outputs)) if f"derived{at}" in read]
    names = {f"derived{old}": f"derived{new}" for new, old in enumerate(kept)}
    outputs = tuple(prepare.outputs[at] for at in kept)
    buffers = tuple(
        as_output(each, number, outputs) if each.role == "output" else each
        for number, each in enumerate(prepare.buffers)
    )
    found = {
        name: replace(
            plan,
            buffers=tuple(
                replace(b, name=names[b.name]) if b.role == "derived" else b for b in plan.buffers
            ),
        )
        for name, plan in plans.items()
    }
    return {**found, "prepare": replace(prepare, buffers=buffers, outputs=outputs)}


def constants(plan: Plan) -> set[int]:
    """The buffers that no call changes."""
    written = {each for step in plan.steps for each in step.writes}
    return {n for n, b in enumerate(plan.buffers) if b.role in ("weight", "derived")} - written


def is_kept(step: Step, plan: Plan) -> bool:
    """Whether what a step makes of constants is kept between calls."""
    return is_fixed(step, plan) and pays(step, plan)


def is_fixed(step: Step, plan: Plan) -> bool:
    """Whether a step is a launch and has no size that depends on a call."""
    if not (isinstance(step, Launch) and has_fixed_sizes(step)):
        return False
    touched = (plan.buffers[each] for each in (*step.reads, *step.writes))
    return all(isinstance(size, int) for each in touched for size in each.shape)


def always(step: Step) -> Step:
    """A step without conditions: what is made before the first call is there for all of them."""
    return replace(step, when=()) if isinstance(step, Launch) else step


def pays(step: Step, plan: Plan) -> bool:
    """Whether to keep what a launch writes: unless it is large and made from nothing."""
    if step.reads:
        return True
    made = (plan.buffers[each] for each in step.writes)
    return sum(prod(map(whole, each.shape)) * each.item_bytes for each in made) <= MADE_BYTES


def whole(size: Size) -> int:
    """A size that is a number."""
    assert isinstance(size, int)
    return size


class Extended:
    """A prepare plan with launches of the main one after its own, and what is left of that."""

    def __init__(
        self,
        prepare: Plan,
        main: Plan,
        moved: Sequence[Step],
        rest: Sequence[Step],
        kept: Sequence[int] = (),
    ) -> None:
        self.old, self.rest, self.kept = main, rest, kept
        self.buffers = list(prepare.buffers)
        weights = {b.name: n for n, b in enumerate(prepare.buffers) if b.role == "weight"}
        self.place: dict[int, int] = {}
        """Where the main plan's constants are in this one."""
        for number, each in enumerate(main.buffers):
            if each.role == "derived":
                self.place[number] = prepare.outputs[int(each.name.removeprefix("derived"))]
            elif each.role == "weight" and each.name in weights:
                self.place[number] = weights[each.name]
        self.steps = [*prepare.steps]
        self.made: dict[object, Step] = {}
        """For each launch of the main plan, with its operands here and the types of what it
        writes, the one that is here for it."""
        for step in moved:
            self.add(step)
        read = dict.fromkeys(each for step in rest for each in step.reads)
        self.wanted = [n for n in read if n in self.place and main.buffers[n].role != "weight"]

    def add(self, step: Step) -> None:
        """A launch of the main plan, which makes nothing anew if another one has made the same: a
        weight that several steps read in another order is brought into it once."""
        written = {each: -1 - position for position, each in enumerate(step.writes)}
        same = step.on(lambda each: written[each] if each in written else self.find(each))
        types = [(self.old.buffers[each].dtype, self.old.buffers[each].shape) for each in written]
        alike = (same, *types)
        if alike in self.made:
            self.place.update(zip(step.writes, self.made[alike].writes, strict=True))
        else:
            self.made[alike] = step.on(self.find)
            self.steps.append(self.made[alike])

    def find(self, number: int) -> int:
        """The buffer of this plan for one of the main plan's."""
        if number not in self.place:
            self.place[number] = len(self.buffers)
            self.buffers.append(self.old.buffers[number])
        return self.place[number]

    def plan(self) -> Plan:
        """The prepare plan; its outputs are those that are kept, and what the main plan still
        reads."""
        wanted = (self.place[each] for each in self.wanted)
        outputs = tuple(dict.fromkeys((*self.kept, *wanted)))
        buffers = tuple(
            buffer if buffer.role == "weight" else as_output(buffer, number, outputs)
            for number, buffer in enumerate(self.buffers)
        )
        return Plan(self.old.target, buffers, tuple(self.steps), (), outputs)

    def main(self) -> Plan:
        """The main plan, without buffers that nothing in it uses."""
        old, outputs = self.old, self.plan().outputs
        buffers = list(old.buffers)
        for each in self.wanted:
            name = f"derived{outputs.index(self.place[each])}"
            buffers[each] = replace(old.buffers[each], name=name, role="derived")
        return compacted(replace(old, buffers=tuple(buffers), steps=tuple(self.rest)))


def as_output(buffer: Buffer, number: int, outputs: Sequence[int]) -> Buffer:
    """A buffer that a prepare plan makes: an output, or a workspace on the way to one, or a part of
    either."""
    if buffer.role == "part":
        return buffer
    if number in outputs:
        return replace(buffer, name=f"output{outputs.index(number)}", role="output")
    return replace(buffer, role="workspace")
