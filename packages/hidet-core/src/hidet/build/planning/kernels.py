"""Groups of operators to recipes; groups that are alike are worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeAlias

from hidet import options
from hidet.build.caching.key import is_our_operator
from hidet.build.choosing.schedule import implement
from hidet.build.choosing.variants import variants
from hidet.build.planning.collector import collector_paused
from hidet.build.planning.recipe import Recipe, recipe
from hidet.fusion.group import Group, OutputView
from hidet.fusion.inside import Window
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.passes.base import Observer
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.types import TensorType

NO_CONSTANTS: Mapping[int, Any] = MappingProxyType({})
Made: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], Recipe]
"""Inputs and results by their numbers in the group, and how these are computed from those."""


@dataclass(frozen=True)
class Part:
    """Some tensors computed from others: what the numbers of a recipe stand for."""

    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    recipe: Recipe


class Recipes:
    """Recipes by what groups compute, shared by all builds of a process."""

    def __init__(self) -> None:
        self.known: dict[Any, list[Made]] = {}
        self.lock = Lock()

    def parts(self, group: Group, target: Target, observers: Sequence[Observer] = ()) -> list[Part]:
        """How a group is computed; a recipe for a group that was alike is used again."""
        key = key_of_group(group, target)
        found = self.find(key)
        if found is None or observers:
            found = worked_out(group, target, observers)
            self.keep(key, found)
        tensors = numbered(group)
        return [
            Part(tuple(tensors[i] for i in inputs), tuple(tensors[i] for i in results), each)
            for inputs, results, each in found
        ]

    def find(self, key: Any) -> list[Made] | None:
        """What is known of groups with this key."""
        with self.lock:
            return self.known.get(key)

    def keep(self, key: Any, made: list[Made]) -> None:
        """Let groups with this key be known."""
        with self.lock:
            self.known[key] = made


def worked_out(group: Group, target: Target, observers: Sequence[Observer] = ()) -> list[Made]:
    """How a group is computed, worked out now: in each range of sizes that has a way of its own."""
    with collector_paused():
        ways = variants(group, target)
        found = [worked_out_alone(each.group, target, observers) for each in ways]
        if len({prepared(each) for each in found}) > 1:  # weights would be there in each order
            return worked_out_alone(group, target, observers)
        return [
            (inputs, results, made.under(way.when))
            for way, parts in zip(ways, found, strict=True)
            for inputs, results, made in parts
        ]


def worked_out_alone(
    group: Group, target: Target, observers: Sequence[Observer] = ()
) -> list[Made]:
    """How a group is computed in one way for calls of all sizes."""
    numbers = {tensor: number for number, tensor in enumerate(numbered(group))}
    return [
        (
            tuple(numbers[each] for each in made.group.inputs),
            tuple(numbers[each] for each in made.group.results),
            recipe(made, target, observers),
        )
        for made in implement(group, target)
    ]


def prepared(parts: Sequence[Made]) -> frozenset[str]:
    """The kernels of a group that may run before the first call, on constants: those without sizes
    that only calls tell."""
    return frozenset(name for _, _, each in parts for name in each.fixed)


def key_of_group(group: Group, target: Target) -> Any:
    """What a group computes, for what target, under which options."""
    return signature(group), target, tuple(sorted(settings().items())), options.dump.get()


def settings() -> dict[str, Any]:
    """The options under which groups are worked out: the search space says which choices fit."""
    others = (options.check, options.search_space)
    return {**options.code_key(), **{each.name: each.get() for each in others}}


def numbered(group: Group) -> list[Tensor]:
    """The tensors of a group in a fixed order: inputs, then what each operator makes, then the last
    one's result within larger tensors."""
    made = (each for node in group.nodes for each in node.outputs)
    return [*group.inputs, *made, *(each.tensor for each in group.output_views)]


def signature(group: Group) -> tuple[Any, ...]:
    """What a group computes, whichever tensors it is applied to."""
    s = shape_of(group)
    return s.anchor, s.wiring, s.also, s.shared, s.choice, s.windows, s.stored


@dataclass(frozen=True)
class Shape:
    """A group without its tensors: operators, the numbers of what each reads, and the inputs.

    `also` are the numbers of what leaves the group besides the last operator's results, `shared`
    those of what other groups compute too.
    """

    anchor: int | None
    wiring: tuple[tuple[Op, tuple[int, ...]], ...]
    inputs: tuple[TensorType, ...]
    also: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    choice: Choice | None = None
    windows: tuple[Window, ...] = ()
    stored: bool = True

    @property
    def is_ours(self) -> bool:
        """Whether another process knows its operators: they come with us."""
        return all(is_our_operator(op) for op, _ in self.wiring)


def shape_of(group: Group) -> Shape:
    """A group as data."""
    numbers = {tensor: number for number, tensor in enumerate(numbered(group))}
    anchor = None if group.anchor is None else group.nodes.index(group.anchor)
    wiring = tuple((node.op, tuple(numbers[each] for each in node.inputs)) for node in group.nodes)
    also, shared = (tuple(numbers[e] for e in each) for each in (group.also, group.shared))
    types = tuple(each.type for each in group.inputs)
    windows = tuple(Window(each.tensor.type, each.starts) for each in group.output_views)
    return Shape(anchor, wiring, types, also, shared, group.choice, windows, group.stored)


def group_of(shape: Shape, constants: Mapping[int, Any] = NO_CONSTANTS) -> Group:
    """The group that `shape` describes, of tensors of its own; some inputs may have values."""
    tensors = [Tensor(t, storage=constants.get(i)) for i, t in enumerate(shape.inputs)]
    nodes: list[Node] = []
    for op, reads in shape.wiring:
        nodes.append(Node(op, tuple(tensors[number] for number in reads)))
        tensors += nodes[-1].outputs
    anchor = None if shape.anchor is None else nodes[shape.anchor]
    also, shared = (tuple(tensors[i] for i in each) for each in (shape.also, shape.shared))
    output_views = tuple(OutputView(Tensor(each.type), each.starts) for each in shape.windows)
    group = Group(nodes, anchor, also=also, shared=shared, choice=shape.choice)
    return replace(group, output_views=output_views, stored=shape.stored)
