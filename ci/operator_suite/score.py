"""One operator of the suite: is it right, and is all of it compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from ci.operator_suite.cases import Sample, operators, samples, types
from ci.operator_suite.compare import difference
from ci.operator_suite.known import FAILS_ITSELF, NO_GRAPH, ON_GPUS
from ci.suites.score import Score
from hidet_torch.capture.aot import for_inference
from hidet_torch.capture.capture import Boxed, compile_inference, imported_or_refused
from hidet_torch.importing.refused import Refused
from hidet_torch.settings import Settings

DYNAMO = {
    "capture_dynamic_output_shape_ops": True,
    "capture_scalar_outputs": True,
    "allow_rnn": True,
}
"""Without these, sizes of data and recurrent layers end a capture."""


def score(name: str) -> Score:
    """Compile and run the samples of an operator, all of a type as one graph."""
    reason, left = "", set[str]()
    with warnings.catch_warnings(), torch.no_grad(), torch._dynamo.config.patch(DYNAMO):
        warnings.simplefilter("ignore")
        for dtype in types(operators()[name]):
            try:
                calls = samples(operators()[name], dtype)
            except AssertionError:  # what runs on GPUs alone says so
                return Score(name, "", (ON_GPUS,))
            looking = Looking(calls, "empty" in name)
            try:
                reason = reason or looking.outcome()
            except Exception as error:  # whatever goes wrong is the operator's score
                reason = reason or f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
            left |= looking.left
    return Score(name, reason, (FAILS_ITSELF,) if FAILS_ITSELF in left else tuple(sorted(left)))


class Looking:
    """Compiles calls, and notes what of them PyTorch runs (`left`)."""

    def __init__(self, calls: Sequence[Sample], is_open: bool) -> None:
        self.calls = calls
        self.is_open = is_open
        """Whether values are left open: of random numbers, and of memory that nobody wrote."""
        self.has_graph = False
        self.left: set[str] = set()

    def outcome(self) -> str:
        """What is wrong with the results, or nothing."""
        torch._dynamo.reset()
        given, others = ([each.tensors() for each in self.calls] for _ in range(2))
        expected = [tree_leaves(call(own)) for call, own in zip(self.calls, others, strict=True)]
        run = torch.compile(self.together, backend=self.backend, fullgraph=True, dynamic=False)
        try:
            found = run(given)
        except Exception:
            if self.has_graph and self.runs_uncompiled():
                raise
            self.left = {FAILS_ITSELF} if self.has_graph else {*self.left, NO_GRAPH}
            return ""
        each = zip(self.calls, found, expected, strict=True)
        return next(filter(None, (difference(*one, self.is_open) for one in each)), "")

    def runs_uncompiled(self) -> bool:
        """Whether the graph runs where nothing is compiled; else it, or what PyTorch asserts in it,
        is wrong."""
        torch._dynamo.reset()
        given = [each.tensors() for each in self.calls]
        plain = torch.compile(self.together, backend="aot_eager", fullgraph=True, dynamic=False)
        try:
            plain(given)
        except Exception:
            return False
        return True

    def together(self, given: list[list[torch.Tensor]]) -> list[list[Any]]:
        """All calls, for the tensors of each."""
        return [tree_leaves(call(own)) for call, own in zip(self.calls, given, strict=True)]

    def backend(self, graph_module: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
        """What torch.compile compiles the graph with."""
        self.has_graph = True
        return for_inference(graph_module, examples, Settings(), compile_graph=self.noting)

    def noting(
        self,
        traced: torch.fx.GraphModule,
        frozen: Mapping[torch.fx.Node, torch.Tensor],
        settings: Settings,
    ) -> Boxed:
        """The compiled graph of ATen operators."""
        self.is_open |= any(map(is_random, (node.target for node in traced.graph.nodes)))
        with _disable_current_modes():  # AOTAutograd's fake tensors, as compile_inference does
            found = imported_or_refused(traced, frozen)
        coverage = found.coverage(traced) if isinstance(found, Refused) else found.coverage
        self.left.update(coverage.left)
        return compile_inference(traced, frozen, settings)


def is_random(target: str | Callable[..., Any]) -> bool:
    """Whether an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())
