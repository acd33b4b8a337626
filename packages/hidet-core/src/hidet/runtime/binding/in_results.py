"""Workspaces on the CPU that lie where a result does, which then needs no memory beside them.

Of kernels that run one after the other one fills a workspace, and the last one reads each element
once, where it writes the result's. Written over the workspace, the result is in a cache already.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hidet.runtime.binding.reuse import times_given
from hidet.runtime.plans.plan import Launch, Plan, Step

Shapes = Sequence[tuple[int, ...]]


def in_results(steps: Sequence[Step], plan: Plan, shapes: Shapes) -> list[Step]:
    """The steps of a call on a CPU, which run in this order, with such workspaces in the places of
    results: the first launch that touches a result writes it over the workspace, and all other uses
    of that come before. On a GPU each launch that is told the place of a result costs the host
    time, so there they stay.
    """
    found = list(steps)
    if plan.target.partition("+")[0] != "cpu" or plan.wholes:
        return found
    for out in dict.fromkeys(plan.outputs):
        while (old := replaced(found, out, plan, shapes)) is not None:
            found = [moved(step, old, out) for step in found]
    return found


def replaced(steps: Sequence[Step], out: int, plan: Plan, shapes: Shapes) -> int | None:
    """The workspace that can lie where an output does; None if there is none."""
    number = next((n for n, step in enumerate(steps) if out in (*step.reads, *step.writes)), None)
    step = None if number is None else steps[number]
    if number is None or not isinstance(step, Launch) or times_given(step, out) != 1:
        return None
    for new, old in step.in_place:
        alike = new == out and prod(shapes[old]) == prod(shapes[out])
        of_plan = plan.buffers[old].role == "workspace" and times_given(step, old) == 1
        if alike and of_plan and is_free(old, steps, number):
            return old
    return None


def is_free(workspace: int, steps: Sequence[Step], last: int) -> bool:
    """Whether launches alone use a workspace, and none after the `last` one."""
    users = [n for n, step in enumerate(steps) if workspace in (*step.reads, *step.writes)]
    return max(users) == last and all(isinstance(steps[number], Launch) for number in users)


def moved(step: Step, old: int, new: int) -> Step:
    """A step on another buffer than the old one."""
    return step.on(lambda number: new if number == old else number)
