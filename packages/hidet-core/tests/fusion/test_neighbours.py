"""Loops over neighbours of which one element each is made."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.choices import choices
from hidet.build.choosing.schedule import implement, neighbours, reachable
from hidet.fusion import partition
from hidet.fusion.neighbours import has_neighbours
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import constant
from hidet.ir.stmt import Put
from hidet.ir.walk import rebuild_body
from hidet.ops.products.matmul import Matmul
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import weight
from hidet.testing.graphs import arrays_for
from hidet.types import f32, i32

CUDA, CPU = Target.parse("sm_90a"), Target.parse("cpu+avx2")


def gate(m=8, k=16, n=32, kind="float16"):
    x, w = symbol((m, k), kind), symbol((k, n), kind)
    y = ops.matmul(x, w)
    graph = trace_from([ops.slice(y, -1, 0, None, 2) * ops.slice(y, -1, 1, None, 2)], [x, w])
    (group,) = partition(graph, lambda op: isinstance(op, Matmul))
    return group


def scheduled(group, target):
    best = choices(group.anchor.op, target)[0]
    return best.schedule.apply(group.anchor.op, target, best.point).module


@pytest.mark.parametrize("target", [CUDA, CPU])
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_products_are_written_in_pairs(target, kind):
    group = gate(kind=kind)
    module = scheduled(group, target)
    assert has_neighbours(module, module.params[-1], 2)
    assert len(implement(group, target)) == 1


def test_neighbours_that_begin_at_an_odd_place_are_no_pairs():
    group = gate()
    module = scheduled(group, CUDA)
    result = module.params[-1]

    def shifted(node):
        if isinstance(node, Put) and node.tensor is result:
            index = (*node.index[:-1], node.index[-1] + constant(1, i32))
            return Put(node.tensor, index, node.value)
        return node

    kernels = tuple(replace(k, body=rebuild_body(k.body, shifted)) for k in module.kernels)
    moved = replace(module, kernels=kernels)
    assert not has_neighbours(moved, result, 2)
    assert reachable(group, module, neighbours(group))
    assert not reachable(group, moved, neighbours(group))


@pytest.mark.parametrize("target", [CUDA, CPU])
def test_what_reads_one_pair_in_another_shape_is_computed_too(target):
    """Columns of size 1 are at 0 there: no pair is to be seen in what follows."""
    x = symbol((1, 16))
    y = ops.linear(x, weight(2, 16))
    product = ops.slice(y, -1, 1, None, 2) * ops.relu(ops.slice(y, -1, 0, None, 2))
    graph = trace_from([ops.expand(ops.reshape(product, (1, 1, 1)), (1, 3, 1))], [x])
    (found,) = simulated(graph, arrays_for(graph), target)
    (wanted,) = evaluate(graph, *arrays_for(graph))
    assert_close(found, wanted, f32, 16.0)


@pytest.mark.parametrize(("target", "count"), [(CUDA, 2), (CUDA, 4), (CPU, 2), (CPU, 3), (CPU, 4)])
def test_results_of_several_neighbours_are_one_kernel(target, count):
    """Some of what is made of the gates reads all of them, some one alone."""
    x, w = symbol((48, 32)), symbol((32, 48 * count))
    y = ops.matmul(x, w)
    parts = [ops.slice(y, -1, n, None, count) for n in range(count)]
    whole = ops.tanh(parts[-1])
    for each in parts[:-1]:
        whole = ops.sigmoid(each) * whole
    graph = trace_from([whole, ops.relu(parts[0])], [x, w])
    (group,) = groups_of(graph, target)
    assert len(implement(group, target)) == 1
    arrays = [each * np.float32(0.25) for each in arrays_for(graph)]
    found = simulated(graph, arrays, target)
    for one, other in zip(found, evaluate(graph, *arrays), strict=True):
        assert_close(one, other, f32, 16.0)
