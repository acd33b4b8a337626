"""What is the same in each iteration of a loop runs once."""

from __future__ import annotations

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.planning.invariant import given
from hidet.graph import FlowGraph, Tensor, asarray, evaluate, symbol, tracing
from hidet.runtime.plans.plan import Branch, Launch, Plan, Repeat

SIZE = 32
WEIGHT = np.random.default_rng(0).standard_normal((SIZE, SIZE), np.float32) / 6


def looped(x: Tensor, w: Tensor, iterations: int = 300) -> Tensor:
    (last,), _ = ops.scan(lambda y: ([ops.tanh(ops.matmul(y, w))], []), [x], [], length=iterations)
    return last


def rows(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((33, SIZE), np.float32)


def agree(graph: FlowGraph, *arrays: np.ndarray) -> None:
    """The compiled graph gives what its references mean."""
    (wanted,) = evaluate(graph, *arrays)
    found = graph(*map(asarray, arrays))
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-4)


def invariant(plans: dict[str, Plan]) -> list[str]:
    """The launches of loops' bodies that read nothing but what these capture."""
    found = []
    for plan in plans.values():
        for step in plan.steps:
            if isinstance(step, Repeat):
                body = plans[step.plan]
                same = set(body.inputs[1 + len(step.carried) : len(given(step))])
                launches = (each for each in body.steps if isinstance(each, Launch))
                found += [each.function for each in launches if same.issuperset(each.reads)]
    return found


def functions(plan: Plan | None) -> list[str]:
    steps = () if plan is None else plan.steps
    return [step.function for step in steps if isinstance(step, Launch)]


def packs(plan: Plan | None) -> int:
    return sum("pack" in name for name in functions(plan))


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_weights_of_a_loop_are_packed_before_the_first_call(target: str) -> None:
    x = symbol((33, SIZE), "float32")
    with tracing():
        graph = FlowGraph([x], [looped(x, asarray(WEIGHT), 3 if target == "sim" else 300)])
    plans = compile_graph(graph, target).archive.plans
    assert not invariant(plans)
    if target == "cpu":
        assert packs(plans.get("prepare")) == 1
        assert not packs(plans["main"])


def test_what_calls_bring_is_packed_once_a_call() -> None:
    x, w = symbol((33, SIZE), "float32"), symbol((SIZE, SIZE), "float32")
    with tracing():
        graph = FlowGraph([x, w], [looped(x, w)])
    plans = compile_graph(graph, "cpu").archive.plans
    assert not invariant(plans)
    assert packs(plans["main"]) == 1
    agree(graph, rows(1), WEIGHT)


def test_weights_leave_loops_in_loops_and_branches() -> None:
    x = symbol((33, SIZE), "float32")

    def chosen(y: Tensor) -> Tensor:
        w = asarray(WEIGHT)
        return ops.if_(ops.less(ops.sum(y), 0.0), lambda: looped(y, w), lambda: ops.matmul(y, w))

    with tracing():
        (last,), _ = ops.scan(lambda y: ([chosen(y)], []), [x], [], length=300)
        graph = FlowGraph([x], [last])
    plans = compile_graph(graph, "cpu").archive.plans
    assert not invariant(plans)
    assert packs(plans.get("prepare")) == 2
    assert sum(packs(plan) for name, plan in plans.items() if name != "prepare") == 0
    agree(graph, rows(2) / 9)


def test_branches_keep_what_is_made_of_inputs() -> None:
    x, w = symbol((33, SIZE), "float32"), symbol((SIZE, SIZE), "float32")
    with tracing():
        found = ops.if_(
            ops.less(ops.sum(x), 0.0), lambda: ops.matmul(x, w), lambda: ops.add(x, 1.0)
        )
        graph = FlowGraph([x, w], [found])
    plans = compile_graph(graph, "cpu").archive.plans
    (branch,) = [step for step in plans["main"].steps if isinstance(step, Branch)]
    assert packs(plans[branch.plans[0]]) == 1
    assert not packs(plans["main"])


def test_iterations_written_out_share_one_packed_weight() -> None:
    x = symbol((33, SIZE), "float32")
    with tracing():
        graph = FlowGraph([x], [looped(x, asarray(WEIGHT), 9)])
    plans = compile_graph(graph, "cpu").archive.plans
    assert len(plans["main"].steps) >= 9
    assert packs(plans.get("prepare")) == 1
    agree(graph, rows(3))
