"""A whole model as a FlowGraph, with what its calls need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnx import helper

from hidet.errors import BadArgument
from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.limits import Limits
from hidet.frontend.model import Model
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.gather import following, gathered, moved
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.frontend.running.results import Results
from hidet.graph import FlowGraph, Tensor, assuming, guarded, tracing
from hidet.types import Size, TensorType, dtype
from hidet_onnx.importing.dense import with_dense_layers
from hidet_onnx.importing.forms import Absent, Fixed, Form, Listed, Open
from hidet_onnx.importing.importer import OnnxImporter
from hidet_onnx.importing.order import in_order
from hidet_onnx.importing.types import Declared, declared
from hidet_onnx.reading.load import Source


@dataclass(frozen=True)
class Imported:
    """A model's graph; `outputs` says of each result of the model where it is in the graph's.

    An entry is an Output, a value of the host, a list of entries, or a value that is known.
    `inputs` are what calls give, in order: inputs of the graph, and values of the host. Where the
    host has `functions`, what they give are further inputs of the graph, and what they read are
    further outputs.
    """

    graph: FlowGraph
    inputs: Sequence[Tensor | HostValue]
    functions: Sequence[HostFunction]
    outputs: Sequence[Any]
    calls: Mapping[str, HostCall]
    coverage: Coverage

    def model(self, device: str, chosen: Mapping[str, Any]) -> Model:
        """The same as core compiles it for a device, under these options."""
        return Model(self.graph, self.calls, self.functions, self.coverage, device, "onnx", chosen)


@dataclass(frozen=True)
class Output:
    """A result that is the graph's output of this number."""

    number: int


def inputs_of(source: Source, limits: Limits) -> list[Declared]:
    """The inputs that calls may give; one that is an initialiser too has a default."""
    held = {each.name for each in source.model.graph.initializer}
    held |= {each.values.name for each in source.model.graph.sparse_initializer}
    return [
        replace(declared(each, limits), has_default=each.name in held)
        for each in source.model.graph.input
    ]


def outputs_of(source: Source, limits: Limits) -> list[Declared]:
    """The results of a model as its file declares them."""
    outputs = [(each, each.type.WhichOneof("value")) for each in source.model.graph.output]
    return [declared(x, limits) if kind else Declared(x.name, "", 0, None) for x, kind in outputs]


def import_model(
    source: Source, device: str, limits: Limits, inputs: Mapping[Declared, Form]
) -> Imported:
    """The FlowGraph of a model for a device and inputs of these forms."""
    importer = OnnxImporter(source, device, limits)
    graph = source.model.graph
    entry = Entry(importer)
    with tracing(), assuming() as guards:  # exporters give equal lengths different names
        for each, form in inputs.items():
            if not isinstance(form, Absent) or not each.has_default:
                importer.values[each.name] = entry.value(each, form, each.name)
        importer.walk(in_order(graph.node, [each.name for each in inputs], graph.name))
        coverage = importer.coverage()
        results = Results()
        outputs = [placed(importer.values[each.name], results) for each in graph.output]
        functions = importer.fallback.functions
        given = [each for each in entry.symbols if isinstance(each, Tensor)]
        whole = gathered(given, results, functions, graph.name or "onnx")
    limits.require_constants(whole)
    after = with_dense_layers(guarded(whole, guards))
    new = moved(whole, after)
    symbols = [new.get(each, each) for each in entry.symbols]
    functions = following(functions, new)
    return Imported(after, symbols, functions, outputs, importer.fallback.calls, coverage)


class Entry:
    """The inputs of a graph: `symbols` are its tensors, and the values that only the host has."""

    def __init__(self, importer: OnnxImporter) -> None:
        self.importer = importer
        self.symbols: list[Any] = []

    def value(self, declared: Declared, form: Form, name: str) -> Any:
        """What an input of some form is while importing."""
        match form:
            case Fixed():
                return self.importer.held(form.array)
            case Listed():
                each, items = declared.element(), enumerate(form.items)
                return [self.value(each, item, f"{name}[{number}]") for number, item in items]
            case Absent():
                return None
        return self.symbol(declared, form, name)

    def symbol(self, declared: Declared, form: Open, name: str) -> Tensor | HostValue:
        """An input of the graph, or one of the host."""
        made = self.made(declared, form, name)
        self.symbols.append(made)
        return made

    def made(self, declared: Declared, form: Open, name: str) -> Tensor | HostValue:
        """What stands for an input."""
        if declared.kind == "map":
            return HostValue(declared.proto, name)
        shape: tuple[Size, ...]
        if form.rank < 0:
            if declared.shape is None:
                raise BadArgument(f"the model does not say how many axes its input {name!r} has")
            shape = self.importer.symbols.shape(name, declared.shape)
        else:
            given = declared.shape or ()
            sizes = given if len(given) == form.rank else (None,) * form.rank
            shape = self.importer.symbols.shape(name, sizes)
        if declared.is_text:
            spelled = self.importer.types.shape(shape)
            return HostValue(helper.make_tensor_type_proto(declared.code, spelled), name)
        kind = declared.dtype if declared.code else dtype(form.dtype)
        return Tensor(TensorType(kind, shape), self.importer.device, name=name)


def placed(value: Any, results: Results) -> Any:
    """Where a result of the model is: an Output, a list of such, or the value itself."""
    if isinstance(value, list | tuple):
        return [placed(each, results) for each in value]
    return Output(results.add(value)) if isinstance(value, Tensor) else value
