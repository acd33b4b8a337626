"""Linear layers of packed weights on GPUs, in the simulator: odd sizes, blocks of any length."""

import random

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.schedules.base import candidates
from hidet.target import Target
from hidet.testing.packed_layers import close, layer
from hidet.types import bf16, f16, f32, f64, i32, u8

TARGET = Target.parse("sm_90a")
M = Var("m", i32)


OPS = [
    *(op for op in PackedLinear.samples() if op.x.shape[0]),
    layer(f16[1, 129], 33, 32),
    layer(f16[7, 257], 37, 128, zero=False),
    layer(bf16[2, 3, 64], 130, 16, bias=False),
    layer(f32[2, 130], 9, 32),
    layer(f16[8, 72], 65, 32),
    layer(f32[3, 40], 7, 2, zero=False),
]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_layers(op, is_right_simulated):
    """The cheapest point, and others."""
    found = candidates(op, TARGET)
    few = random.Random(str(op)).sample(found, min(2, len(found)))
    for candidate in [found[0], *few]:
        module = candidate.schedule.apply(op, TARGET, candidate.point).module
        is_right_simulated(module, op, close)


def test_many_rows_and_rows_of_an_open_number_are_multiplied_by_unpacked_weights():
    """Which is faster for many; both are right, one is asked for here."""
    assert not candidates(layer(f16[129, 72], 40, 32), TARGET)
    assert not candidates(layer(f16[M, 72], 40, 32), TARGET)


def test_scales_that_a_head_has_no_place_for_are_not_taken():
    assert not candidates(PackedLinear(f32[1, 32], u8[2, 16], f64[2, 1], None, None, 32), TARGET)


def test_weights_stay_packed_and_are_brought_into_order_once():
    """A call reads the words; no weight of whole numbers is kept."""
    x = symbol((3, 256), f16)
    of = [np.zeros((128, 128), np.uint8), np.ones((128, 8), np.float16)]
    packed, scale = (hidet.asarray(each) for each in of)
    graph = trace_from(ops.packed_linear(x, packed, scale, block=32), x)
    archive = compile_graph(graph, "sm_90a").archive
    main, prepare = archive.plans["main"], archive.plans["prepare"]
    assert [step.function.split("_")[0] for step in main.steps] == ["packed"]
    kept = [main.buffers[n] for n in main.of_role("derived")]
    assert [(each.dtype, each.shape) for each in kept] == [("int32", (128, 40))]
    assert len(prepare.steps) == 1
