"""Blocks of a cluster add up what they found in each other's shared memory: one kernel, no races,
the same bits whichever block is first; what fusion put around it stays where it was."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices, has_schedule
from hidet.build.choosing.schedule import implement
from hidet.build.compile import compile_graph
from hidet.codegen import cuda
from hidet.cost import seconds
from hidet.fusion import partition
from hidet.graph import evaluate, symbol, trace_from
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.schedules import load
from hidet.schedules.base import candidates
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.testing.graphs import arrays_for
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import bf16, f16, f32, f64, i32

TARGET, OLDER = Target.parse("sm_90a"), Target.parse("sm_80")
ONE, SAME = (1, 1), ((1, 1), (1, 1))
COUNTS = [2, 3, 4, 6, 8]
OPS = [
    Linear(f16[33, 1030], f16[17, 1030], f16[17]),
    Matmul(bf16[2, 7, 1025], bf16[2, 1025, 35]),
    Linear(f32[5, 520], f32[33, 520], f32[33]),
    Matmul(f64[19, 261], f64[261, 7]),
    Matmul(i32[9, 300], i32[300, 37]),
    Conv(f16[2, 129, 4, 3], f16[7, 129, 3, 3], f16[7], ONE, SAME, ONE, 1),
    Conv(f16[1, 258, 3, 3], f16[10, 129, 3, 3], None, ONE, SAME, ONE, 2),
]


def sharing(op, count, target=TARGET):
    """The cheapest point of each schedule at which `count` blocks share a sum."""
    with options(parallel_k=count):
        found = [each for each in candidates(op, target) if each.point.slices == count]
    found = [each for each in found if each.schedule.name != "matmul_wgmma"]  # not by `tile.py`
    return {each.schedule.name: each for each in reversed(found)}.values()


def built(op, each, target=TARGET):
    return each.schedule.apply(op, target, each.point).module


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_one_kernel_adds_up_odd_sizes(op, count, check):
    for each in sharing(op, count):
        module = built(op, each)
        (kernel,) = module.kernels
        assert not module.workspaces
        arrays = op.examples(seed=count)
        found = np.full(op.results()[0].shape, 77, op.results()[0].dtype.numpy)
        values = dict(zip(module.params, [*arrays, found], strict=True))
        sim.launch(lower(kernel), *(values[each] for each in kernel.params))
        check(op, arrays, found)


def test_every_kind_of_tile_shares_sums():
    kinds = {each.schedule.name for op in OPS for count in COUNTS for each in sharing(op, count)}
    assert kinds >= {"matmul_mma", "matmul_simt", "conv_mma"}


@pytest.mark.parametrize(("count", "target"), [(4, OLDER), (16, TARGET)], ids=str)
def test_without_a_cluster_a_second_kernel_adds(count, target):
    op = Linear(f16[33, 2070], f16[17, 2070], f16[17])
    for each in sharing(op, count, target):
        module = built(op, each, target)
        assert len(module.kernels) == 2
        assert len(module.workspaces) == 1
        assert each.point.work(op, target).launches == 2


def test_a_cluster_costs_no_second_launch_and_no_traffic():
    op = Linear(f16[128, 3072], f16[768, 3072], f16[768])
    (each,) = (found for found in sharing(op, 8) if found.schedule.name == "matmul_mma")
    together, apart = each.point.work(op, TARGET), each.point.work(op, OLDER)
    assert (together.launches, apart.launches) == (1, 2)
    assert together.bytes_written < apart.bytes_written
    assert together.shared_bytes > apart.shared_bytes
    assert seconds(together, TARGET) < seconds(apart, TARGET)


def around(m=5, k=530, n=34):
    """A product with an operator before it and several after it."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    bias, residual = symbol((n,), "float16"), symbol((m, n), "float16")
    out = ops.relu(ops.matmul(x * 0.5, w) + bias) + residual
    return trace_from([out], [x, w, bias, residual])


def gate(m=7, k=530, n=36):
    """Two products with their columns in turns, one times the other."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    y = ops.matmul(x, w)
    return trace_from([ops.slice(y, -1, 0, None, 2) * ops.slice(y, -1, 1, None, 2)], [x, w])


def moved(m=6, k=530, n=34):
    """A product of which the rows become columns."""
    x, w = symbol((m, k), "float16"), symbol((k, n), "float16")
    return trace_from([ops.transpose(ops.matmul(x, w), 0, 1) * 2.0], [x, w])


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("make", [around, gate, moved])
def test_what_is_fused_is_in_the_one_kernel(make, count):
    graph = make()
    with options(parallel_k=count):
        (group,) = partition(graph, lambda op: has_schedule(op, TARGET))
        assert choices(group.anchor.op, TARGET)[0].point.slices == count
        (made,) = implement(group, TARGET)
    (kernel,) = made.module.kernels
    halves = (each.astype(np.float16) for each in arrays_for(graph))
    arrays = dict(zip(graph.inputs, halves, strict=True))
    out = np.full(graph.outputs[0].shape, np.nan, np.float16)
    sim.launch(as_run(made.module), *(arrays[each] for each in made.group.inputs), out)
    wanted = evaluate(graph, *arrays.values())[0]
    assert_close(out, wanted, graph.outputs[0].dtype, 64.0)
    assert kernel.launch.cluster == (1, 1, count)


@pytest.mark.parametrize("count", [2, 6, 8])
@pytest.mark.parametrize(
    "op",
    [
        Linear(f16[128, 3072], f16[768, 3072], f16[768]),
        Linear(f32[128, 3072], f32[768, 3072], f32[768]),
        Conv(f16[1, 512, 7, 7], f16[512, 512, 3, 3], f16[512], ONE, SAME, ONE, 1),
    ],
    ids=str,
)
def test_compiled_for_the_gpu(op, count):
    with options(tf32=True):
        found = sharing(op, count)
    for each in found:
        text = cuda.emit([lower(kernel) for kernel in built(op, each).kernels])
        assert f"__cluster_dims__(1, 1, {count})" in text
        assert "load<float, 4>(there" in text
        for usage in compile_cuda(text, arch="sm_90a").usage.values():
            assert usage.spill_bytes == 0
    assert load.LOADED


@pytest.mark.gpu
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_on_the_gpu(op, count, check):
    device = "cuda:0"
    inputs = [Tensor(each, device) for each in op.types()]
    node = Node(op, tuple(inputs), device=device)
    with options(parallel_k=count):
        archive = compile_graph(FlowGraph(inputs, list(node.outputs), op.name)).archive
    # Where a sum has few blocks, rows may be padded by kernels of their own before it.
    plan = archive.plans["main"]
    padding = {note.function for note in plan.kernels if "pad" in note.operators}
    assert len([step for step in plan.steps if step.function not in padding]) == 1
    arrays = op.examples(seed=0)
    executor = Executor(archive, device)
    given = [to_device(np.asarray(each), device) for each in arrays]
    found = [array_of(executor(given)[0]) for _ in range(3)]
    check(op, arrays, found[0])
    assert all(each.tobytes() == found[0].tobytes() for each in found)
