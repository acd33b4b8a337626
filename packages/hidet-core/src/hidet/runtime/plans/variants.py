"""Launches of which a call runs one or another, as its sizes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from hidet.runtime.plans.plan import Launch, Plan, Step
from hidet.runtime.plans.sizes import RELATIONS, Relation, evaluate


def at_call(steps: Sequence[Step], sizes: Mapping[str, int]) -> list[Step]:
    """The steps that a call of these sizes runs."""
    return [step for step in steps if all(holds(each, sizes) for each in conditions(step))]


def holds(relation: Relation, sizes: Mapping[str, int]) -> bool:
    """Whether something holds of sizes."""
    left, right = (evaluate(each, sizes) for each in (relation.left, relation.right))
    return RELATIONS[relation.sign](left, right)


def conditions(step: Step) -> tuple[Relation, ...]:
    """What has to hold of a call's sizes for a step to run."""
    return step.when if isinstance(step, Launch) else ()


def exclude(one: Step, other: Step) -> bool:
    """Whether no call runs both of two steps: they write the same under other conditions."""
    whens = conditions(one), conditions(other)
    return all(whens) and whens[0] != whens[1] and not set(one.writes).isdisjoint(other.writes)


def cases(plan: Plan, buffer: int) -> list[Plan]:
    """The plan as it runs in each of the ranges of sizes in which a buffer is written otherwise."""
    ways = dict.fromkeys(conditions(each) for each in plan.steps if buffer in each.writes)
    return [without(plan, ways.keys() - {way}) for way in ways]


def without(plan: Plan, others: Set[tuple[Relation, ...]]) -> Plan:
    """The plan without the steps that run under some conditions."""
    steps = tuple(each for each in plan.steps if conditions(each) not in others)
    return replace(plan, steps=steps)
