"""Results that a caller wants where one of its inputs lies, written there by the launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hidet.errors import InternalError
from hidet.runtime.binding.reuse import times_given
from hidet.runtime.plans.plan import Launch, Plan, Step
from hidet.runtime.plans.variants import cases, exclude


def written_over(plan: Plan, wanted: Mapping[int, int]) -> tuple[Plan, frozenset[int]]:
    """The plan with outputs written where inputs lie, and the numbers of those that could be.

    `wanted` has the number of an input, of each another one, for that of an output. Such an output
    does not come out. It is written there if all that reads the input comes before, or is the
    launch that writes it and may write over this operand. None is where another plan follows, which
    may read the input too.
    """
    if plan.then is not None:
        return plan, frozenset()
    if len(set(wanted.values())) < len(wanted):
        raise InternalError(f"several outputs are to lie where one input does: {wanted}")
    given_plan, plan = plan, with_writers_last(plan, [plan.outputs[out] for out in wanted])
    done = {out: given for out, given in wanted.items() if may_lie(plan, out, given)}
    if not done:
        return given_plan, frozenset()
    places = {plan.outputs[out]: plan.inputs[given] for out, given in done.items()}
    steps = tuple(step.on(lambda n: places.get(n, n)) for step in plan.steps)
    buffers = list(plan.buffers)
    for new in places:
        buffers[new] = replace(buffers[new], role="input")
    outputs = tuple(number for out, number in enumerate(plan.outputs) if out not in done)
    changed = replace(plan, steps=steps, buffers=tuple(buffers), outputs=outputs)
    return changed, frozenset(done)


def with_writers_last(plan: Plan, numbers: list[int]) -> Plan:
    """The plan with steps at its end that write some of these outputs, where no other needs them:
    others may read then what lies in their place."""
    last: list[Step] = []
    rest = list(plan.steps)
    for step in plan.steps:
        others = [each for each in rest if each is not step]
        beside = [each for each in others if not exclude(each, step)]
        used = {number for each in beside for number in (*each.reads, *each.writes)}
        wanted = not set(numbers).isdisjoint(step.writes)
        if wanted and isinstance(step, Launch) and used.isdisjoint(step.writes):
            rest, last = others, [*last, step]
    return replace(plan, steps=(*rest, *last))


def may_lie(plan: Plan, out: int, given: int) -> bool:
    """Whether an output may lie where an input does, whatever launches a call's sizes choose."""
    found = cases(plan, plan.outputs[out])
    return bool(found) and all(lies(each, out, given) for each in found)


def lies(plan: Plan, out: int, given: int) -> bool:
    """Whether an output that is written in one way alone may lie where an input does."""
    new, old = plan.outputs[out], plan.inputs[given]
    one, other = plan.buffers[new], plan.buffers[old]
    if (one.dtype, one.shape) != (other.dtype, other.shape) or new in plan.wholes.values():
        return False
    writers = [number for number, step in enumerate(plan.steps) if new in step.writes]
    if len(writers) != 1 or any(old in step.writes for step in plan.steps):
        return False
    (writer,) = writers
    readers = [number for number, step in enumerate(plan.steps) if old in step.reads]
    if any(number > writer for number in readers):
        return False
    step = plan.steps[writer]
    if not isinstance(step, Launch) or writer not in readers:
        return isinstance(step, Launch)
    once = times_given(step, new) == times_given(step, old) == 1
    return once and (new, old) in step.in_place
