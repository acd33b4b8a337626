"""Linear layers of packed weights on the CPU, for every kind of tile and odd sizes."""

import numpy as np
import pytest

import hidet
from hidet import ops, sim
from hidet.ir.expr import Var
from hidet.schedules.cpu.packed_linear import Unpacked, packed_rows
from hidet.schedules.cpu.packed_panels import PackedRegisters, packed_panels
from hidet.target import Target
from hidet.testing.packed_layers import close, layer
from hidet.types import bf16, f16, f32, i32

WIDE, PLAIN = Target.parse("cpu+avx512"), Target.parse("cpu")
M = Var("m", i32)


CASES = [
    *((layer(f32[m, 129], n, 32), WIDE, Unpacked(rows, columns))
      for m, n, rows, columns in ((1, 1, 1, 8), (7, 13, 4, 4), (2, 37, 2, 8), (9, 3, 8, 2))),
    (layer(f32[2, 3, 64], 5, 16, bias=False), WIDE, Unpacked(4, 2)),
    (layer(f32[5, 257], 7, 128, zero=False), WIDE, Unpacked(2, 4)),
    (layer(f16[3, 40], 7, 16, zero=False), WIDE, Unpacked(1, 8)),
    (layer(bf16[33], 4, 64), WIDE, Unpacked(1, 4)),
    (layer(f32[5, 50], 9, 32), PLAIN, Unpacked(2, 2)),
    (layer(f32[M, 50], 9, 32), PLAIN, Unpacked(2, 2)),
    *((layer(f32[m, k], n, block), WIDE, PackedRegisters(*tile))
      for m, k, n, block, tile in ((1, 129, 1, 32, (4, 1)), (7, 257, 37, 128, (2, 2)),
                                   (127, 530, 33, 16, (14, 2)), (37, 1030, 5, 1024, (2, 4)))),
    (layer(f32[2, 3, 64], 5, 2, bias=False), WIDE, PackedRegisters(4, 3)),
    (layer(f16[17, 41], 7, 16, zero=False), WIDE, PackedRegisters(6, 1)),
    (layer(bf16[33], 4, 64), WIDE, PackedRegisters(2, 1)),
    (layer(f32[M, 50], 9, 32), PLAIN, PackedRegisters(2, 1)),
    (layer(f32[5, 50], 9, 32), PLAIN, PackedRegisters(4, 2)),
]  # fmt: skip


def module(op, target, point):
    """The kernels at a point of either space."""
    schedule = packed_panels if isinstance(point, PackedRegisters) else packed_rows
    return schedule(op, target, point).module


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([module(*each) for each in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_layers(library, number):
    op = CASES[number][0].with_sizes(lambda size: 11)
    arrays = op.examples(seed=number)
    result = op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    library(number, *arrays, found, m=11)
    close(op, arrays, found)


@pytest.mark.parametrize("point", [Unpacked(2, 2), PackedRegisters(4, 2)])
def test_the_simulator_agrees(point):
    op = layer(f32[5, 50], 9, 32)
    arrays = op.examples(seed=1)
    found = sim.empty((5, 9), "float32")
    sim.launch(module(op, PLAIN, point), *arrays, found)
    close(op, arrays, found)


def test_weights_stay_packed_where_there_is_a_schedule():
    k, n = 512, 96
    packed = hidet.from_numpy(np.arange(n * k // 2, dtype=np.uint8).reshape(n, k // 2))
    scale = hidet.from_numpy(np.full((n, k // 32), 0.1, np.float32))
    x = hidet.symbol((64, k))
    graph = hidet.trace_from(ops.packed_linear(x, packed, scale, block=32), x)
    assert "packed_panels" in graph.explain("cpu+avx512")
    assert "linear: anchor" in graph.explain("sm_90a")
