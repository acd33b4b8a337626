"""What calls need of a device's memory beside the weights, as their plans tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hidet.errors import BadArgument
from hidet.runtime.binding.arena import rounded
from hidet.runtime.binding.bound import NO_PLANS, BoundPlan, bind, body, shape_of
from hidet.runtime.devices.view import View
from hidet.runtime.plans.plan import Plan

MIB = 1 << 20


@dataclass(frozen=True)
class Footprint:
    """Bytes beside the weights; prints in MiB."""

    derived: int = 0
    """Other forms of weights, which are kept between calls."""
    arena: int = 0
    """The one piece of memory for all workspaces of a call."""
    live: int = 0
    """The most bytes of workspaces that are in use at once, step by step: no arena is smaller."""
    outputs: int = 0
    """What a call makes for its caller."""

    @property
    def peak(self) -> int:
        """The most that there is during a call."""
        return self.derived + self.arena + self.outputs

    @property
    def packing(self) -> float:
        """How many times the least possible arena this one is."""
        return self.arena / self.live if self.live else 1.0

    def beside(self, other: Footprint) -> Footprint:
        """Both graphs in one process, on one stream: they take turns in the larger arena.

        What both derive alike is in memory once, but counted twice here.
        """
        return Footprint(
            self.derived + other.derived,
            max(self.arena, other.arena),
            max(self.live, other.live),
            self.outputs + other.outputs,
        )

    def __str__(self) -> str:
        mib = {name: getattr(self, name) / MIB for name in ("derived", "arena", "live", "outputs")}
        return (
            f"{self.peak / MIB:.2f} MiB beside the weights: {mib['derived']:.2f} derived from them,"
            f" an arena of {mib['arena']:.2f} (at least {mib['live']:.2f}), "
            f"{mib['outputs']:.2f} of outputs"
        )


def footprint(plans: Mapping[str, Plan], symbols: Mapping[str, int] | None = None) -> Footprint:
    """What calls of an archive's plans need, where dynamic sizes are `symbols`, those that data
    tell too."""
    sizes = symbols or {}
    bound = chained(bound_at(plans["main"], sizes, plans), sizes, plans)
    apart = [each for one in bound for each in following_bodies(one, sizes, plans)]
    derived = {
        each.plan.buffers[number].name: each.nbytes(number)
        for each in bound
        for number in each.plan.of_role("derived")
    }
    return Footprint(
        sum(derived.values()),
        max(each.arena.nbytes for each in bound) + sum(each.arena.nbytes for each in apart),
        max(map(most_in_use, bound)) + sum(map(most_in_use, apart)),
        sum(each.nbytes(number) for each in bound for number in each.plan.outputs),
    )


def chained(
    first: BoundPlan, sizes: Mapping[str, int], plans: Mapping[str, Plan]
) -> list[BoundPlan]:
    """A plan and those that follow it."""
    found = [first]
    while (then := found[-1].plan.then) is not None:
        require(plans[then.plan].given, sizes)
        found.append(body(plans[then.plan], sizes, plans))
    return found


def following_bodies(
    bound: BoundPlan, sizes: Mapping[str, int], plans: Mapping[str, Plan]
) -> list[BoundPlan]:
    """The plans that follow bodies in a plan, which have workspaces of their own."""
    found = []
    for each in (one for bodies in bound.bodies.values() for one in bodies):
        chain = chained(each, sizes, plans)
        found += chain[1:]
        found += [more for one in chain for more in following_bodies(one, sizes, plans)]
    return found


def bound_at(
    plan: Plan, symbols: Mapping[str, int], plans: Mapping[str, Plan] = NO_PLANS
) -> BoundPlan:
    """The plan at these sizes; BadArgument names those that are missing."""
    require(plan.symbols, symbols)
    buffers = [plan.buffers[number] for number in plan.inputs]
    inputs = [View(0, shape_of(each, symbols), each.dtype, "") for each in buffers]
    return bind(plan, inputs, plans)


def require(names: Iterable[str], symbols: Mapping[str, int]) -> None:
    """Raise BadArgument that names the sizes of which no number is known."""
    missing = sorted(set(names) - set(symbols))
    if missing:
        raise BadArgument(
            f"the memory of a call depends on {', '.join(missing)}",
            help="give a number for each",
        )


def most_in_use(bound: BoundPlan) -> int:
    """The most bytes of workspaces that lie between their first and their last step at once."""
    change = [0] * (len(bound.steps) + 1)
    touched: dict[int, list[int]] = {}
    for number, step in enumerate(bound.steps):
        for each in {*step.reads, *step.writes}:
            if each in bound.places:
                touched.setdefault(bound.places[each], []).append(number)
    for each, steps in touched.items():
        change[steps[0]] += rounded(bound.nbytes(each))
        change[steps[-1] + 1] -= rounded(bound.nbytes(each))
    most = now = 0
    for each in change:
        now += each
        most = max(most, now)
    return most
