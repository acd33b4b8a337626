"""All groups of a build worked out at once, in several processes where that is faster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from hidet import options
from hidet.build.caching.key import has_only_our_schedules
from hidet.build.planning.kernels import (
    Made,
    Recipes,
    Shape,
    group_of,
    key_of_group,
    settings,
    shape_of,
    worked_out,
)
from hidet.build.workers.pool import as_done
from hidet.build.workers.remote import Ended, Team
from hidet.build.workers.units import Units
from hidet.errors.warning import line_context, warn
from hidet.fusion.group import Group
from hidet.runtime.cores import cores
from hidet.target import Target

Item: TypeAlias = tuple[Any, Group]
Queue: TypeAlias = "deque[Item]"

FEW = 8
"""Groups that are worked out here before another process has started."""


class ProcessWarning(UserWarning):
    """A process that lowers kernels ended before it was told to."""


@dataclass(frozen=True)
class Job:
    """A group to work out, as data, and what for."""

    shape: Shape
    target: Target
    settings: dict[str, Any]

    def answer(self) -> list[Made] | None:
        """Its recipes; None if there was any error: here nobody knows the user's lines."""
        try:
            with options.options(**self.settings):
                return worked_out(group_of(self.shape), self.target)
        except Exception:  # it is raised again in the process that asked
            return None


def processes(groups: int) -> int:
    """How many processes, this one not counted, work out so many groups.

    As the option says; else none for a few groups or on less than four cores, and one for each two
    cores: compilers need the others.
    """
    asked = options.workers.get()
    if options.dump.get() or not has_only_our_schedules():
        return 0
    if asked == 0:
        asked = cores() // 2 if cores() >= 4 and groups >= FEW else 1
    return min(asked, groups) if asked > 1 else 0


def work_out(groups: Iterable[Group], units: Units, recipes: Recipes) -> None:
    """Let `recipes` know all groups, and `units` their functions, each as soon as it is there.

    If no other processes are worth it this does nothing: whoever asks for a group works it out.
    """
    unknown: dict[Any, Group] = {}
    for group in groups:
        key = key_of_group(group, units.target)
        if recipes.find(key) is None:
            unknown.setdefault(key, group)
    count = processes(len(unknown))
    if count:
        Distribution(unknown, units, recipes).run(count)


class Distribution:
    """Groups on their way through several processes, those with an anchor first: they take long."""

    def __init__(self, groups: dict[Any, Group], units: Units, recipes: Recipes) -> None:
        ordered = sorted(groups.items(), key=lambda item: item[1].anchor is None)
        self.queue = deque(ordered)
        self.units, self.recipes = units, recipes
        self.team = Team()

    def run(self, count: int) -> None:
        """Work out all groups, the short ones here."""
        with ThreadPoolExecutor(count, thread_name_prefix="hidet-lower") as threads:
            try:
                futures = [threads.submit(line_context().run, self.elsewhere) for _ in range(count)]
                for key, group in self.left(deque.pop):
                    self.keep(key, worked_out(group, self.units.target))
                for future in as_done(futures):
                    future.result()
            except BaseException:  # also Ctrl-C
                self.queue.clear()
                self.team.end()
                raise

    def left(self, take: Callable[[Queue], Item]) -> Iterator[Item]:
        """What is left of the queue, from one end, while others take from it too."""
        with suppress(IndexError):
            while True:
                yield take(self.queue)

    def elsewhere(self) -> None:
        """Give other processes the queue's groups, one after the other."""
        for key, group in self.left(deque.popleft):
            self.keep(key, self.asked(group) or worked_out(group, self.units.target))

    def asked(self, group: Group) -> list[Made] | None:
        """What another process makes of a group; None if this one has to."""
        shape = shape_of(group)
        if not shape.is_ours:
            return None
        try:
            return self.team.ask(Job(shape, self.units.target, settings()))
        except Ended as end:
            if self.team.ended:
                raise
            warn(
                ProcessWarning(
                    f"a process that lowers kernels ended with status {end.status}; its kernels "
                    "are lowered here (HIDET_WORKERS=1 keeps all of them here)"
                )
            )
            return None

    def keep(self, key: Any, made: list[Made]) -> None:
        """Let recipes be known, and compilers start."""
        self.recipes.keep(key, made)
        for _, _, recipe in made:
            for function in recipe.functions:
                self.units.take(function)
