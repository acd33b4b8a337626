"""Plans that run other plans of an archive: what has to hold, whoever wrote the file."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.errors import BadArchive
from hidet.runtime.plan import Branch, Buffer, Plan, Repeat

MAX_DEPTH = 32
"""How deep plans may run plans."""


def check_calls(plans: Mapping[str, Plan]) -> None:
    """Refuse plans of which one is run by two steps, by itself or by none that can begin, and steps
    that give to a plan what it does not take."""
    used: set[str] = set()
    for name in plans:
        base, _, target = name.partition("@")
        if base in ("main", "prepare"):
            check_below(name, plans, f"@{target}" if target else "", 0, used)
    lost = set(plans) - used
    if lost:
        raise BadArchive(f"nothing runs the plans {', '.join(sorted(lost))}"[:200])


def check_below(
    name: str, plans: Mapping[str, Plan], target: str, depth: int, used: set[str]
) -> None:
    """Check a plan and those that it runs."""
    if name in used:
        raise BadArchive(f"plan {name!r} is run by two steps")
    if name not in plans:
        raise BadArchive(f"there is no plan {name!r}, which a step runs")
    if depth > MAX_DEPTH:
        raise BadArchive(f"plans run each other more than {MAX_DEPTH} levels deep")
    used.add(name)
    plan = plans[name]
    if depth == 0 and plan.given:
        raise BadArchive(f"plan {name!r} waits for sizes, which nobody tells")
    for number, step in enumerate(plan.steps):
        if isinstance(step, Branch | Repeat):
            for each in step.plans:
                check_below(f"{each}{target}", plans, target, depth + 1, used)
                check_step(f"step {number} of {name}", step, plan, plans[f"{each}{target}"])


def check_step(where: str, step: Branch | Repeat, plan: Plan, body: Plan) -> None:
    """Refuse a step whose buffers are not of the types that its plan takes and gives."""
    if body.target != plan.target or body.symbols or body.limits:
        raise BadArchive(f"{where} runs a plan for {body.target} that has sizes of its own")
    if not set(body.given) <= {*plan.symbols, *plan.given}:
        raise BadArchive(f"{where} runs a plan of sizes {body.given}, which it does not know")
    here = [plan.buffers[each] for each in step.passed]
    there = [body.buffers[each] for each in (*body.inputs, *body.outputs)]
    if [each.dtype for each in here] != [each.dtype for each in there]:
        raise BadArchive(f"{where} gives its plan other tensors than that takes")
    for one, other in zip(here, there, strict=True):
        if None not in (one.elements, other.elements) and one.elements != other.elements:
            raise BadArchive(f"{where} gives its plan a tensor of another size than that takes")
    if isinstance(step, Repeat):
        check_turns(where, step, plan)
    else:
        scalar(where, plan.buffers[step.condition], "bool")
    if any(plan.buffers[each].role != "workspace" for each in step.own):
        raise BadArchive(f"{where} has memory of its own that is no workspace")
    written = step.writes
    if len(set(written)) < len(written) or not set(written).isdisjoint(step.reads):
        raise BadArchive(f"{where} writes a buffer twice, or one that it reads")


def check_turns(where: str, step: Repeat, plan: Plan) -> None:
    """Refuse turns that have no end, or carry a tensor to one of another type."""
    for group in zip(step.carried, step.results, step.twins, strict=True):
        same(where, [plan.buffers[each] for each in group if each is not None])
    if step.go_on is None and step.trips is None and step.count is None:
        raise BadArchive(f"{where} has no end")
    if (step.go_on is None) != (step.again is None):
        raise BadArchive(f"{where} has a condition once, not before and after turns")
    flags, numbers = (step.go_on, step.again), (step.trips, step.turn, step.turns)
    for dtype, places in (("bool", flags), ("int64", numbers)):
        for place in places:
            if place is not None:
                scalar(where, plan.buffers[place], dtype)


def same(where: str, buffers: list[Buffer]) -> None:
    """Refuse buffers of which one is not as large as the others."""
    first = buffers[0]
    for each in buffers[1:]:
        if each.dtype != first.dtype or (
            None not in (each.elements, first.elements) and each.elements != first.elements
        ):
            raise BadArchive(f"{where} carries a tensor to one of another type")


def scalar(where: str, buffer: Buffer, dtype: str) -> None:
    """Refuse a buffer that is no single number of a type."""
    if buffer.dtype != dtype or buffer.elements != 1:
        raise BadArchive(f"{where} decides by {buffer.dtype}{list(buffer.shape)}, not one {dtype}")
