"""A Dynamo graph through AOTAutograd to a compiled call: the way of those not known yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch._aot_autograd.descriptors import PlainAOTInput, PlainAOTOutput
from torch._functorch.aot_autograd import aot_module_simplified

from hidet_torch.calling.run import CompiledCall, without_wrapper
from hidet_torch.calling.uncompiled import EagerCall, as_captured
from hidet_torch.capture.capture import Boxed, compile_inference, compile_training, run_backward
from hidet_torch.capture.decompositions import decompositions
from hidet_torch.capture.gradients import require_repeatable
from hidet_torch.converters.composites import composites_kept
from hidet_torch.converters.whole import kept_whole
from hidet_torch.settings import Settings
from hidet_torch.weights.sources import guard, weight_sources

Compile = Callable[[torch.fx.GraphModule, Mapping[torch.fx.Node, torch.Tensor], Settings], Boxed]
Keep = Callable[[CompiledCall, Sequence[int]], None]
"""What takes a call, and which inputs of the Dynamo graph are constants of it."""


def for_inference(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    repeatable: bool = False,
    *,
    compile_graph: Compile = compile_inference,
    keep: Keep | None = None,
) -> Callable[..., Any]:
    """The graph compiled by `compile_graph`, with the operators whole that hidet has whole.

    CannotRepeat where it has to be `repeatable` and is not. What becomes of a plain graph is given
    to `keep`.
    """
    with kept_whole(graph_module), composites_kept(graph_module):
        return through_aot(graph_module, example_inputs, settings, compile_graph, repeatable, keep)


def for_training(
    graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], settings: Settings
) -> Callable[..., Any]:
    """The graph with its gradients; without, where it needs none after all."""
    return through_aot(graph_module, example_inputs, settings, compile_inference)


def through_aot(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    compile_graph: Compile,
    repeatable: bool = False,
    keep: Keep | None = None,
) -> Callable[..., Any]:
    """AOTAutograd with our decompositions and compilers."""
    sources = weight_sources(graph_module, example_inputs) if settings.freeze else {}
    plain: list[CompiledCall | EagerCall] = []
    frozen: dict[torch.fx.Node, int] = {}

    def inference(traced: torch.fx.GraphModule, fakes: Sequence[Any]) -> Boxed:
        if repeatable:
            require_repeatable(traced)
        frozen.update(frozen_inputs(traced, sources))
        guard(sources, frozen.values())
        weights = {node: example_inputs[index] for node, index in frozen.items()}
        call = compile_graph(traced, weights, settings)
        if not isinstance(call, CompiledCall | EagerCall) or not is_identity(traced):
            return call
        if call.is_plain or gives_views(call):
            plain.append(call)
        return call

    compiled: Callable[..., Any] = aot_module_simplified(
        graph_module,
        example_inputs,
        fw_compiler=compile_training,
        bw_compiler=run_backward,
        inference_compiler=inference,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
    )
    if not plain:
        return compiled
    call = plain[0]
    if isinstance(call, EagerCall) or gives_views(call):
        return as_captured(graph_module)
    if keep is not None:
        keep(call, sorted(frozen.values()))
    return without_wrapper(call)


def gives_views(call: CompiledCall | EagerCall) -> bool:
    """Whether all that a graph does is to give views of its arguments: PyTorch takes them faster
    than AOTAutograd makes them anew, which takes all views of an argument again for each."""
    if not isinstance(call, CompiledCall):
        return False
    given = call.interface
    changes = bool(given.mutations or given.updates or given.calls)
    are_views = [
        each.alias is not None and each.alias.position is not None for each in given.outputs
    ]
    return bool(are_views) and all(are_views) and not changes


def is_identity(traced: torch.fx.GraphModule) -> bool:
    """Whether AOTAutograd's graph takes and gives what Dynamo's does, in the same order."""
    taken = [node.meta.get("desc") for node in traced.graph.find_nodes(op="placeholder")]
    given = traced.graph.output_node().meta.get("desc") or [None]
    return all(
        isinstance(each, kind) and each.idx == place
        for found, kind in ((taken, PlainAOTInput), (given, PlainAOTOutput))
        for place, each in enumerate(found)
    )


def frozen_inputs(
    traced: torch.fx.GraphModule, sources: Mapping[int, Any]
) -> dict[torch.fx.Node, int]:
    """The placeholders of AOTAutograd's graph that are weights nobody writes to."""
    found: dict[torch.fx.Node, int] = {}
    for node in traced.graph.find_nodes(op="placeholder"):
        meaning = node.meta.get("desc")
        if isinstance(meaning, PlainAOTInput) and meaning.idx in sources and not is_written(node):
            found[node] = meaning.idx
    return found


def is_written(node: torch.fx.Node) -> bool:
    """Whether the graph copies something into an input."""
    copy = torch.ops.aten.copy_.default
    return any(user.target is copy and user.args[0] is node for user in node.users)
