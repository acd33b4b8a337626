"""The likeliest schedules of an operator, compiled and timed on a device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hidet.build.choosing.choices import choices, has_schedule
from hidet.build.measured.compilers import Compilers
from hidet.build.measured.tuning_facts import subject_of
from hidet.build.measured.workshop import Workshop
from hidet.fusion import Group, partition
from hidet.graph import Op, Tensor, trace_from
from hidet.graph.apply import apply_all
from hidet.schedules.base import Candidate, Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.contest import Refused
from hidet.tuning.record import name_of
from hidet.tuning.testbed import Testbed

REPEATS = 9
"""Measurements of a candidate; the typical one counts."""


def measured(op: Op, target: Target, bed: Testbed, most: int) -> Iterator[tuple[str, float]]:
    """The names and seconds of so many schedules, the likeliest by today's model first; those that
    do not compile, or compute nonsense, are left out."""
    found = [each.choice for each in likeliest(op, target, most)]
    if not found:
        return
    subject = subject_of(group_of(op, target, bed.device))
    with Compilers(target) as compilers, Workshop(subject, compilers, bed) as bench:
        started: list[Choice] = []
        while found or started:
            while found and len(started) < bench.ahead:
                started.append(found.pop(0))
                bench.start(started[-1])
            choice = bench.ready(started, None)
            assert choice is not None, "without a limit of time one is ready"
            started.remove(choice)
            try:
                bench.check(choice)
                yield name_of(choice), bench.typical(bench.time(choice, REPEATS))
            except Refused as refusal:
                print(f"    {choice}: {refusal}", flush=True)


def likeliest(op: Op, target: Target, most: int) -> list[Candidate]:
    """The cheapest by the cost model, and of each schedule at least its best three."""
    ranked = choices(op, target)
    kept = list(ranked[:most])
    for name in dict.fromkeys(each.schedule.name for each in ranked):
        own = [each for each in ranked if each.schedule.name == name][:3]
        kept += [each for each in own if each not in kept]
    return kept


def group_of(op: Op, target: Target, device: str) -> Group:
    """An operator as the one group of a graph."""
    inputs = [Tensor(of, device) for of in op.types()]
    graph = trace_from(list(apply_all(type(op), *op.arrange(inputs), **op.attributes())), inputs)
    (group,) = partition(graph, lambda each: has_schedule(each, target))
    return group


def lock_of(device: str) -> Path:
    """The file that keeps measurements on a device from each other, those of the tuner too."""
    return Path(store.folder(), f"{device.replace(':', '-')}.lock")
