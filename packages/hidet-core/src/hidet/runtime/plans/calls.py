"""Plans that run other plans of an archive: what has to hold, whoever wrote the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.errors import BadArchive
from hidet.runtime.plans.plan import Branch, Buffer, Plan, Repeat, Then

MAX_DEPTH = 32
"""How deep plans may run plans."""
MAX_STAGES = 256
"""How many plans may follow each other, each after sizes were read."""


def check_calls(plans: Mapping[str, Plan]) -> None:
    """Refuse plans of which one is run by two steps, by itself or by none that can begin, and steps
    that give to a plan what it does not take."""
    used: set[str] = set()
    for name in plans:
        base, _, target = name.partition("@")
        if base in ("main", "prepare"):
            if plans[name].given:
                raise BadArchive(f"plan {name!r} waits for sizes, which nobody tells")
            check_chain(name, plans, f"@{target}" if target else "", 0, used)
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
    for number, step in enumerate(plan.steps):
        if isinstance(step, Branch | Repeat):
            for each in step.plans:
                results = check_chain(f"{each}{target}", plans, target, depth + 1, used)
                where = f"step {number} of {name}"
                check_step(where, step, plan, plans[f"{each}{target}"], results)


def check_chain(
    name: str, plans: Mapping[str, Plan], target: str, depth: int, used: set[str]
) -> list[Buffer]:
    """Check a plan, and those that follow it, each after sizes were read; their results."""
    check_below(name, plans, target, depth, used)
    chain = [name]
    while (then := plans[chain[-1]].then) is not None:
        if len(chain) == MAX_STAGES or name.partition("@")[0] == "prepare":
            raise BadArchive(f"{len(chain)} plans follow {name!r}, or more")
        following = f"{then.plan}{target}"
        check_below(following, plans, target, depth, used)
        check_forwarded(f"what follows {chain[-1]}", then, plans[chain[-1]], plans[following])
        chain.append(following)
    results: list[Buffer] = []
    for each in map(plans.__getitem__, reversed(chain)):
        check_places(name, each, len(results))
        results = each.merged([each.buffers[number] for number in each.own_outputs], results)
    return results


def check_places(name: str, plan: Plan, after: int) -> None:
    """Refuse a plan whose own results and the `after` ones of those that follow do not have one
    place each."""
    then = plan.then
    if then is None:
        return
    count = len(plan.outputs) - then.passed + after
    fit = 0 <= then.passed <= len(plan.outputs) and len(then.results) == after
    if not fit or sorted({*then.results, *range(count)}) != list(range(count)):
        raise BadArchive(f"the results of {name!r} have no places, or one for two")
    if len({*then.results}) < after:
        raise BadArchive(f"two results of {name!r} have one place")


def check_forwarded(where: str, then: Then, plan: Plan, following: Plan) -> None:
    """Refuse a plan that follows another one with sizes or tensors that this has not."""
    names = [each.name for each in then.data_sizes]
    known = [*plan.symbols, *plan.given]
    if len({*names, *known}) < len(names) + len(known):
        raise BadArchive(f"{where} has two sizes of one name")
    if following.target != plan.target or following.symbols or following.limits:
        raise BadArchive(f"{where} is a plan for {following.target} that has sizes of its own")
    if not set(following.given) <= {*names, *known}:
        raise BadArchive(f"{where} is a plan of sizes {following.given}, which nobody tells it")
    roles = {
        plan.buffers[each].role for each in (*then.forwarded, *(t.buffer for t in then.data_sizes))
    }
    if not roles <= {"input", "output", "weight", "derived"}:
        raise BadArchive(f"{where} gets memory that is not there any more")
    for each in then.data_sizes:
        scalar(where, plan.buffers[each.buffer], "int64")
    forwarded = [plan.buffers[each] for each in then.forwarded]
    check_types(where, forwarded, [following.buffers[each] for each in following.inputs])


def check_types(where: str, here: Sequence[Buffer], there: Sequence[Buffer]) -> None:
    """Refuse tensors of a plan, here, that are not of the types that another one takes, there."""
    check_dtypes(where, here, there)
    for one, two in zip(here, there, strict=True):
        if None not in (one.elements, two.elements) and one.elements != two.elements:
            raise BadArchive(f"{where} gives its plan a tensor of another size than that takes")


def check_dtypes(where: str, here: Sequence[Buffer], there: Sequence[Buffer]) -> None:
    """Refuse tensors of other element types than a plan takes, or more or fewer."""
    if [each.dtype for each in here] != [each.dtype for each in there]:
        raise BadArchive(f"{where} gives its plan other tensors than that takes")


def check_step(
    where: str, step: Branch | Repeat, plan: Plan, body: Plan, results: Sequence[Buffer]
) -> None:
    """Refuse a step whose buffers are not of the types that its plan takes and gives: the `results`
    of it and of those that follow it."""
    if body.target != plan.target or body.symbols or body.limits:
        raise BadArchive(f"{where} runs a plan for {body.target} that has sizes of its own")
    if not set(body.given) <= {*plan.symbols, *plan.given}:
        raise BadArchive(f"{where} runs a plan of sizes {body.given}, which it does not know")
    passed = [plan.buffers[each] for each in step.passed]
    taken = [body.buffers[each] for each in body.inputs]
    check_dtypes(where, passed, [*taken, *results])
    # Of branches only the one that runs has to give results of these sizes.
    sized = [*taken, *results] if isinstance(step, Repeat) else taken
    check_types(where, passed[: len(sized)], sized)
    if isinstance(step, Repeat):
        check_iterations(where, step, plan)
    else:
        scalar(where, plan.buffers[step.condition], "bool")
    if any(plan.buffers[each].role != "workspace" for each in step.own):
        raise BadArchive(f"{where} has memory of its own that is no workspace")
    written = step.writes
    if len(set(written)) < len(written) or not set(written).isdisjoint(step.reads):
        raise BadArchive(f"{where} writes a buffer twice, or one that it reads")


def check_iterations(where: str, step: Repeat, plan: Plan) -> None:
    """Refuse iterations that have no end, or carry a tensor to one of another type."""
    for group in zip(step.carried, step.results, step.twins, strict=True):
        same(where, [plan.buffers[each] for each in group if each is not None])
    if step.go_on is None and step.trips is None and step.count is None:
        raise BadArchive(f"{where} has no end")
    if (step.go_on is None) != (step.again is None):
        raise BadArchive(f"{where} has a condition once, not before and after iterations")
    flags, numbers = (step.go_on, step.again), (step.trips, step.iteration, step.iterations)
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
