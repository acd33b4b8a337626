"""Host steps in files: what a frontend keeps of them, and how they come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from hidet.build.compiled import CompiledGraph, build_graph
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors import BadArchive
from hidet.frontend.discover import frontend, load
from hidet.frontend.running.execute import HostStep
from hidet.frontend.running.fallback import HostCall
from hidet.graph import FlowGraph


def build_model(
    graph: FlowGraph,
    calls: Mapping[str, HostCall],
    name: str,
    targets: Sequence[str] = (),
    orders: Orders = IN_ROWS,
) -> CompiledGraph:
    """Compile what a frontend imported, with what its framework runs.

    `calls` are `Importer.fallback.calls`, `name` is the frontend's. Steps that have a payload are
    kept by `save`; that of others raises. `orders` are those of `FlowGraph.build`.
    """
    steps = {key: call.step for key, call in calls.items()}
    kept = {key: call.payload for key, call in calls.items() if call.payload is not None}
    return build_graph(graph, targets, steps, kept, name, orders)


def saved_steps(meta: Mapping[str, Any], host: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file by key, made by the frontend that wrote it.

    Raises FrontendMissing with what to install where it is not there.
    """
    name = meta.get("frontend")
    if not isinstance(name, str) or not name:
        raise BadArchive("the file has host steps, and does not say of which frontend")
    manifest = frontend(name)
    if not manifest.host_steps:
        raise BadArchive(f"the file has host steps, and the frontend {name} reads none")
    load(name)  # says what is wrong with the framework's version
    module, _, attribute = manifest.host_steps.partition(":")
    steps: Mapping[str, HostStep] = getattr(import_module(module), attribute)(host)
    return steps
