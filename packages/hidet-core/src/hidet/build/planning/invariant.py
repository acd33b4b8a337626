"""Launches whose results are the same in each iteration of a loop run before it, once.

A launch of a body that reads nothing but captured tensors becomes one of the plan that runs the
body, and what it writes is captured. Innermost bodies come first, so a launch goes up as far as it
can: where it reads weights alone, into the main plan and from there into the prepare plan. So the
weights of a loop are packed once, not in each iteration. Out of branches, of which one may never
run, only launches that read constants are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from hidet.runtime.plans.plan import Branch, Buffer, Launch, Plan, Repeat, Step


def lifted(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans with such launches in those that run the bodies."""
    made = dict(plans)
    fixed = constant_buffers(plans)
    for name in sorted(plans, key=depth, reverse=True):
        if any(isinstance(step, Branch | Repeat) for step in plans[name].steps):
            made[name] = Caller(made, name, fixed).plan()
    return made


def depth(name: str) -> int:
    """How many plans run each other down to this one: `main.loop3.body` is one below `main`."""
    return name.count(".")


def constant_buffers(plans: Mapping[str, Plan]) -> dict[str, set[int]]:
    """For each plan the buffers that no call changes."""
    found: dict[str, set[int]] = {}
    for name in sorted(plans, key=depth):
        plan = plans[name]
        constant = found.setdefault(name, set())
        constant |= {n for n, b in enumerate(plan.buffers) if b.role in ("weight", "derived")}
        constant -= {each for step in plan.steps for each in step.writes}
        for step in plan.steps:
            if isinstance(step, Branch | Repeat):
                for body in step.plans:
                    pairs = zip(plans[body].inputs, given(step), strict=True)
                    found[body] = {inner for inner, outer in pairs if outer in constant}
    return found


def given(step: Branch | Repeat) -> tuple[int, ...]:
    """The buffers that stand for the inputs of a step's plans."""
    if isinstance(step, Branch):
        return step.operands
    return (step.iteration, *step.carried, *step.captured)


def movable(
    plan: Plan, known: Collection[int], is_wanted: Callable[[Step, Plan], bool]
) -> dict[int, None]:
    """The wanted steps that read known buffers alone and write nothing but workspaces of their
    own, which are then known, too."""
    written: dict[int, int] = {}
    for step in plan.steps:
        for each in step.writes:
            written[each] = written.get(each, 0) + 1
    seen = {*known} - {*written}
    found: dict[int, None] = {}
    for number, step in enumerate(plan.steps):
        own = all(plan.buffers[n].role == "workspace" and written[n] == 1 for n in step.writes)
        if own and seen.issuperset(step.reads) and is_wanted(step, plan):
            found[number] = None
            seen.update(step.writes)
    return found


class Caller:
    """A plan that runs bodies, with launches of theirs before the steps that do so."""

    def __init__(self, plans: dict[str, Plan], name: str, fixed: Mapping[str, set[int]]) -> None:
        self.plans, self.old, self.fixed = plans, plans[name], fixed[name]
        self.buffers: list[Buffer] = list(self.old.buffers)
        self.steps: list[Step] = []

    def plan(self) -> Plan:
        """The plan; the bodies are changed with it."""
        for step in self.old.steps:
            if isinstance(step, Branch | Repeat):
                for name in step.plans:
                    step = self.without_invariant(step, name)
            self.steps.append(step)
        return replace(self.old, buffers=tuple(self.buffers), steps=tuple(self.steps))

    def without_invariant(self, step: Branch | Repeat, name: str) -> Branch | Repeat:
        """A step whose body `name` has no invariant launch any more: those are steps here."""
        body = self.plans[name]
        place = dict(zip(body.inputs, given(step), strict=True))
        moved = movable(body, self.known(step, body, place), self.is_wanted(step))
        if not moved:
            return step
        for number in moved:
            self.steps.append(body.steps[number].on(lambda each: self.find(place, body, each)))
        rest = tuple(each for n, each in enumerate(body.steps) if n not in moved)
        made = {each for number in moved for each in body.steps[number].writes}
        wanted = [n for n in dict.fromkeys(r for each in rest for r in each.reads) if n in made]
        for each in step.plans:
            self.plans[each] = (
                taking(replace(body, steps=rest), wanted)
                if each == name
                else taking_more(self.plans[each], [body.buffers[n] for n in wanted])
            )
        more = tuple(place[each] for each in wanted)
        if isinstance(step, Branch):
            return replace(step, operands=(*step.operands, *more))
        return replace(step, captured=(*step.captured, *more))

    def known(self, step: Branch | Repeat, body: Plan, place: Mapping[int, int]) -> set[int]:
        """The inputs of a body that are the same in each iteration, or constants if it is a
        branch."""
        if isinstance(step, Repeat):
            return set(body.inputs[1 + len(step.carried) :])
        return {inner for inner, outer in place.items() if outer in self.fixed}

    def is_wanted(self, step: Branch | Repeat) -> Callable[[Step, Plan], bool]:
        """Whether a step is taken out of a body: a launch, of a branch only if it reads
        constants."""
        is_loop = isinstance(step, Repeat)
        return lambda each, plan: isinstance(each, Launch) and (is_loop or bool(each.reads))

    def find(self, place: dict[int, int], body: Plan, number: int) -> int:
        """The buffer of this plan for one of a body's."""
        if number not in place:
            place[number] = len(self.buffers)
            self.buffers.append(replace(body.buffers[number], name=f"t{len(self.buffers)}"))
            self.fixed.add(place[number])
        return place[number]


def taking(body: Plan, numbers: Sequence[int]) -> Plan:
    """A body that gets workspaces of its own from outside."""
    buffers = list(body.buffers)
    for position, each in enumerate(numbers, len(body.inputs)):
        buffers[each] = replace(buffers[each], name=f"input{position}", role="input")
    return compacted(replace(body, buffers=tuple(buffers), inputs=(*body.inputs, *numbers)))


def taking_more(body: Plan, more: Sequence[Buffer]) -> Plan:
    """A body that gets what another branch needs, and does not read it."""
    first, buffers = len(body.inputs), len(body.buffers)
    added = (
        replace(each, name=f"input{position}", role="input")
        for position, each in enumerate(more, first)
    )
    inputs = (*body.inputs, *range(buffers, buffers + len(more)))
    return replace(body, buffers=(*body.buffers, *added), inputs=inputs)


def compacted(plan: Plan) -> Plan:
    """The plan without buffers that nothing in it uses."""
    used = {each for step in plan.steps for each in (*step.reads, *step.writes)}
    used |= {plan.wholes[each] for each in used if each in plan.wholes}
    if plan.then is not None:
        used |= {*plan.then.forwarded, *(each.buffer for each in plan.then.data_sizes)}
    kept = sorted({*used, *plan.inputs, *plan.outputs})
    place = {number: position for position, number in enumerate(kept)}
    buffers = list(plan.buffers)
    for part, whole in plan.wholes.items():
        buffers[part] = replace(buffers[part], within=place.get(whole))
    return replace(
        plan,
        buffers=tuple(buffers[each] for each in kept),
        steps=tuple(step.on(place.__getitem__) for step in plan.steps),
        inputs=tuple(place[each] for each in plan.inputs),
        outputs=tuple(place[each] for each in plan.outputs),
        then=None if plan.then is None else plan.then.on(place.__getitem__),
    )
