"""The code of a case: CUDA C++ and the launches, whatever variables and functions are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from unittest.mock import patch

from ci.same_code.cases import Case
from ci.same_code.definitions import Definition
from ci.same_code.problems import TARGET, settings_of
from hidet.build.caching.written import unit_of
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.grouping import united
from hidet.build.choosing.schedule import implement
from hidet.build.planning.recipe import Recipe, recipe
from hidet.codegen.common.names import Names
from hidet.fusion import Group, partition
from hidet.graph import Op
from hidet.options import options
from hidet.schedules.base import Choice

ALWAYS = ", when=()"
"""What a launch that runs in all calls says; it is left out: once there were no conditions."""
DIGEST = re.compile(r"\b(\w+)_[0-9a-f]{12}\b")
"""The name of a kernel, which ends in a hash of its IR."""


class Numbered(Names):
    """Names that say nothing: `v0`, `v1` in the order of use."""

    count = 0

    def fresh(self, wish: str) -> str:
        """The next name."""
        self.count += 1
        return f"v{self.count}"


def without_names() -> AbstractContextManager[object]:
    """Within it, text of kernels has numbers for names."""
    return patch("hidet.codegen.cuda.emit.Names", Numbered)


def code(case: Case | Definition) -> tuple[str, str]:
    """The translation unit of a case's kernels, and their launches, a line each."""
    with without_names():
        made = recipes(case)
    unit = unit_of([each for part in made for each in part.functions], TARGET)
    launches = [str(each).replace(ALWAYS, "") for part in made for each in part.launches]
    return DIGEST.sub(r"\1", unit), DIGEST.sub(r"\1", "\n".join(launches))


def recipes(case: Case | Definition) -> list[Recipe]:
    """The kernels of a case's groups; its operator's by the schedule at the point."""

    def scheduled(op: Op) -> bool:
        return has_schedule(op, TARGET)

    graph = case.graph()
    with settings(case):
        groups = united(partition(graph, scheduled), graph, scheduled, TARGET)
        made = (each for group in groups for each in implement(chosen(group, case), TARGET))
        return [recipe(each, TARGET) for each in made]


@contextmanager
def settings(case: Case | Definition) -> Iterator[None]:
    """The options that a case is compiled with."""
    if isinstance(case, Definition):
        yield
        return
    with settings_of(case.schedule), options(parallel_k=getattr(case.point, "slices", 1)):
        yield


def chosen(group: Group, case: Case | Definition) -> Group:
    """A group, by the case's schedule if its operator is in it."""
    if isinstance(case, Definition):
        return group
    if group.anchor is not None and isinstance(group.anchor.op, type(case.op)):
        group.choice = Choice(case.schedule.name, case.point)
    return group


def digest(case: Case | Definition) -> str:
    """A hash of a case's code."""
    return sha256("\n".join(code(case)).encode()).hexdigest()[:16]
