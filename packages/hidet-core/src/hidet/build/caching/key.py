"""What the result of a compilation depends on: the key of a graph, taken before any pass has run.

So who finds a graph in the cache has loaded no pass, no schedule's text and no code generator.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hidet import options
from hidet.build.caching.cache import key_of
from hidet.graph.body import bodies_of
from hidet.graph.canonical import canonical
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import OPERATORS, Op
from hidet.target import Target
from hidet.toolchain import cpp_version, cuda_version


def key_of_graph(graph: FlowGraph, target: Target, choices: Sequence[str] = ()) -> str | None:
    """The key of a graph compiled for `target` under the options in force, of which `choices` are
    the schedules that were measured.

    None if others' code takes part, of which we cannot see whether it changed: our own sources are
    in every key, theirs are not.
    """
    if not (has_only_our_schedules() and has_only_our_nodes(graph)):
        return None
    return key_of(
        graph=canonical(graph),
        target=str(target),
        compiler=compiler_of(target),
        choices=list(choices),
    )


def compiler_of(target: Target) -> dict[str, object]:
    """What, besides source and target, decides what the target's compiler makes."""
    if target.simulated:
        return options.code_key()
    if target.kind == "cuda":
        return {"version": cuda_version(), **options.code_key()}
    return {"version": cpp_version(), **options.code_key()}


def is_our_operator(op: Op) -> bool:
    """Whether an operator is one of those that come with us."""
    return type(op).__module__.startswith("hidet.") and OPERATORS.get(op.name) is type(op)


def has_only_our_nodes(graph: FlowGraph) -> bool:
    """Whether all operators of a graph come with us, those in bodies of control flow too."""
    return all(
        is_our_operator(node.op) and all(has_only_our_nodes(b.graph) for b in bodies_of(node.op))
        for node in graph.nodes
    )


def has_only_our_operators() -> bool:
    """Whether no operators but those that come with us are filed."""
    return all(each.__module__.startswith("hidet.") for each in OPERATORS.values())


def has_only_our_schedules() -> bool:
    """Whether no schedules but those that come with us are filed.

    None are where nobody has loaded their table, which who finds a graph need not do.
    """
    base = sys.modules.get("hidet.schedules.base")
    filed = [] if base is None else base.SCHEDULES
    return all(schedule.build.__module__.startswith("hidet.") for schedule in filed)
