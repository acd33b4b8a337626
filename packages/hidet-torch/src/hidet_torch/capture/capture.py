"""From captured graphs to compiled calls; what cannot be compiled runs in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.report import FallbackWarning, require_complete, warning
from hidet_torch.calling.caller import warn
from hidet_torch.calling.correctness import report_first
from hidet_torch.calling.fixed import is_plain
from hidet_torch.calling.run import CompiledCall
from hidet_torch.calling.uncompiled import EagerCall
from hidet_torch.capture.donation import donate
from hidet_torch.importing.imported import Imported
from hidet_torch.importing.importer import import_graph
from hidet_torch.importing.refused import Refused
from hidet_torch.importing.views import VIEW_NAMES
from hidet_torch.settings import Settings

Boxed = Callable[[list[Any]], Any]


def compile_inference(
    graph_module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor],
    settings: Settings,
    name: str = "torch",
) -> CompiledCall | EagerCall:
    """The compiled call of an fx graph of ATen operators that needs no gradients; `name` is the
    model's, for who watches or looks at files."""
    if settings.print_input_graph:
        print(graph_module.graph)
    with _disable_current_modes(), torch.no_grad(), settings.in_force():
        imported = imported_or_refused(graph_module, frozen, name)
        if isinstance(imported, Refused):
            coverage = imported.coverage(graph_module)
            report(coverage, settings)
            return EagerCall(graph_module, coverage)
        report(imported.coverage, settings)
        if has_nothing_to_compile(imported.coverage):
            return EagerCall(graph_module, imported.coverage, is_plain(imported))
        call = CompiledCall(imported, settings.use_graph)
        donating = partial(donate, call.weights, imported, frozen)
        if settings.correctness_report:  # it reads the weights, which are given away after it
            then = donating if settings.steal_weights else None
            report_first(call, graph_module, frozen, settings, then)
        elif settings.steal_weights:
            donating()
        return call


def imported_or_refused(
    graph_module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor],
    name: str = "torch",
) -> Imported | Refused:
    """The graph imported, or why it cannot be."""
    try:
        return import_graph(graph_module, frozen, name)
    except Refused as refused:
        return refused


def report(coverage: Coverage, settings: Settings) -> None:
    """Warn of what stays in PyTorch, or raise if that was forbidden."""
    if settings.fallback == "error":
        require_complete(coverage)
    elif not coverage.is_complete:
        warn(warning(coverage, "PyTorch", has_nothing_to_compile(coverage)))


def has_nothing_to_compile(coverage: Coverage) -> bool:
    """Whether PyTorch has to run all that is more than a view."""
    compiled = coverage.compiled.keys() - VIEW_NAMES
    return not compiled and not coverage.is_complete


def compile_training(graph_module: torch.fx.GraphModule, example_inputs: Any) -> Boxed:
    """A graph of a region that needs gradients: PyTorch runs it, and the user is told."""
    warn(
        FallbackWarning(
            "a region that needs gradients runs in PyTorch; for inference call the model under "
            'torch.no_grad(), or compile it with options={"inference": True}'
        )
    )
    return EagerCall(graph_module)


def run_backward(graph_module: torch.fx.GraphModule, example_inputs: Any) -> Boxed:
    """The backward graph of such a region."""
    return EagerCall(graph_module)
