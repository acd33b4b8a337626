"""An imported model compiled: one graph, or graphs in turns with functions of the host."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hidet.build.compiled import CompiledGraph, Profile
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors import BadArgument
from hidet.errors.warning import warn
from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.report import require_complete, table, warning
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.host_values import HostFunction
from hidet.frontend.running.stages import StagedModel
from hidet.frontend.saved import build_model
from hidet.graph import FlowGraph, asarray
from hidet.options import options


@dataclass(frozen=True)
class Model:
    """What a frontend imported, for a device.

    `calls` are what the framework runs within the graph, `functions` what the host runs between
    graphs: what these give are further inputs of the graph, and what they read are further outputs.
    `chosen` are the options in force whenever something is compiled; `frontend` is its name.
    """

    graph: FlowGraph
    calls: Mapping[str, HostCall]
    functions: Sequence[HostFunction]
    coverage: Coverage
    device: str
    frontend: str
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def compiled(self) -> CompiledGraph | StagedModel:
        """What runs."""
        with options(**self.chosen):
            if not self.functions:
                return self.build(self.graph)
            return StagedModel(self.graph, self.functions, self.build, self.device)

    @property
    def single(self) -> CompiledGraph:
        """What runs, if it is one graph; BadArgument names what runs on the host otherwise."""
        found = self.compiled
        return found if isinstance(found, CompiledGraph) else self.built()

    @property
    def single_graph(self) -> FlowGraph:
        """The graph, if it is all that runs; BadArgument otherwise."""
        if self.functions:
            names = ", ".join(dict.fromkeys(each.name for each in self.functions))
            raise BadArgument(
                f"the model is no single graph: {names} runs on the host, between its graphs",
                help="take the part of the model before or after it",
            )
        return self.graph

    def built(self, *targets: str, orders: Orders = IN_ROWS) -> CompiledGraph:
        """The model compiled for its device, or for other targets: see `FlowGraph.build`."""
        with options(**self.chosen):
            return self.build(self.single_graph, *targets, orders=orders)

    def build(self, graph: FlowGraph, *targets: str, orders: Orders = IN_ROWS) -> CompiledGraph:
        """One graph compiled."""
        return build_model(graph, self.calls, self.frontend, targets, orders)

    def tell(self, fallback: str, framework: str) -> None:
        """Warn of what is not compiled, or raise UnsupportedOp where `fallback` is "error"."""
        if self.coverage.is_complete:
            return
        if fallback == "error":
            require_complete(self.coverage)
        warn(warning(self.coverage, framework))

    def explain(self) -> str:
        """Which operators are compiled, which are not and why, and which share kernels."""
        with options(**self.chosen):
            return f"{table(self.coverage)}\n{self.graph.explain()}"

    def profile(self, inputs: Sequence[Any], repeat: int) -> Profile:
        """The microseconds of each kernel and host step: see `CompiledGraph.profile`."""
        with options(**self.chosen):
            return self.single.profile(*inputs, repeat=repeat)

    def correctness_report(self, inputs: Sequence[Any], float64: bool = False) -> Any:
        """How far each operator is from what it means: see `FlowGraph.correctness_report`."""
        with options(**self.chosen):
            graph = self.single_graph  # before inputs: what runs on the host may take no numbers
            given = [asarray(each, device=self.device) for each in inputs]
            return graph.correctness_report(*given, float64=float64)

    def save(self, path: str | os.PathLike[str], *targets: str, orders: Orders = IN_ROWS) -> None:
        """Write the model to a file: see `CompiledGraph.save` and `FlowGraph.build`."""
        with options(**self.chosen):
            compiled = self.built(*targets, orders=orders) if targets or orders else self.single
            compiled.save(path)
