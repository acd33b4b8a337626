"""Kernels of an anchor that write several results compute what the operators do one by one."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.choosing.schedule import implement
from hidet.build.compiled import build_graph
from hidet.build.draft import plan_graph
from hidet.graph import evaluate, symbol, trace_from
from hidet.optimize import split
from hidet.options import options
from hidet.runtime.binding.footprint import bound_at
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graphs import arrays_for

GPU, CPU = Target.parse("sm_90a"), Target.parse("cpu")


def kernels(outputs, inputs, target=GPU):
    """The groups of a graph, each with how many results it has, whose values are right."""
    graph = trace_from(outputs, inputs)
    arrays = [a.astype(t.dtype.numpy) for a, t in zip(arrays_for(graph), inputs, strict=True)]
    wanted = evaluate(graph, *arrays)
    for found, exact in zip(simulated(graph, arrays, target), wanted, strict=True):
        assert_close(found, exact, inputs[0].dtype, 64.0)
    return [len(each.results) for each in groups_of(graph, target)]


@pytest.mark.parametrize("target", [GPU, CPU])
@pytest.mark.parametrize("shape", [(1, 7), (37, 24), (2, 7, 129)])
def test_a_result_and_what_is_made_of_it(shape, target):
    x, w = symbol(shape), symbol((shape[-1], 17))
    y = ops.matmul(x, w)
    assert kernels([y, ops.gelu(y)], [x, w], target) == [2]
    assert kernels([ops.relu(y), ops.tanh(y)], [x, w], target) == [2]
    assert kernels([ops.relu(y) * 2.0, y + 1.0, y], [x, w], target) == [3]


def test_a_copy_in_another_type():
    x, w = symbol((7, 33), "float16"), symbol((33, 129), "float16")
    y = ops.matmul(x, w)
    assert kernels([ops.cast(y, "float32"), ops.relu(y)], [x, w]) == [2]


@pytest.mark.parametrize("target", [GPU, CPU])
def test_both_of_two_products(target):
    """A gated layer whose two columns are in turns, and a function of what it gives."""
    x, v, w = symbol((7, 24)), symbol((16, 24)), symbol((16, 24))
    hidden = ops.silu(ops.linear(x, v)) * ops.linear(x, w)
    assert kernels([hidden, ops.tanh(hidden)], [x, v, w], target) == [1, 2]


def test_axes_of_size_1_may_vanish():
    x, w = symbol((1, 16)), symbol((16, 24))
    y = ops.matmul(x, w)
    assert kernels([y, ops.reshape(y * 2.0, (24,)) + 1.0], [x, w]) == [2]


def test_what_lies_elsewhere_is_a_kernel_of_its_own():
    x, w = symbol((7, 16)), symbol((16, 24))
    y = ops.matmul(x, w)
    assert kernels([y, ops.permute(y, (1, 0)) + 1.0], [x, w]) == [1, 1]
    assert kernels([y, ops.flip(y, 1)], [x, w]) == [1, 1]
    assert kernels([y, y + ops.softmax(y)], [x, w]) == [1, 1]


def test_a_part_of_a_larger_tensor_is_written_alone():
    x, v, w = symbol((5, 8)), symbol((8, 3)), symbol((8, 4))
    a, b = ops.matmul(x, v), ops.matmul(x, w)
    graph = trace_from([ops.concat([a, b], 1), ops.exp(a)], [x, v, w])
    assert "what it reads is written within another tensor" in graph.explain("sm_90a")


def stream(shape, depth, dtype, scaled=True):
    """Layers of a function of a sum that goes on beside them, which reads a row if it is scaled."""
    x = symbol(shape, dtype)
    rows = [symbol(shape[-1:], dtype) for _ in range(depth)] if scaled else [2.0] * depth
    weights = [symbol((shape[-1], shape[-1]), dtype) for _ in range(depth)]
    y = x
    for row, w in zip(rows, weights, strict=True):
        y = ops.matmul(ops.relu(y * row + 0.5), w) * 0.125 + y
    return y, [x, *(rows if scaled else []), *weights]


def test_what_a_layer_reads_is_made_by_the_one_before():
    """Tensor cores read whole tiles from memory, or are faster if they do."""
    y, inputs = stream((37, 136), 3, "float16")
    assert kernels([y], inputs) == [2, 2, 1]


@pytest.mark.parametrize(
    ("target", "shape", "scaled"),
    [(GPU, (512, 256), False), (CPU, (5, 24), False), (CPU, (5, 24), True)],
)
def test_what_costs_nothing_where_it_is_read_stays_there(target, shape, scaled):
    y, inputs = stream(shape, 3, "float32", scaled)
    assert kernels([y], inputs, target) == [1, 1, 1]


def test_what_waits_for_memory_where_it_is_read_is_made_by_the_one_before():
    """A GPU's blocks wait for the row as well; a CPU's loads are foreseen."""
    y, inputs = stream((5, 24), 3, "float32")
    assert kernels([y], inputs, GPU) == [2, 2, 1]


def block(x, weights, rows):
    """A block of a residual network that begins with norms (He et al. 2016)."""
    y = x
    for w, (mean, var, scale, shift) in zip(weights, rows, strict=True):
        y = ops.relu(ops.batch_norm(y, mean, ops.square(var) + 0.5, scale, shift))
        y = ops.conv2d(y, w, padding=w.shape[-1] // 2)
    return x + y


def network(batch, channels, size, dtype):
    """Two such blocks behind a convolution, and a norm at the end."""
    x = symbol((batch, channels, size, size), dtype)
    shapes = [(channels, channels, k, k) for k in (1, 1, 3, 1, 1, 3, 1)]
    first, *weights = (constant(each, seed, dtype) for seed, each in enumerate(shapes))
    rows = [[constant((channels,), 4 * n + k, dtype) for k in range(4)] for n in range(7)]
    y = ops.conv2d(x, first)
    y = block(block(y, weights[:3], rows[:3]), weights[3:], rows[3:6])
    mean, var, scale, shift = rows[6]
    return trace_from(ops.relu(ops.batch_norm(y, mean, ops.square(var) + 0.5, scale, shift)), [x])


def constant(shape, seed, dtype):
    scale = 1.0 if len(shape) == 1 else float(np.prod(shape[1:])) ** -0.5
    return hidet.asarray((np.random.default_rng(seed).normal(0, scale, shape)).astype(dtype))


def test_blocks_that_begin_with_norms_take_a_kernel_for_each_convolution():
    graph = network(2, 128, 28, "float16")
    main = split(optimized(graph, GPU)).main
    made = [each for each in grouped(main, GPU) if not each.is_free]
    anchors = [each for each in made if each.anchor is not None]
    assert len(anchors) == 7
    assert made == anchors
    assert sorted(len(each.results) for each in anchors) == [1, 1, 1, 1, 1, 2, 2]
    small = network(1, 16, 5, "float16")
    arrays = [each.astype(np.float16) for each in arrays_for(small)]
    (result,), (wanted,) = simulated(small, arrays), evaluate(small, *arrays)
    assert_close(result, wanted, small.outputs[0].dtype, 256.0)


def gated(m):
    """A sum that is read twice, of sizes known at a call."""
    x, v, w = symbol((m, 24)), symbol((24, 24)), symbol((24, 24))
    y = ops.matmul(x, v) + x
    return trace_from([ops.matmul(ops.gelu(y), w) + y, ops.cast(y, "float16")], [x, v, w])


@pytest.mark.parametrize("target", ["sim", "cpu"])
@pytest.mark.parametrize("m", [1, 7, 129])
def test_in_a_file_and_for_sizes_that_vary(m, target, tmp_path):
    graph = gated("m")
    random = np.random.default_rng(0)
    shapes = ((m, 24), (24, 24), (24, 24))
    arrays = [random.standard_normal(shape).astype(np.float32) / 4 for shape in shapes]
    with options(target=target, workers=1):
        build_graph(graph).save(tmp_path / "graph.hidet")
        found = hidet.load(tmp_path / "graph.hidet")(*arrays)
    for each, wanted, output in zip(found, evaluate(graph, *arrays), graph.outputs, strict=True):
        assert_close(each.numpy(), wanted, output.dtype, 64.0)


def test_what_is_added_gives_its_place_to_one_of_the_results():
    x, w, u = symbol((33, 33)), symbol((33, 33)), symbol((33, 33))
    first = ops.matmul(x, w)
    y = ops.matmul(ops.softmax(first), w) + first
    z = ops.matmul(ops.exp(y), u) + y
    with options(in_place=True):
        plan = plan_graph(trace_from(z, [x, w, u]), "sm_90a")["main"]
    (taken,) = [step.in_place for step in plan.steps if len(step.in_place) > 1]
    assert len({old for _, old in taken}) == 1
    assert sum(bound_at(plan, {}).places[new] != new for new, _ in taken) == 1


def test_an_operator_without_a_way_out_is_followed_by_one_kernel(monkeypatch):
    """A schedule that writes its result otherwise than by hooks leaves all that follows to one."""
    monkeypatch.setattr("hidet.build.choosing.schedule.reachable", lambda *given: False)
    x, w = symbol((7, 16)), symbol((16, 24))
    y = ops.matmul(x, w)
    assert kernels([y, ops.relu(y), ops.tanh(y) * 2.0], [x, w]) == [3]
    (group,) = groups_of(trace_from([y, ops.relu(y), ops.tanh(y) * 2.0], [x, w]))
    assert [len(made.group.results) for made in implement(group, GPU)] == [1, 2]
