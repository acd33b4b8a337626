"""A whole function as a FlowGraph, with what its calls need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from hidet.errors import BadArgument
from hidet.frontend.coverage import Coverage
from hidet.frontend.model import Model
from hidet.frontend.results import Results
from hidet.frontend.staying import HostCall
from hidet.graph import FlowGraph, Tensor, assuming, guarded, tracing
from hidet.ir.expr import Var
from hidet.types import TensorType, i32
from hidet_tf.dtypes import hidet_dtype
from hidet_tf.importing.importer import TfImporter


@dataclass(frozen=True)
class Imported:
    """A function's graph; `outputs` says which result of the graph each flat result is."""

    graph: FlowGraph
    outputs: Sequence[int]
    calls: Mapping[str, HostCall]
    coverage: Coverage
    device: str

    def model(self, chosen: Mapping[str, Any]) -> Model:
        """The same as core compiles it, under these options."""
        return Model(self.graph, self.calls, (), self.coverage, self.device, "tf", chosen)


def import_function(concrete: Any, device: str) -> Imported:
    """The FlowGraph of a ConcreteFunction for a device.

    Sizes that its signature leaves open are symbols, named after the argument: `x.0`. Raises
    UnsupportedOp that names all operators that nobody can run.
    """
    importer = TfImporter(device, concrete.variables)
    graph = concrete.graph
    count = len(graph.inputs) - len(concrete.captured_inputs)
    with tracing(), assuming() as guards:  # arguments of one batch have sizes of their own
        inputs = [argument(each, device) for each in graph.inputs[:count]]
        captured = [importer.captured(each) for each in concrete.captured_inputs]
        found = importer.subgraph(graph, [*inputs, *captured])
        coverage = importer.coverage()
        results = Results()
        outputs = [results.add(each) for each in found]
        whole = FlowGraph(inputs, results.tensors, graph.name)
    calls = importer.staying.calls
    return Imported(guarded(whole, guards), outputs, calls, coverage, device)


def argument(tensor: tf.Tensor, device: str) -> Tensor:
    """The input of the graph for an argument of the function."""
    name = tensor.op.name
    if tensor.shape.rank is None:
        raise BadArgument(
            f"the argument {name!r} has no number of axes",
            help="give a spec, tf.TensorSpec((None, 3), tf.float32), when it is compiled",
        )
    sizes = enumerate(tensor.shape.as_list())
    shape = tuple(Var(f"{name}.{axis}", i32) if size is None else size for axis, size in sizes)
    return Tensor(TensorType(hidet_dtype(tensor.dtype), shape), device, name=name)
