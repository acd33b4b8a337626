"""Every schedule writes, beside its own result, what is made of it, on sizes no tile divides.

A residual that others read too, its activation and a copy in another type are one kernel with the
product, convolution or attention that they are made of. What is simulated are the kernels as they
are launched: after all passes.
"""

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.schedule import neighbours, reachable
from hidet.fusion import Group, fuse
from hidet.graph import FlowGraph, Node, Tensor, evaluate
from hidet.ir.kernel import Module
from hidet.ops.indexing.compact import Compact
from hidet.ops.products.attention import Attention
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import SCHEDULES
from hidet.target import Target
from hidet.testing.asked import asked
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.types import boolean, f16, f32, f64, i32, i64, u8

from .test_odd_sizes import ANCHORS

TARGETS = {"cuda": Target.parse("sm_90a"), "cpu": Target.parse("cpu+avx512")}
ON_CPU = [
    Matmul(f32[7, 33], f32[33, 129]),
    Matmul(f16[33, 7], f16[7, 2]),
    Linear(f32[1, 131], f32[129, 131], f32[129]),
    Matmul(f64[1, 7], f64[7, 33]),
    Conv(f32[2, 6, 11, 2], f32[9, 2, 5, 1], f32[9], (2, 1), ((2, 2), (0, 0)), (1, 1), 3),
    Conv(f32[1, 17, 7, 13], f32[5, 17, 3, 3], f32[5], (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    Conv(f32[1, 33, 7, 1], f32[7, 33, 1, 1], None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    Conv(f32[2, 7, 5, 13], f32[5, 7, 1, 1], f32[5], (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    Conv(f32[1, 17, 7, 19], f32[33, 17, 1, 1], None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    Conv(f32[1, 33, 5, 17], f32[33, 1, 3, 3], None, (2, 2), ((1, 0), (2, 1)), (1, 1), 33),
    Conv(f32[2, 7, 33, 1], f32[7, 1, 3, 1], f32[7], (1, 1), ((1, 1), (0, 0)), (1, 1), 7),
    Conv(f32[1, 3, 33, 34], f32[9, 3, 8, 8], f32[9], (8, 8), ((0, 0), (0, 0)), (1, 1), 1),
    Conv(f32[2, 7, 13, 9], f32[33, 7, 2, 3], None, (2, 3), ((0, 0), (0, 0)), (1, 1), 1),
    Conv(f32[1, 7, 13, 17], f32[5, 3, 3, 17], f32[5], (1, 1), ((1, 1), (1, 1)), (1, 1), 1, True),
    Conv(f32[2, 11, 2, 33], f32[9, 5, 1, 33], None, (2, 1), ((2, 2), (0, 0)), (1, 1), 1, True),
    Conv(f32[1, 5, 17, 33], f32[33, 3, 3, 1], None, (2, 2), ((1, 0), (2, 1)), (1, 1), 33, True),
    Conv(f32[2, 33, 2, 7], f32[7, 3, 1, 1], f32[7], (1, 1), ((1, 1), (0, 0)), (1, 1), 7, True),
    Attention(f32[2, 33, 7], f32[1, 131, 7], f32[1, 131, 129], None, True, 0.2),
    Attention(f32[1, 33, 5], f32[1, 7, 5], f32[1, 7, 3], None, False, 0.2),
    GroupedMatmul(f32[7, 33], f32[3, 33, 129], i32[3]),
    GroupedMatmul(f32[131, 7], f32[2, 2, 7], i64[2], True),
    PackedLinear(f32[1, 40], u8[7, 24], f32[7, 3], None, None, 16),
    PackedLinear(f32[7, 64], u8[33, 32], f32[33, 2], u8[33, 2], f32[33], 32),
    Compact(boolean[129], 129),
    Compact(boolean[1000], 400),
]
OPERATORS = {"cuda": ANCHORS, "cpu": ON_CPU}
ITSELF = {"linear_moments_wgmma", "sorted_rows"}
"""Schedules that give several results themselves: what is made of these stays apart."""


@dataclass
class Case:
    """An operator's result, a sum, its activation and a wider copy of it, written by one module."""

    graph: FlowGraph
    group: Group
    module: Module
    arrays: list[Any]
    factor: float

    def run(self, launch):
        """The values are right; `launch` gives results to a module's arrays."""
        values = dict(zip(self.graph.inputs, self.arrays, strict=True))
        found = [np.full(each.shape, 77, each.dtype.numpy) for each in self.group.results]
        launch(*(values[each] for each in self.group.inputs), *found)
        for value, wanted in zip(found, evaluate(self.graph, *self.arrays), strict=True):
            assert_close(value, wanted, self.graph.outputs[0].dtype, self.factor)


def cases(schedule):
    """Two operators that a schedule takes: the smallest at a point in the middle, one in the middle
    at the cheapest."""
    target, short = TARGETS[schedule.target], schedule.name.endswith("tf32")
    with asked(schedule):
        able = [op for op in OPERATORS[schedule.target] if schedule.candidates(op, target)]
        assert len(able) >= 2
        able.sort(key=lambda op: sum(prod(each.shape) for each in op.types()))
        for op, middle in ((able[0], 1), (able[len(able) // 2], 0)):
            points = [each.point for each in schedule.candidates(op, target)]
            point = points[len(points) // 2 * middle]
            yield case(op, schedule.apply(op, target, point).module, short)


def case(op, module, short):
    """The one of an operator that a module computes; `short`: of numbers that tf32 holds, so that
    nothing is lost but in sums."""
    operands = [Tensor(each) for each in op.types()]
    anchor = Node(op, tuple(operands))
    (y,) = anchor.outputs
    beside, row = Tensor(y.type), Tensor(y.type.with_(shape=y.shape[-1:]))
    total = y + beside
    other = ops.cast(total, "float64" if y.dtype is f32 else "float32")
    graph = FlowGraph([*operands, beside, row], [y, total, other, ops.relu(total * row)])
    group = Group(list(graph.nodes), anchor, also=graph.outputs[:-1])
    assert group.results == graph.outputs
    assert reachable(group, module, neighbours(group))
    random = np.random.default_rng(0)
    given = [*op.examples(seed=0), *(random.standard_normal(t.shape) for t in (beside, row))]
    arrays = [np.asarray(a).astype(t.dtype.numpy) for a, t in zip(given, graph.inputs, strict=True)]
    if short:
        arrays = [(a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in arrays]
    return Case(graph, group, fuse(group, module), arrays, 4 * op.factor)


def scheduled(kind):
    return pytest.mark.parametrize(
        "schedule",
        [each for each in SCHEDULES if each.target == kind and each.name not in ITSELF],
        ids=lambda each: each.name,
    )


@scheduled("cuda")
def test_cuda(schedule):
    for each in cases(schedule):
        each.run(partial(sim.launch, as_run(each.module, TARGETS["cuda"])))


@scheduled("cpu")
def test_cpu(schedule, compile_modules):
    found = list(cases(schedule))
    library = compile_modules([each.module for each in found])
    for number, each in enumerate(found):
        each.run(partial(library, number))
