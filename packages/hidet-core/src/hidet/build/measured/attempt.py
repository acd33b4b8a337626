"""One candidate of a group, compiled alone: by whom does not matter, all that it needs is data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hidet import options
from hidet.build.planning.hoist import hoist
from hidet.build.planning.kernels import Recipes, Shape, group_of
from hidet.build.planning.planner import Planner
from hidet.build.workers.units import Units
from hidet.errors import HidetError
from hidet.fusion.group import Group
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.plans.archive import Archive
from hidet.target import Target
from hidet.tuning.problem import symbols_in
from hidet.tuning.verdict import constant_name
from hidet.types import TensorType, boolean

QUIET = {"dump": "", "progress": False, "jobs": 1, "workers": 1}
"""What is looked at is what is built in the end, and what is shown is the contest."""


def settings() -> dict[str, Any]:
    """The options under which candidates are compiled."""
    return {name: each.get() for name, each in options.OPTIONS.items()} | QUIET


@dataclass(frozen=True)
class Attempt:
    """A group at one of its candidates; `constants` are the inputs that are the same at all calls.

    `answer()` is the archive, or in words why there is none.
    """

    shape: Shape
    constants: tuple[int, ...]
    target: Target
    settings: dict[str, Any] = field(default_factory=settings)

    def answer(self) -> bytes | str:
        """Compile it now."""
        try:
            with options.options(**self.settings):
                return self.archive().to_bytes()
        except HidetError as error:
            return error.message
        except Exception as error:  # a schedule may raise anything: told, and not chosen
            return f"{type(error).__name__}: {error}"

    def archive(self) -> Archive:
        """The archive, compiled under the options in force."""
        group = group_of(self.shape, dict.fromkeys(self.constants, ()))
        names = {t: constant_name(i) for i, t in enumerate(group.inputs) if t.storage is not None}
        units = Units(self.target, strict=True)
        planner = Planner(alone(group), self.target, units, names)
        planner.run([group], Recipes())
        binaries, home = units.compile("Compiling a candidate")
        return Archive(hoist({"main": planner.plan(home)}), binaries)


def alone(group: Group) -> FlowGraph:
    """A group as a graph; symbols that are no size of an input become sizes of further ones."""
    inputs = [each for each in group.inputs if each.storage is None]
    sizes = [size for each in (*inputs, *group.results) for size in each.shape]
    read = [size for each in inputs for size in each.shape]
    for symbol in dict.fromkeys(var for size in sizes for var in symbols_in(size)):
        if not any(symbol is size for size in read):
            inputs.append(Tensor(TensorType(boolean, (symbol,))))
    return FlowGraph(inputs, group.results, group.name)
