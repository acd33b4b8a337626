"""`hidet_torch.explain`: how much of a model is compiled, without compiling it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hidet.frontend.footprint import Footprint, footprint_of
from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.report import table
from hidet.graph import FlowGraph
from hidet_torch.backend import capture
from hidet_torch.calling.uncompiled import EagerCall
from hidet_torch.capture.aot import for_inference
from hidet_torch.capture.capture import Boxed, imported_or_refused
from hidet_torch.importing.refused import Refused
from hidet_torch.settings import Settings

NOTHING = """torch.compile captured no graph: all of it runs in PyTorch, as with any backend.
TORCH_LOGS=graph_breaks says why. Recurrent layers (nn.LSTM) end a capture, unless
torch._dynamo.config.allow_rnn is set; hidet_torch.compile, by torch.export, captures them."""


@dataclass(frozen=True)
class Explanation:
    """The coverage of a model, and how many graphs PyTorch cut it into; prints as a table.

    `flow` holds the graphs as the compiler gets them, without those that stay in PyTorch whole.
    """

    coverage: Coverage
    graphs: int
    flow: tuple[FlowGraph, ...] = ()

    def memory(
        self, target: str | None = None, symbols: Mapping[str, int] | None = None
    ) -> Footprint:
        """What calls need of memory beside the weights, from the plans for `target`.

        That is the graphs' device, or one that this machine need not have: "sm_90a". Schedules are
        chosen for it, which takes a while. `symbols` are numbers for the dynamic dimensions.
        """
        each = (footprint_of(graph, target, symbols) for graph in self.flow)
        return reduce(Footprint.beside, each, Footprint())

    def kernels(self, target: str | None = None) -> str:
        """Which operators would share kernels, and why others would not; nothing is compiled.

        It is told for the graphs' device, or for one that this machine need not have: "sm_90a".
        """
        return "\n".join(graph.explain(target) for graph in self.flow)

    def __str__(self) -> str:
        if not self.graphs:
            return NOTHING
        noun = "graph" if self.graphs == 1 else "graphs"
        return f"{table(self.coverage)}, in {self.graphs} {noun}"


def explain(model: Any, *inputs: Any, **named: Any) -> Explanation:
    """Trace `model` for these inputs, as for inference, and say what would be compiled.

    Of what `hidet_torch.compile` gave it says what is compiled, and what keeps `save` from it.
    """
    own = getattr(model, "coverage", None)
    if isinstance(own, Coverage):
        graph = getattr(model.run, "imported", None)
        return Explanation(own, 1, () if graph is None else (graph.graph,))
    parts: list[Coverage] = []
    flow: list[FlowGraph] = []

    def inspect(
        traced: torch.fx.GraphModule,
        frozen: Mapping[torch.fx.Node, torch.Tensor],
        settings: Settings,
    ) -> Boxed:
        with _disable_current_modes(), torch.no_grad():
            found = imported_or_refused(traced, frozen)
        if isinstance(found, Refused):
            parts.append(found.coverage(traced))
        else:
            parts.append(found.coverage)
            flow.append(found.graph)
        return EagerCall(traced)

    trace = partial(for_inference, compile_graph=inspect)

    def backend(graph_module: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
        return capture(graph_module, examples, Settings(), trace)

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=backend)(*inputs, **named)
    return Explanation(Coverage.together(parts), len(parts), tuple(flow))
