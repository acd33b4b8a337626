"""A whole model as a FlowGraph, with what its calls need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hidet.errors import BadArgument, NotYet
from hidet.frontend.coverage import Coverage
from hidet.frontend.limits import Limits
from hidet.frontend.staying import HostCall
from hidet.graph import FlowGraph, Tensor, assuming, guarded, tracing
from hidet.types import TensorType
from hidet_onnx.importing.importer import OnnxImporter
from hidet_onnx.importing.order import in_order
from hidet_onnx.importing.types import Declared, declared
from hidet_onnx.reading.load import Source


@dataclass(frozen=True)
class Imported:
    """A model's graph; `outputs` says of each result of the model where it is in the graph's.

    An entry is a number of an output of the graph, a list of entries, or a value that is known.
    """

    graph: FlowGraph
    outputs: Sequence[Any]
    calls: Mapping[str, HostCall]
    coverage: Coverage


@dataclass(frozen=True)
class Output:
    """A result that is the graph's output of this number."""

    number: int


def inputs_of(source: Source, limits: Limits) -> list[Declared]:
    """The inputs that calls give: those of the model that no initialiser stands for."""
    held = {each.name for each in source.model.graph.initializer}
    held |= {each.values.name for each in source.model.graph.sparse_initializer}
    return [declared(x, limits) for x in source.model.graph.input if x.name not in held]


def outputs_of(source: Source, limits: Limits) -> list[Declared]:
    """The results of a model as its file declares them."""
    return [
        declared(each, limits)
        if each.type.WhichOneof("value")
        else Declared(each.name, "", 0, None)
        for each in source.model.graph.output
    ]


def import_model(source: Source, device: str, limits: Limits, name: str = "") -> Imported:
    """The FlowGraph of a model for a device."""
    importer = OnnxImporter(source, device, limits)
    graph = source.model.graph
    inputs: list[Tensor] = []
    with tracing(), assuming() as guards:  # exporters give equal lengths different names
        for each in inputs_of(source, limits):
            inputs.append(symbol_of(each, importer))
            importer.values[each.name] = inputs[-1]
        importer.walk(in_order(graph.node, [each.name for each in inputs], graph.name))
        coverage = importer.coverage()
        results = Results(importer)
        outputs = [results.add(importer.values[each.name]) for each in graph.output]
    made = FlowGraph(inputs, results.tensors, name or graph.name or "onnx")
    return Imported(guarded(made, guards), outputs, importer.staying.calls, coverage)


def symbol_of(each: Declared, importer: OnnxImporter) -> Tensor:
    """An input of the graph."""
    if each.kind != "tensor" or each.is_text:
        raise NotYet(f"the input {each} is no tensor of numbers")
    if each.shape is None:
        raise BadArgument(f"the model does not say how many axes its input {each.name!r} has")
    shape = importer.symbols.shape(each.name, each.shape)
    return Tensor(TensorType(each.dtype, shape), importer.device, name=each.name)


class Results:
    """The outputs of a graph, each tensor once."""

    def __init__(self, importer: OnnxImporter) -> None:
        self.importer = importer
        self.tensors: list[Tensor] = []

    def add(self, value: Any) -> Any:
        """Where a result of the model is: an Output, a list of such, or the value itself."""
        if isinstance(value, list | tuple):
            return [self.add(each) for each in value]
        if not isinstance(value, Tensor):
            return value
        for number, each in enumerate(self.tensors):
            if each is value:
                return Output(number)
        self.tensors.append(value)
        return Output(len(self.tensors) - 1)
