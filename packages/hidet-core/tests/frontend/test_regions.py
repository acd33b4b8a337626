"""Fallback regions: what is joined, what is not, and that values stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hidet.frontend.running.execute import HostStep, View
from hidet.frontend.running.fallback import FallbackCalls, HostCall, numpy_step
from hidet.frontend.running.regions import Joined, Region, joined
from hidet.frontend.saved import build_model
from hidet.graph import FlowGraph, Foreign, Tensor, symbol, tracing
from hidet.runtime.binding.memory import array_of

Array = np.ndarray[Any, Any]
SEEN: list[str] = []


class Toy:
    """A graph whose `left` operators add their number, and note in `SEEN` that they ran."""

    def __init__(self) -> None:
        self.fallback = FallbackCalls("cpu")

    def left(self, number: int, *operands: Tensor, effects: bool = False) -> Tensor:
        def run(*arrays: Array) -> list[Array]:
            SEEN.append(str(number))
            arrays = arrays[: len(operands)]  # a token may come after them
            return [sum(arrays[1:], arrays[0]) + np.float32(number)]

        step = numpy_step(run)
        step.run = run  # type: ignore[attr-defined]
        call = HostCall(str(number), operands, (operands[0].type,), step, effects=effects)
        (found,) = self.fallback.add(call)
        return found

    def built(self, x: Tensor, *results: Tensor) -> Joined:
        ends = [] if self.fallback.token is None else [self.fallback.token]
        return joined(FlowGraph([x], [*results, *ends]), self.fallback.calls, join)


def join(region: Region) -> HostStep:
    """One step of several, by arrays."""

    def step(reads: Sequence[View], writes: Sequence[View]) -> None:
        values = [array_of(view) for view in reads]
        assert len(values) == region.operands
        for call, numbers in zip(region.calls, region.reads, strict=True):
            values += call.step.run(*[values[n] for n in numbers])  # type: ignore[attr-defined]
        for view, number in zip(writes, region.results, strict=False):
            array_of(view)[...] = values[number]

    return step


def chain(toy: Toy, x: Tensor) -> list[Tensor]:
    """Neighbours: one call, of which only the last value comes out."""
    return [toy.left(2, toy.left(1, x)) * 2]


def around(toy: Toy, x: Tensor) -> list[Tensor]:
    """The second one needs a kernel that needs the first one."""
    first = toy.left(1, x)
    return [toy.left(2, first * 3, first)]


def delayed(toy: Toy, x: Tensor) -> list[Tensor]:
    """What nobody reads but the framework may wait for a kernel."""
    return [toy.left(3, toy.left(1, x), x * 2)]


def waiting(toy: Toy, x: Tensor) -> list[Tensor]:
    """What could run first waits for others that its readers wait for."""
    return [toy.left(3, toy.left(1, x) * toy.left(2, x * 2))]


def several(toy: Toy, x: Tensor) -> list[Tensor]:
    """Values come out of the middle of a region, too."""
    first = toy.left(1, x)
    second = toy.left(2, first)
    return [second, first * 2, toy.left(3, second, first)]


def ordered(toy: Toy, x: Tensor) -> list[Tensor]:
    """Effects keep their order within a region and between regions."""
    first = toy.left(1, x, effects=True)
    second = toy.left(2, x, effects=True)
    return [first, toy.left(3, second * 2, effects=True)]


EXPECTED: list[tuple[Callable[[Toy, Tensor], list[Tensor]], list[int], Callable[[Array], Any]]] = [
    (chain, [2], lambda x: [(x + 3) * 2]),
    (around, [1, 1], lambda x: [(x + 1) * 4 + 2]),
    (delayed, [2], lambda x: [x * 3 + 4]),
    (waiting, [2, 1], lambda x: [(x + 1) * (x * 2 + 2) + 3]),
    (several, [3], lambda x: [x + 3, (x + 1) * 2, x * 2 + 7]),
    (ordered, [2, 1], lambda x: [x + 1, (x + 2) * 2 + 3]),
]


@pytest.mark.parametrize(
    ("build", "sizes", "meant"), EXPECTED, ids=lambda e: getattr(e, "__name__", "")
)
def test_neighbours_are_one_call(
    build: Callable[[Toy, Tensor], list[Tensor]], sizes: list[int], meant: Callable[[Array], Any]
) -> None:
    toy = Toy()
    with tracing():
        x = symbol((2, 3), "float32")
        found = toy.built(x, *build(toy, x))
    calls = [found.calls[n.op.key] for n in found.graph.nodes if isinstance(n.op, Foreign)]
    more = [call.name.partition(" and ")[2].partition(" ")[0] for call in calls]
    assert [1 + int(each or 0) for each in more] == sizes
    assert len(found.calls) == len(sizes)
    SEEN.clear()
    given = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    results = build_model(found.graph, found.calls, "toy").run([given])
    for result, wanted in zip(results, meant(given), strict=False):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)
    assert sorted(SEEN) == SEEN, "the order of the graph"


def test_a_graph_without_neighbours_stays_as_it_is() -> None:
    toy = Toy()
    with tracing():
        x = symbol((2, 3), "float32")
        before = FlowGraph([x], [toy.left(1, x * 2) + 1])
    found = joined(before, toy.fallback.calls, join)
    assert found.graph is before
    assert (found.calls, found.tensors) == (toy.fallback.calls, {})
