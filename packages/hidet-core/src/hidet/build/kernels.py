"""Groups of operators to lowered kernels; groups that are alike are worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from hidet import options
from hidet.build import record
from hidet.build.schedule import Implemented, implement
from hidet.fusion.group import Group
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, Module
from hidet.passes.base import Observer
from hidet.target import Target


@dataclass(frozen=True)
class Step:
    """One launch of a lowered kernel: `tensors` are the module's variables behind its first
    parameters; the parameters after them are sizes."""

    kernel: Kernel
    tensors: tuple[Var, ...]

    @property
    def sizes(self) -> tuple[Var, ...]:
        """The symbols that the kernel takes as numbers."""
        return self.kernel.params[len(self.tensors) :]


@dataclass(frozen=True)
class Part:
    """Some tensors computed from others: what the variables of a recipe stand for."""

    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    recipe: Recipe


@dataclass(frozen=True)
class Recipe:
    """Launches over variables: parameters (inputs, then results) and workspaces."""

    schedule: str
    params: tuple[Var, ...]
    workspaces: tuple[Var, ...]
    steps: tuple[Step, ...]


class Recipes:
    """Recipes by what groups compute, shared by all builds of a process."""

    def __init__(self) -> None:
        self.known: dict[Any, list[tuple[tuple[int, ...], tuple[int, ...], Recipe]]] = {}
        self.lock = Lock()

    def parts(self, group: Group, target: Target, observers: Sequence[Observer] = ()) -> list[Part]:
        """How a group is computed; a recipe for a group that was alike is used again."""
        settings = {**options.code_key(), "check": options.check.get(), "dump": options.dump.get()}
        key = signature(group), target, tuple(sorted(settings.items()))
        tensors = numbered(group)
        with self.lock:
            found = self.known.get(key)
        if found is None or observers:
            numbers = {tensor: number for number, tensor in enumerate(tensors)}
            found = [
                (
                    tuple(numbers[each] for each in made.group.inputs),
                    tuple(numbers[each] for each in made.group.results),
                    lowered(made, observers),
                )
                for made in implement(group, target)
            ]
            with self.lock:
                self.known[key] = found
        return [
            Part(tuple(tensors[i] for i in inputs), tuple(tensors[i] for i in results), recipe)
            for inputs, results, recipe in found
        ]


def numbered(group: Group) -> list[Tensor]:
    """The tensors of a group in a fixed order: inputs, then what each operator makes."""
    return [*group.inputs, *(each for node in group.nodes for each in node.outputs)]


def signature(group: Group) -> tuple[Any, ...]:
    """What a group computes, whichever tensors it is applied to."""
    numbers = {tensor: number for number, tensor in enumerate(numbered(group))}
    anchor = None if group.anchor is None else group.nodes.index(group.anchor)
    wiring = tuple((node.op, tuple(numbers[each] for each in node.inputs)) for node in group.nodes)
    return anchor, wiring


def lowered(made: Implemented, observers: Sequence[Observer]) -> Recipe:
    """An implemented group's kernels ready for code generation."""
    module = made.module
    steps = []
    for call in module.calls:
        kernel = module.kernel(call.kernel)
        tensors = bound(module, kernel, call.args)
        steps.append(Step(record.lowered(kernel, made.group.name, observers), tensors))
    return Recipe(made.schedule, module.params, module.workspaces, tuple(steps))


def bound(module: Module, kernel: Kernel, args: Sequence[Any]) -> tuple[Var, ...]:
    """The module's variables that a launch passes to a kernel's tensor parameters."""
    known = {*module.params, *module.workspaces}
    return tuple(arg for _, arg in zip(kernel.params, args, strict=True) if arg in known)
