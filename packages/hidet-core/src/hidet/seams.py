"""The few named places where a lower layer reaches a higher one, or what is seldom needed is loaded
when it is; there are no others.

A seam is a stub below and an implementation above, resolved at the first call. A test compares the
two signatures.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

SEAMS: dict[str, str] = {
    "load_operators": "hidet.ops.indexing.load:load_operators",
    "run_graph": "hidet.build.eager:run_graph",
    "draft": "hidet.build.draft:Draft",
    "build_graph": "hidet.build.compiled:build_graph",
    "explain_fusion": "hidet.build.reports.explain:explain_fusion",
    "correctness_report": "hidet.build.correctness:correctness_report",
    "optimize_graph": "hidet.build.optimized:optimize_graph",
    "build_module": "hidet.build.module:build_module",
    "saved_steps": "hidet.frontend.saved:saved_steps",
    "load_simulated": "hidet.sim.plan:load_simulated",
}

_resolved: dict[str, Callable[..., Any]] = {}


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call the implementation of seam `name`."""
    implementation = _resolved.get(name)
    if implementation is None:
        module, _, attribute = SEAMS[name].partition(":")
        implementation = _resolved[name] = getattr(import_module(module), attribute)
    return implementation(*args, **kwargs)
