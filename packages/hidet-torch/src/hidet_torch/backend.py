"""The backend of torch.compile: Dynamo's graph, through AOTAutograd, to compiled calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.guards import install_guard
from torch._functorch._aot_autograd.descriptors import PlainAOTInput, PlainAOTOutput
from torch._functorch.aot_autograd import aot_module_simplified

from hidet_torch.capture import Boxed, compile_inference, compile_training, run_backward
from hidet_torch.decompositions import decompositions
from hidet_torch.gradients import CannotRepeat, Region, may_repeat, require_repeatable
from hidet_torch.identity import same_object
from hidet_torch.run import CompiledCall
from hidet_torch.settings import Settings, settings_for
from hidet_torch.whole import kept_whole

Compile = Callable[[torch.fx.GraphModule, Mapping[torch.fx.Node, torch.Tensor], Settings], Boxed]


def hidet(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile one Dynamo graph: `torch.compile(model, backend="hidet", mode= or options=)`."""
    return capture(graph_module, example_inputs, settings_for(mode, options), compile_inference)


def capture(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    compile_graph: Compile,
) -> Callable[..., Any]:
    """A Dynamo graph through AOTAutograd, its inference graph compiled by `compile_graph`."""

    def compiled(repeatable: bool = False) -> Callable[..., Any]:
        with kept_whole(graph_module):
            return through_aot(graph_module, example_inputs, settings, compile_graph, repeatable)

    wants = any(getattr(each, "requires_grad", False) for each in example_inputs)
    if not (torch.is_grad_enabled() and wants):
        return compiled()
    if settings.inference:
        with torch.no_grad():
            return without_gradients(compiled())
    if may_repeat(graph_module):
        try:
            with torch.no_grad():
                return Region(graph_module, compiled(repeatable=True))
        except CannotRepeat:
            pass
    return through_aot(graph_module, example_inputs, settings, compile_graph)


def through_aot(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    compile_graph: Compile,
    repeatable: bool = False,
) -> Callable[..., Any]:
    """AOTAutograd with our decompositions and compilers; CannotRepeat where it has to be
    `repeatable` and is not."""
    sources = weight_sources(graph_module, example_inputs) if settings.freeze else {}
    plain: list[CompiledCall] = []

    def inference(traced: torch.fx.GraphModule, fakes: Sequence[Any]) -> Boxed:
        if repeatable:
            require_repeatable(traced)
        frozen = frozen_inputs(traced, sources)
        for index in frozen.values():
            # The weight by which a graph was compiled is the weight it is called with.
            install_guard(sources[index].make_guard(same_object))
        weights = {node: example_inputs[index] for node, index in frozen.items()}
        call = compile_graph(traced, weights, settings)
        if isinstance(call, CompiledCall) and call.is_plain and is_identity(traced):
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
    return without_wrapper(plain[0]) if plain else compiled


def without_wrapper(call: CompiledCall) -> Callable[..., Any]:
    """A call as Dynamo makes it, without what AOTAutograd does around it for aliases, mutations and
    subclasses: there are none, and it takes longer than the call itself."""
    return lambda *args: call.run(list(args))  # whatever it is by then


def is_identity(traced: torch.fx.GraphModule) -> bool:
    """Whether AOTAutograd's graph takes and gives what Dynamo's does, in the same order."""
    taken = [node.meta.get("desc") for node in traced.graph.find_nodes(op="placeholder")]
    given = traced.graph.output_node().meta.get("desc") or [None]
    return all(
        isinstance(each, kind) and each.idx == place
        for found, kind in ((taken, PlainAOTInput), (given, PlainAOTOutput))
        for place, each in enumerate(found)
    )


def without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with gradients off, whatever the caller has."""

    def run(*args: Any) -> Any:
        with torch.no_grad():
            return function(*args)

    return run


def weight_sources(graph_module: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[int, Any]:
    """Which inputs of a Dynamo graph are weights of the user's modules, and where those are."""
    found: dict[int, Any] = {}
    for index, node in enumerate(graph_module.graph.find_nodes(op="placeholder")):
        source = getattr(node.meta.get("grapharg"), "source", None)
        if source is None or type(inputs[index]) not in (torch.Tensor, torch.nn.Parameter):
            continue
        guard = source.guard_source
        if guard.is_unspecialized_nn_module() and not guard.is_fsdp_module():
            found[index] = source
    return found


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
