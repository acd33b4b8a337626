"""Graphs of tensors whose values are there: compiled once for each graph, run at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from hidet import options
from hidet.build.called import as_called, names
from hidet.build.compile import compile_graph
from hidet.build.target import device_of
from hidet.errors import BadArgument
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.binding.memory import View, array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import TensorType, dtype

KEPT = 256
_executors: OrderedDict[object, tuple[Executor, FlowGraph]] = OrderedDict()
_lock = Lock()


def run_graph(graph: FlowGraph, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The graph's outputs for `inputs`, on the device where they are."""
    executor = executor_for(graph)
    views = executor([given_view(each) for each in inputs])
    return tuple(as_tensor(view, type_of(view)) for view in views)


def executor_for(graph: FlowGraph) -> Executor:
    """The graph compiled and loaded; the same nodes and constants under the same options share."""
    guards = tuple((e.number(graph.inputs), e.axis, e.symbol, e.place) for e in graph.guards)
    called = tuple(names([each.name for each in graph.inputs]))
    said = called, tuple(graph.limits.items()), guards
    key = signature(graph), said, options.code_values()
    with _lock:
        found = _executors.get(key)
        if found is None:
            compiled = compile_graph(graph)
            weights = {name: given_view(tensor) for name, tensor in compiled.weights.items()}
            archive = as_called(compiled.archive, graph)
            executor = Executor(archive, device_of(graph), weights=weights)
            found = _executors[key] = executor, graph
            if len(_executors) > KEPT:
                _executors.popitem(last=False)
        _executors.move_to_end(key)
    return found[0]


def signature(graph: FlowGraph) -> object:
    """What a graph computes: operators, wiring, types; constants by identity."""
    numbers: dict[Tensor, object] = {each: ("input", i) for i, each in enumerate(graph.inputs)}
    for tensor in graph.constants:
        numbers[tensor] = ("constant", id(tensor))
    wiring = []
    for node in graph.nodes:
        wiring.append((node.op, node.device, tuple(numbers[each] for each in node.inputs)))
        for each in node.outputs:
            numbers[each] = ("made", len(numbers))
    types = tuple(each.type for each in graph.inputs)
    data_sizes = tuple(
        (each.size, each.limits, each.equals, each.holds) for each in graph.data_sizes
    )
    return types, tuple(wiring), tuple(numbers[each] for each in graph.outputs), data_sizes


def given_view(tensor: Tensor) -> View:
    """A tensor's memory; values that the host holds of a tensor of a GPU are copied there."""
    storage = tensor.storage
    if storage is None:
        raise BadArgument("a symbolic tensor has no values to run a graph on")
    return storage if isinstance(storage, View) else to_device(storage, tensor.device)


def as_tensor(view: View, of: TensorType) -> Tensor:
    """What the runtime computed, as a tensor: a numpy array on the CPU, else the view itself."""
    return Tensor(of, view.device, array_of(view) if view.device == "cpu" else view)


def type_of(view: View) -> TensorType:
    """The type of a tensor in memory."""
    return TensorType(dtype(view.dtype), view.shape)
