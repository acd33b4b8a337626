"""What is compiled: each schedule at some of its points, alone and with operators around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any

from ci.same_code.definitions import DEFINITIONS, Definition
from ci.same_code.problems import TARGET, problems_of, settings_of
from ci.same_code.surroundings import SURROUNDINGS, suits, with_bias
from hidet.graph import FlowGraph, Op, Tensor, trace_from
from hidet.graph.apply import apply_all
from hidet.schedules import load
from hidet.schedules.base import SCHEDULES, Schedule
from hidet.schedules.space import to_json

POINTS = 3
"""At how many points each operator is compiled alone."""

assert load.LOADED, "importing hidet.schedules.load files every schedule"


@dataclass(frozen=True)
class Case:
    """An operator by a schedule at a point, with something around it."""

    schedule: Schedule
    op: Op
    point: Any
    number: str
    around: str = "plain"

    def __str__(self) -> str:
        return f"{self.schedule.name} {self.number} {self.around}"

    def graph(self) -> FlowGraph:
        """The operator and what is around it."""
        op = with_bias(self.op) if self.around == "bias" else self.op
        inputs = [Tensor(of, "cuda") for of in op.types()]
        made, *others = apply_all(type(op), *op.arrange(inputs), **op.attributes())
        return trace_from([SURROUNDINGS[self.around](made), *others])


@cache
def cases_of(schedule: Schedule) -> list[Case]:
    """A schedule with what it is tried with, alone and with each thing around it."""
    tried = enumerate(problems_of(schedule))
    return [case for at, op in tried for case in of_operator(schedule, op, at)]


def schedules() -> list[Schedule]:
    """Those for the target."""
    return [each for each in SCHEDULES if each.target == TARGET.kind]


def all_cases() -> list[Case | Definition]:
    """Those of every schedule, and of the automatic one."""
    return [*(case for schedule in schedules() for case in cases_of(schedule)), *DEFINITIONS]


def few_cases() -> list[Case]:
    """One case of each schedule, with one thing or another around it."""
    found = []
    for number, schedule in enumerate(schedules()):
        own = cases_of(schedule)
        around = [case for case in own if case.around != "plain"] or own
        found.append(around[number % len(around)])
    return found


def of_operator(schedule: Schedule, op: Op, at: int) -> Iterator[Case]:
    """The cases of a schedule and an operator. Others are around it at the first point, and at the
    first one whose blocks share no sums: these end otherwise."""
    tried = some_points(schedule, op, at)
    whole = next((i for i, each in enumerate(tried) if getattr(each, "slices", 1) == 1), 0)
    for number, point in enumerate(tried):
        one = Case(schedule, op, point, f"{at}.{number}")
        yield one
        if number in (0, whole) and len(op.results()) == 1:
            yield from (replace(one, around=each) for each in SURROUNDINGS if suits(op, each))


def some_points(schedule: Schedule, op: Op, at: int) -> list[Any]:
    """A few of the points that fit: those whose fields have the smallest hashes, so that points
    that come or go leave the others as they are."""
    with settings_of(schedule):
        fitting = list(schedule.fitting(op, TARGET))
    return sorted(fitting, key=lambda each: sha256(f"{at} {to_json(each)}".encode()).hexdigest())[
        :POINTS
    ]
