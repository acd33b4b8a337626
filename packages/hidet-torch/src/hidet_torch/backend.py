"""The backend of torch.compile: a Dynamo graph that is known, or through AOTAutograd, to calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from hidet_torch.cache.graph_cache import recalled_or_traced
from hidet_torch.capture.gradients import CannotRepeat, Region, may_repeat
from hidet_torch.capture.later import for_training
from hidet_torch.settings import Settings, settings_for

Trace = Callable[[torch.fx.GraphModule, Sequence[Any], Settings, bool], Callable[..., Any]]
"""What makes the call of a Dynamo graph without gradients; the last argument says whether it must
be repeatable."""


def hidet(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile one Dynamo graph: `torch.compile(model, backend="hidet", mode= or options=)`."""
    return capture(graph_module, example_inputs, settings_for(mode, options), recalled_or_traced)


def capture(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    settings: Settings,
    trace: Trace,
) -> Callable[..., Any]:
    """The call of a Dynamo graph, as `trace` makes it where no gradients are to be taken."""
    wants = any(getattr(each, "requires_grad", False) for each in example_inputs)
    if not (torch.is_grad_enabled() and wants):
        return trace(graph_module, example_inputs, settings, False)
    if settings.inference:
        with torch.no_grad():
            return without_gradients(trace(graph_module, example_inputs, settings, False))
    if may_repeat(graph_module):
        try:
            with torch.no_grad():
                return Region(graph_module, trace(graph_module, example_inputs, settings, True))
        except CannotRepeat:
            pass
    return for_training(graph_module, example_inputs, settings)


def without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with gradients off, whatever the caller has."""

    def run(*args: Any) -> Any:
        with torch.no_grad():
            return function(*args)

    return run
