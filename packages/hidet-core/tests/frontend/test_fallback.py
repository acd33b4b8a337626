"""Nodes that the framework runs: what they are given."""

from collections.abc import Callable

import numpy as np
import pytest

from hidet import ops
from hidet.frontend.running.fallback import FallbackCalls, HostCall, numpy_step
from hidet.frontend.saved import build_model
from hidet.graph import FlowGraph, Tensor, symbol, tracing
from hidet.options import options

Build = Callable[[Tensor], Tensor]


def turned(x: Tensor) -> Tensor:
    """Memory lies there as [n, m], and the step takes [m, n]."""
    return ops.reshape(x, (x.shape[1], x.shape[0]))


def found(x: Tensor) -> Tensor:
    """As many columns as a call finds, given as rows."""
    places = ops.nonzero(x)
    return ops.reshape(places, (2, places.shape[0]))


def alike(array: np.ndarray) -> list[np.ndarray]:
    """A step that depends on its operand's shape: each row below the one before."""
    return [np.cumsum(array, 0)]


@pytest.mark.parametrize("target", ["", "sim"])
@pytest.mark.parametrize("build", [turned, found])
def test_a_step_has_its_operands_in_the_shape_of_its_operator(build: Build, target: str) -> None:
    with tracing():
        x = symbol(("n", "m"), "int64")
        operand = build(x)
        fallback = FallbackCalls("cpu")
        call = HostCall("cumsum", (operand,), (operand.type,), numpy_step(alike))
        (result,) = fallback.add(call)
        graph = FlowGraph([x], [result])
    with options(target=target):
        model = build_model(graph, fallback.calls, "toy")
        for shape in ((3, 5), (7, 2), (1, 1)):
            given = np.random.default_rng(0).integers(0, 3, shape)
            rows = given.reshape(shape[::-1]) if build is turned else np.argwhere(given)
            wanted = np.cumsum(rows.reshape(-1, len(rows)) if build is found else rows, 0)
            np.testing.assert_array_equal(model.run([given])[0].numpy(), wanted)
