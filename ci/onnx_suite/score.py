"""One case of the suite: is it right, and is all of it compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from onnx import NodeProto
from onnx.backend.test.runner import Runner

import hidet_onnx
from ci.onnx_suite.cases import Case
from ci.suites.score import Score
from hidet_onnx.importing.importer import OnnxImporter

TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "sim": {"options": {"target": "sim"}},
    "cuda": {"device": "cuda"},
}
"""Where cases can run, and what `hidet_onnx.compile` is told for it."""


def score(case: Case, target: str = "cpu") -> Score:
    """Compile and run a case, and compare as the official harness does."""
    reason = ""
    with warnings.catch_warnings(), np.errstate(all="ignore"), on_the_host() as host:
        warnings.simplefilter("ignore")
        try:
            model, data = case.load()
            compiled = hidet_onnx.compile(model, **TARGETS[target])
            for given, wanted in data:
                Runner.assert_similar_outputs(wanted, compiled.run(given), **case.tolerances)
        except Exception as error:  # whatever goes wrong is the case's score
            reason = reason_of(error)
    return Score(case.name, reason, tuple(sorted(host)))


WAYS = ("left", "compute")
"""The importer's ways to onnx's reference evaluator: when the model runs, or while importing."""


@contextmanager
def on_the_host() -> Iterator[set[str]]:
    """The operators for which an importer takes one of these ways, in this block."""
    found: set[str] = set()

    def noting(way: Callable[..., bool]) -> Callable[..., bool]:
        def call(self: OnnxImporter, node: NodeProto, *rest: Any) -> bool:
            is_done = way(self, node, *rest)
            if is_done:
                found.add(self.title(node))
            return is_done

        return call

    with ExitStack() as stack:
        for name in WAYS:
            way = getattr(OnnxImporter, name, None)
            if way is not None:
                stack.enter_context(patch.object(OnnxImporter, name, noting(way)))
        yield found


def reason_of(error: Exception) -> str:
    """What went wrong, in a line."""
    text = " ".join(str(getattr(error, "message", "") or error).split())
    return f"{type(error).__name__}: {text.removeprefix(UNSUPPORTED)}"[:160]


UNSUPPORTED = "the model uses operators that neither hidet nor onnx's reference evaluator can run: "
