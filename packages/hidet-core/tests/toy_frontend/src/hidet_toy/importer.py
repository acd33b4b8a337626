"""From the toy's lines to a FlowGraph: what the shared walk has to know about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hidet import ops
from hidet.errors import Place
from hidet.frontend.importing.importer import Importer
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.results import Results
from hidet.graph import FlowGraph, Tensor, symbol, tracing
from hidet_toy.converters import toy
from hidet_toy.language import Line, Model
from hidet_toy.steps import NUMPY, step


class ToyImporter(Importer[Line]):
    """Walks a model; `values` has the tensor of each name."""

    framework = "numpy"

    def __init__(self, model: Model, device: str) -> None:
        super().__init__(toy, device)
        self.model = model

    def run(self) -> tuple[FlowGraph, list[int]]:
        """The graph, and which of its outputs each result of the model is."""
        with tracing():
            for name, (dtype, shape) in self.model.inputs.items():
                self.values[name] = symbol(shape, dtype, self.device, name=name)
            self.walk(self.model.lines)
            self.coverage()  # raises where nobody can run something
            results = Results()
            outputs = [results.add(self.values[name]) for name in self.model.outputs]
        inputs = [self.values[name] for name in self.model.inputs]
        return FlowGraph(inputs, results.tensors, "toy"), outputs

    def key(self, node: Line) -> tuple[str, int]:
        """The operator and the model's version."""
        return node[1], self.model.version

    def place(self, node: Line) -> Place:
        """The number of the line; lines of functions have the caller's."""
        lines = self.model.lines
        return Place("model", lines.index(node) + 1 if node in lines else 0, function=node[1])

    def arguments(self, node: Line) -> tuple[list[Any], dict[str, Any]]:
        """The operands' tensors, and the attributes as they are."""
        return [self.values[name] for name in node[2]], node[3]

    def results(self, node: Line) -> list[str]:
        """Every line has one result."""
        return [node[0]]

    def agreed(self, node: Line, found: Sequence[Any]) -> Sequence[Any]:
        """The results where the graph runs: constants come from the host."""
        return [each.to(self.device) for each in found]

    def expand(self, node: Line) -> bool:
        """Convert a call of a function by its lines, in which names are its own."""
        if node[1] not in self.model.functions:
            return False
        self.bind(node, [self.call(node[1], *(self.values[name] for name in node[2]))])
        return True

    def call(self, function: str, *operands: Any) -> Any:
        """What a function's lines make of these operands."""
        called, outer = self.model.functions[function], self.values
        self.values = dict(zip(called.parameters, operands, strict=True))
        try:
            self.inside(called.lines)
            return self.values[called.result]
        finally:
            self.values = outer

    def converter(self, node: Line) -> Callable[..., Any]:
        """Control flow calls functions of the model, so the importer itself converts it."""
        own: dict[str, Callable[..., Any]] = {"if": self.branch, "repeat": self.repeat}
        return own[node[1]] if node[1] in own else super().converter(node)

    def branch(self, condition: Tensor, *read: Tensor, then: str, otherwise: str) -> Any:
        """One of two functions runs."""
        functions = partial(self.call, then), partial(self.call, otherwise)
        return ops.if_(condition, *functions, *read)

    def repeat(self, iterations: Tensor, x: Tensor, *read: Tensor, body: str) -> Tensor:
        """A function runs on its own result again, as often as a tensor says."""

        def iteration(_: Tensor, now: Tensor) -> tuple[None, list[Tensor], list[Tensor]]:
            return None, [self.call(body, now, *read)], []

        return ops.loop(iteration, [x], trips=iterations)[0][0]

    def leave(self, node: Line) -> HostCall | None:
        """What only numpy has runs there; its name is all that a file has to keep."""
        if node[1] not in NUMPY:
            return None
        x = self.values[node[2][0]]
        return HostCall(node[1], (x,), (x.type,), step(node[1]), payload=node[1].encode())
