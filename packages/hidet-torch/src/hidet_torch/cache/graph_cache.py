"""Graphs that are known again: called without AOTAutograd, and without being imported.

What becomes of a Dynamo graph depends on the graph, on what its inputs are but not on their values,
on what is set in PyTorch, and on the options: that is its key. Only plain graphs are kept, of which
a call is a run of the compiled graph and nothing else: sizes are fixed, nothing is written to, no
result shares memory with another tensor, and PyTorch runs no part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from hidet.frontend.importing.known import find_graph, keep, key_on, recall
from hidet.frontend.running.execute import load_runner
from hidet.graph import Tensor
from hidet.types import TensorType, dtype
from hidet_torch.cache.cache_key import inputs_text, state
from hidet_torch.cache.graph_text import NoText, graph_text
from hidet_torch.calling.run import CompiledCall, GraphCall, without_wrapper
from hidet_torch.capture.later import for_inference
from hidet_torch.importing.imported import Interface, LiveInput, Output
from hidet_torch.memory.streams import stream_of
from hidet_torch.memory.strides import order_of
from hidet_torch.memory.tensors import TorchAllocator, device_of
from hidet_torch.settings import Settings
from hidet_torch.weights.sources import guard, weight_sources
from hidet_torch.weights.weight import Weight
from hidet_torch.weights.weights import Weights


def recalled_or_traced(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    repeatable: bool = False,
) -> Callable[..., Any]:
    """The call of a graph that is known, or of one that is traced and compiled now."""
    sources = weight_sources(graph_module, example_inputs) if settings.freeze else {}
    device = device_among(example_inputs)
    with settings.in_force():
        facts = facts_of(graph_module.graph, example_inputs, sources, settings)
        key = None if facts is None else key_on(device, repeatable=repeatable, **facts)
        note = None if key is None else recall(key)
        call = None if note is None else recalled(note, device, example_inputs, settings.use_graph)
    if note is not None and call is not None:
        guard(sources, note["frozen"])
        return without_wrapper(call)

    def kept(made: CompiledCall, frozen: Sequence[int]) -> None:
        found = note_of(made, frozen, example_inputs)
        if key is not None and found is not None and made.device == device:
            keep(key, found)

    return for_inference(graph_module, example_inputs, settings, repeatable, keep=kept)


def device_among(inputs: Sequence[Any]) -> str:
    """The device of a graph with these inputs, as far as they tell."""
    found = [device_of(each.device) for each in inputs if isinstance(each, torch.Tensor)]
    return next((each for each in found if each != "cpu"), "cpu")


def facts_of(
    graph: torch.fx.Graph, inputs: Sequence[Any], weights: Container[int], settings: Settings
) -> dict[str, Any] | None:
    """All that decides what becomes of a graph; None if something does that cannot be told."""
    sees_weights = settings.steal_weights or settings.correctness_report
    if sees_weights or settings.print_input_graph or not has_only_our_converters():
        return None
    taken, around = inputs_text(graph, inputs, weights), state()
    if taken is None or around is None:
        return None
    try:
        text = graph_text(graph)
    except NoText:
        return None
    return {"graph": text, "inputs": taken, "state": around, "settings": repr(settings)}


def has_only_our_converters() -> bool:
    """Whether only converters of this package are registered.

    On a cache hit the converter table is not imported, and so nobody else has registered any.
    """
    table = sys.modules.get("hidet_torch.converters.table")
    return table is None or all(map(is_ours, map(table.torch.find, table.torch)))


def is_ours(converter: Any) -> bool:
    """Whether a converter comes with us."""
    while isinstance(converter, partial):
        converter = converter.func
    home: str = getattr(converter, "__module__", None) or type(converter).__module__
    return home.partition(".")[0] in ("hidet", "hidet_torch")


# ---- what is kept -------------------------------------------------------------------------------


def note_of(
    made: CompiledCall, frozen: Sequence[int], inputs: Sequence[Any]
) -> dict[str, Any] | None:
    """How a plain graph is called, as JSON; None if it has constants that are no inputs, or
    PyTorch runs a part of it."""
    runner, interface = made.runner, made.interface
    places = {id(inputs[place]): place for place in frozen}
    weights = [
        (name, places.get(id(made.weights.by_tensor[tensor].source)))
        for name, tensor in runner.weights.items()
    ]
    if interface.calls or runner.key is None or any(place is None for _, place in weights):
        return None
    taken = [
        (each.position, each.tensor.dtype.name, each.tensor.shape) for each in interface.inputs
    ]
    return {
        "archive": runner.key,
        "frozen": list(frozen),
        "weights": weights,
        "inputs": taken,
        "outputs": [(each.index, each.order, each.shape) for each in interface.outputs],
        "dtypes": [each.name for each in interface.dtypes],
    }


def recalled(
    note: Mapping[str, Any], device: str, inputs: Sequence[Any], use_graph: bool
) -> GraphCall | None:
    """The call that a note describes; None if the compiled graph is not in the cache any more."""
    made = {name: weight_of(inputs[place], device) for name, place in note["weights"]}
    named = {name: weight.constant() for name, weight in made.items()}
    compiled = find_graph(note["archive"], named)
    if compiled is None:
        return None
    weights = Weights({named[name]: weight for name, weight in made.items()}, device)
    runner = load_runner(
        compiled,
        device,
        weights.view,
        allocator=TorchAllocator(),
        use_graph=use_graph,
        origin=weights.origin,
        stream=stream_of(device)(),
        threads=torch.get_num_threads,
    )
    return GraphCall(interface_of(note, device), weights, runner)


def weight_of(source: torch.Tensor, device: str) -> Weight:
    """An input as a constant."""
    return Weight.of(source, device, order_of(source) or tuple(range(source.ndim)))


def interface_of(note: Mapping[str, Any], device: str) -> Interface:
    """How a graph is called, as it was kept."""
    inputs = []
    for position, of, shape in note["inputs"]:
        tensor = Tensor(TensorType(dtype(of), tuple(shape)), device)
        inputs.append(LiveInput(position, tensor, tuple(range(len(shape))), device))
    outputs = [
        Output(index, order=tuple(order), shape=tuple(shape))
        for index, order, shape in note["outputs"]
    ]
    return Interface(device, inputs, outputs, [dtype(each) for each in note["dtypes"]])
