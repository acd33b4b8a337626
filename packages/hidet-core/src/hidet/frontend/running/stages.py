"""A model cut where the host has to compute: functions of the host and graphs in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidet.build.compiled import CompiledGraph
from hidet.frontend.running.fallback import on_device
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.graph import FlowGraph, Node, Tensor, asarray
from hidet.graph.data_sizes import DataSize, sizes_in, sizes_of
from hidet.graph.flow import sorted_nodes
from hidet.graph.rewrite import reading
from hidet.ir.expr import Var

Value = Tensor | HostValue


@dataclass(frozen=True)
class Stage:
    """Functions of the host, then a graph, which gives values to the tensors `makes`.

    `reads` are the tensors whose values its inputs are.
    """

    functions: tuple[HostFunction, ...]
    graph: FlowGraph
    reads: tuple[Tensor, ...]
    makes: tuple[Tensor, ...]


def staged(graph: FlowGraph, functions: Sequence[HostFunction]) -> list[Stage]:
    """The stages of a model.

    Inputs of `graph` are those of the model and what functions give; its outputs are the model's
    results and what functions read.
    """
    levels = Levels(graph, functions)
    stages = []
    for level in range(levels.count):
        here = tuple(each for each in functions if levels.functions[each] == level)
        stages.append(levels.stage(level, here))
    return stages


class Levels:
    """In which stage each tensor and each function is computed: as early as can be."""

    def __init__(self, graph: FlowGraph, functions: Sequence[HostFunction]) -> None:
        self.graph = graph
        self.given = set(graph.inputs)
        self.size_sources = graph.size_sources
        self.data_sizes = {each.size: each for each in graph.data_sizes}
        made = {each for function in functions for each in function.results}
        self.known: dict[Any, int] = {each: 0 for each in graph.inputs if each not in made}
        self.functions: dict[HostFunction, int] = {}
        for function in functions:
            level = max((self.ready(each) for each in function.operands), default=0)
            self.functions[function] = level
            made_here = [each for each in function.results if each is not None]
            self.known |= {each: self.read_from(each, level) for each in made_here}
        self.count = 1 + max((self.of(each) for each in graph.outputs), default=0)
        self.count = max(self.count, 1 + max(self.functions.values(), default=0))
        self.crossing = self.read_later()

    def of(self, tensor: Tensor) -> int:
        """The stage in which a tensor has its value."""
        for node in sorted_nodes((tensor,), tuple(self.known)):
            levels = [self.known.get(each, 0) for each in node.inputs]
            levels += map(self.of_size, sizes_in(node))
            self.known |= dict.fromkeys(node.outputs, max(levels, default=0))
        return self.known.get(tensor, 0)

    def of_size(self, size: Var) -> int:
        """The first stage in which a symbolic size is known."""
        if size in self.size_sources:
            return self.of(self.size_sources[size])
        inputs = [each for each in self.given if size in each.shape]
        return min((self.known[each] for each in inputs if each in self.known), default=0)

    def read_from(self, result: Any, level: int) -> int:
        """The first stage that may read what a function of some stage gives: sizes of earlier ones
        may stand for its own."""
        sizes = sizes_of(result) if isinstance(result, Tensor) else ()
        return max(level, *map(self.of_size, sizes)) if sizes else level

    def ready(self, operand: Any) -> int:
        """The first stage whose functions may read an operand."""
        if isinstance(operand, list | tuple):
            return max(map(self.ready, operand), default=0)
        if isinstance(operand, Tensor) and not self.is_given(operand):
            return self.of(operand) + 1
        return self.known.get(operand, 0) if isinstance(operand, Value) else 0

    def is_given(self, tensor: Tensor) -> bool:
        """Whether no graph computes a tensor."""
        return tensor in self.given or tensor.storage is not None

    def read_later(self) -> dict[Tensor, Tensor]:
        """The tensors that a later stage reads, each with the input that stands for it there."""
        found: dict[Tensor, Tensor] = {}
        for node in self.graph.nodes:
            size_sources = [self.size_sources[each] for each in self.data_sizes_for(node)]
            for each in (*node.inputs, *size_sources):
                if not self.is_given(each) and self.of(each) < self.known[node.outputs[0]]:
                    found.setdefault(each, Tensor(each.type, each.device, name=each.name))
        return found

    def stage(self, level: int, functions: tuple[HostFunction, ...]) -> Stage:
        """What is computed in one stage."""
        outputs = (*self.graph.results, *self.crossing)
        makes = [t for t in dict.fromkeys(outputs) if self.known.get(t) == level]
        makes = [each for each in makes if not self.is_given(each)]
        new = {t: stands for t, stands in self.crossing.items() if self.known[t] < level}
        origin = {stands: t for t, stands in new.items()}
        reads: dict[Tensor, None] = {}
        nodes = [each for each in self.graph.nodes if self.known[each.outputs[0]] == level]
        for node in nodes:
            current = reading(node, tuple(new.get(each, each) for each in node.inputs))
            new.update(zip(node.outputs, current.outputs, strict=True))
            reads |= {t: None for t in current.inputs if t in self.given or t in origin}
        data_sizes = self.data_sizes_in(nodes, reads)
        size_sources = [new.get(t, t) for t in map(self.size_sources.__getitem__, data_sizes)]
        reads |= {t: None for t in size_sources if t in self.given or t in origin}
        inputs = [*reads, *self.inputs_with_sizes(reads, makes, level)]
        graph = self.graph.with_outputs(
            [*(new.get(each, each) for each in makes), *size_sources],
            inputs,
            self.checked(data_sizes, inputs),
        )
        return Stage(functions, graph, tuple(origin.get(t, t) for t in inputs), tuple(makes))

    def data_sizes_for(self, node: Node) -> list[Var]:
        """The data-dependent sizes which a node mentions, and those known by then that have to be
        in a relation to them."""
        own = [each for each in sizes_in(node) if each in self.data_sizes]
        beside = {
            size for each in own for one in self.data_sizes[each].holds for size in one.symbols
        }
        level = self.known[node.outputs[0]]
        known = (each for each in self.data_sizes if each in beside and self.of_size(each) <= level)
        return [*dict.fromkeys((*own, *known))]

    def data_sizes_in(self, nodes: Iterable[Node], reads: Iterable[Tensor]) -> list[Var]:
        """The data-dependent sizes for nodes of a stage, but for those that its inputs have: what
        an earlier stage told, and what no input has, is told again."""
        axes = {size for each in reads for size in each.shape}
        needed = dict.fromkeys(size for node in nodes for size in self.data_sizes_for(node))
        return [each for each in needed if each not in axes]

    def checked(self, data_sizes: Sequence[Var], inputs: Iterable[Tensor]) -> list[DataSize]:
        """What each call checks of sizes that a stage tells: all that has to hold of them and of
        the sizes of its inputs."""
        known = {*data_sizes, *(size for each in inputs for size in each.shape)}
        found = map(self.data_sizes.__getitem__, data_sizes)
        return [
            replace(each, holds=tuple(one for one in each.holds if one.symbols <= known))
            for each in found
        ]

    def inputs_with_sizes(
        self, reads: Iterable[Tensor], makes: Iterable[Tensor], level: int
    ) -> Iterable[Tensor]:
        """Further inputs of a graph: they tell sizes that those it reads do not."""
        data_sizes = {size for each in reads for size in each.shape if isinstance(size, Var)}
        for each in self.graph.inputs:
            sizes = {size for size in each.shape if isinstance(size, Var)}
            if self.known[each] <= level and makes and not sizes <= data_sizes:
                data_sizes |= sizes
                yield each


class StagedModel:
    """The stages compiled: `build` compiles a graph. `run` gives the values of all tensors."""

    def __init__(
        self,
        graph: FlowGraph,
        functions: Sequence[HostFunction],
        build: Callable[[FlowGraph], CompiledGraph],
        device: str,
    ) -> None:
        self.device = device
        self.stages = staged(graph, functions)
        self.compiled = [build(each.graph) if each.makes else None for each in self.stages]

    def run(self, given: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The values of everything, from those of the model's inputs."""
        values = dict(given)
        for stage, compiled in zip(self.stages, self.compiled, strict=True):
            for function in stage.functions:
                self.call(function, values)
            if compiled is not None:
                inputs = [on_device(values[each], self.device) for each in stage.reads]
                values.update(zip(stage.makes, compiled.run(inputs), strict=True))
        return values

    def call(self, function: HostFunction, values: dict[Any, Any]) -> None:
        """Run a function of the host and note its results."""
        results = function.run(*(on_host(each, values) for each in function.operands))
        for key, value in zip(function.results, results, strict=False):
            if isinstance(key, Tensor):
                value = np.ascontiguousarray(value, key.dtype.numpy).reshape(np.shape(value))
            if key is not None:
                values[key] = value


def on_host(operand: Any, values: Mapping[Any, Any]) -> Any:
    """An operand as functions of the host take it."""
    if isinstance(operand, list | tuple):
        return [on_host(each, values) for each in operand]
    if isinstance(operand, HostValue):
        return values[operand]
    if not isinstance(operand, Tensor):
        return operand
    value = values.get(operand, operand)
    return value if isinstance(value, np.ndarray) else asarray(value).cpu().numpy()


def replaced(function: HostFunction, tensors: Mapping[Tensor, Tensor]) -> HostFunction:
    """A function that reads and gives other tensors, where some took the place of its own."""

    def other(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(other, value))
        return tensors.get(value, value) if isinstance(value, Tensor) else value

    operands, results = other(function.operands), other(function.results)
    return replace(function, operands=operands, results=results)
