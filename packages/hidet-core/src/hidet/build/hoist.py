"""Launches that read constants alone run once: they go from the main plan to the prepare plan.

So the weights that a schedule reads in another order are brought into that order before the first
call, whichever schedule was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from hidet.runtime.maps import Map
from hidet.runtime.plan import Buffer, Launch, Plan, Scalar, Step
from hidet.runtime.sizes import Size

MADE_BYTES = 1 << 20
"""How large what is made from nothing may be to be kept between calls."""


def hoist(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans of a call, and "prepare" if there is one, with such launches in the latter."""
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
    moved = movable(main)
    if not moved:
        return dict(plans)
    prepare = plans.get("prepare") or Plan(main.target, (), (), (), ())
    rest = [step for number, step in enumerate(main.steps) if number not in moved]
    kept = prepare.outputs if shared else ()
    extended = Extended(prepare, main, [main.steps[number] for number in moved], rest, kept)
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


def movable(main: Plan) -> dict[int, None]:
    """The steps that read constants alone and write nothing but workspaces of their own."""
    written: dict[int, int] = {}
    for step in main.steps:
        for each in step.writes:
            written[each] = written.get(each, 0) + 1
    known = {n for n, b in enumerate(main.buffers) if b.role in ("weight", "derived")} - {*written}
    found: dict[int, None] = {}
    for number, step in enumerate(main.steps):
        own = all(main.buffers[n].role == "workspace" and written[n] == 1 for n in step.writes)
        if own and known.issuperset(step.reads) and is_fixed(step, main) and pays(step, main):
            found[number] = None
            known.update(step.writes)
    return found


def is_fixed(step: Step, plan: Plan) -> bool:
    """Whether a step is a launch and has no size that depends on a call."""
    if not isinstance(step, Launch):
        return False
    sizes: list[Size] = [*step.grid]
    for arg in step.args:
        if isinstance(arg, Scalar):
            sizes.append(arg.value)
        elif isinstance(arg, Map):
            sizes += (*arg.shape, *arg.strides)
    for each in (*step.reads, *step.writes):
        sizes += plan.buffers[each].shape
    return all(isinstance(size, int) for size in sizes)


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
        self.steps = (*prepare.steps, *(step.on(self.find) for step in moved))
        read = dict.fromkeys(each for step in rest for each in step.reads)
        self.wanted = [n for n in read if n in self.place and main.buffers[n].role != "weight"]

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
        return Plan(self.old.target, buffers, self.steps, (), outputs)

    def main(self) -> Plan:
        """The main plan, without buffers that nothing in it uses."""
        old, outputs = self.old, self.plan().outputs
        used = {each for step in self.rest for each in (*step.reads, *step.writes)}
        used |= {old.wholes[each] for each in used if each in old.wholes}
        used |= {*old.inputs, *old.outputs}
        if old.then is not None:
            used |= {*old.then.handed, *(each.buffer for each in old.then.told)}
        kept = [n for n in range(len(old.buffers)) if n in used]
        buffers = list(old.buffers)
        for each in self.wanted:
            name = f"derived{outputs.index(self.place[each])}"
            buffers[each] = replace(old.buffers[each], name=name, role="derived")
        place = {number: position for position, number in enumerate(kept)}
        for part, whole in old.wholes.items():
            buffers[part] = replace(buffers[part], within=place.get(whole))
        return Plan(
            old.target,
            tuple(buffers[each] for each in kept),
            tuple(step.on(place.__getitem__) for step in self.rest),
            tuple(place[each] for each in old.inputs),
            tuple(place[each] for each in old.outputs),
            old.symbols,
            given=old.given,
            then=None if old.then is None else old.then.on(place.__getitem__),
        )


def as_output(buffer: Buffer, number: int, outputs: Sequence[int]) -> Buffer:
    """A buffer that a prepare plan makes: an output, or a workspace on the way to one, or a part of
    either."""
    if buffer.role == "part":
        return buffer
    if number in outputs:
        return replace(buffer, name=f"output{outputs.index(number)}", role="output")
    return replace(buffer, role="workspace")
