"""Control flow on a GPU: nodes of CUDA graphs, or driven by the host."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.eager import executor_for, given_view
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.runtime.binding.memory import array_of
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.devices.stream import Stream
from hidet.testing.compare import assert_close

pytestmark = pytest.mark.gpu


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def check(results, inputs, *arrays):
    """What the GPU gives, called twice, is what the references mean."""
    graph = trace_from(results, inputs)
    wanted = evaluate(graph, *arrays)
    for _ in range(2):
        found = graph(*(asarray(each).to("cuda") for each in arrays))
        found = found if isinstance(found, tuple) else (found,)
        for tensor, each in zip(found, wanted, strict=True):
            assert_close(tensor.cpu().numpy(), each, tensor.dtype, 64)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_branch_runs(sign):
    x = symbol(("n", 3), device="cuda")
    w = asarray(values(3, 3)).to("cuda")
    y = ops.if_(ops.sum(x) > 0, lambda: (x @ w, x), lambda: (x - 1.0, x * 2.0))
    check(y, x, sign * np.abs(values(5, 3)))


@pytest.mark.parametrize("start", [0.0, 20.0, 1000.0])
def test_a_while_loop_ends_when_its_condition_does(start):
    x = symbol((129,), device="cuda")
    results = ops.while_loop(lambda v: ops.sum(v) < 3000.0, lambda v: (v * 1.5 + 1.0,), x)
    check(results, x, np.full(129, start, np.float32))


@pytest.mark.parametrize("length", [1, 7])
def test_a_scan_goes_through_rows(length):
    x = symbol(("n", 3), device="cuda")
    w = asarray(values(3, 3)).to("cuda")
    zeros = ops.zeros((3,), device="cuda")

    def body(h, row):
        h = ops.reshape(ops.tanh(ops.reshape(h, (1, 3)) @ w + row), (3,))
        return h, h

    last, rows = ops.scan(body, [zeros], [x])
    check([*last, *rows], x, values(length, 3))


def test_loops_and_branches_lie_within_each_other():
    x = symbol(("n", 2), device="cuda")

    def inner(iteration, h):
        more = ops.if_(ops.sum(h) > 1.0, lambda: h * 0.5, lambda: h + x)
        return None, (more,), ()

    def outer(iteration, h):
        (h,), _, _ = ops.loop(inner, [h], trips=iteration + 1)
        return None, (h,), (ops.sum(h),)

    (last,), (sums,), _ = ops.loop(outer, [x], trips=4)
    check([last, sums], x, np.abs(values(3, 2)))


def parts_of(graph):
    """What the graph's programs consist of."""
    programs = executor_for(graph).programs.values()
    return [
        type(part).__name__
        for each in programs
        for made in each.known.values()
        for part in made.parts
    ]


def test_a_bounded_loop_is_one_launch_with_what_is_around_it():
    x, n = symbol((129,), device="cuda"), symbol((), "int64", device="cuda")

    def body(iteration, a, b):
        return None, (b, a + b * 0.5), (a * ops.cast(iteration, a.dtype),)

    carried, rows, iterations = ops.loop(body, (ops.exp(x), x * 2.0), trips=n, most=700)
    results = [*carried, *rows, iterations, ops.exp(carried[0] * 0.0)]
    for trips in (0, 1, 2, 7):
        check(results, [x, n], values(129), np.int64(trips))
    assert set(parts_of(trace_from(results, [x, n]))) == {"Segment"}


@pytest.mark.parametrize("iterations", [3, 4, 5, 9])
def test_the_host_looks_for_relaunch(iterations, monkeypatch):
    for module in ("graphs.region", "programs.relaunch", "programs.stream_program"):
        monkeypatch.setattr(f"hidet.runtime.{module}.ITERATIONS", 4)
    x = symbol((7,), device="cuda")
    (y,) = ops.while_loop(lambda v: ops.sum(v) < 7 * iterations, lambda v: (v + 1.0,), x)
    check([y, ops.exp(y * 0.01)], x, np.zeros(7, np.float32))


def test_what_the_graph_reads_and_writes_may_lie_elsewhere_each_time():
    x = symbol((257, 3), device="cuda")
    w = asarray(values(3, 3)).to("cuda")

    def body(iteration, h, k):
        return None, (ops.tanh(h @ w + k), k + 1.0), ()

    (h, k), _, _ = ops.loop(body, [x, x * 0.1], trips=5)
    graph = trace_from([h, k], x)
    kept = []
    for seed in range(5):
        array = values(257, 3, seed=seed)
        kept.append((graph(asarray(array).to("cuda")), evaluate(graph, array)))
    for found, wanted in kept:
        for tensor, each in zip(found, wanted, strict=True):
            assert_close(tensor.cpu().numpy(), each, tensor.dtype, 64)


def test_a_loop_of_a_thousand_iterations_is_right_in_the_graph_and_driven_by_the_host(monkeypatch):
    x = symbol((7,), device="cuda")

    def body(iteration, v):
        return None, (v * 0.99 + ops.cast(iteration, v.dtype) * 0.001,), ()

    (y,), _, _ = ops.loop(body, [x], trips=1000)
    check(y, x, values(7))
    program = "hidet.runtime.programs.stream_program"
    monkeypatch.setattr(f"{program}.fits_graph", lambda bound, number: False)
    (z,), _, _ = ops.loop(body, [x + 0.0], trips=1000)
    check(z, x, values(7))
    assert "StreamRegion" in parts_of(trace_from(z, x))


def test_a_loop_becomes_part_of_a_capture():
    x, n = symbol((129,), device="cuda"), symbol((), "int64", device="cuda")
    (y,), _, _ = ops.loop(
        lambda iteration, v: (None, (v * 0.5 + 1.0,), ()), [ops.exp(x)], trips=n, most=50
    )
    graph = trace_from(ops.if_(ops.sum(y) > 0.0, lambda: y * 3.0, lambda: y), [x, n])
    inputs = [asarray(values(129)).to("cuda"), asarray(np.int64(7)).to("cuda")]
    graph(*inputs)
    stream = Stream("cuda:0")
    mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    executor = executor_for(graph)
    call("cuStreamBeginCapture", stream.handle, mode)
    (captured,) = executor([given_view(each) for each in inputs], stream=stream.handle)
    made = call("cuGraphInstantiate", call("cuStreamEndCapture", stream.handle), 0)
    (wanted,) = evaluate(graph, values(129), np.int64(7))
    for _ in range(2):
        call("cuGraphLaunch", made, stream.handle)
        call("cuStreamSynchronize", stream.handle)
        assert_close(array_of(captured), wanted, graph.outputs[0].dtype, 64)
