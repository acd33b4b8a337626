"""Attention on the CPU against numpy: every kind of tile, masks, shared heads, odd sizes."""

import numpy as np
import pytest

from hidet import sim
from hidet.graph import refer
from hidet.ir.expr import Var
from hidet.ops.products.attention import Attention
from hidet.schedules.base import candidates
from hidet.schedules.cpu.attention import Lanes, attention_rows
from hidet.target import Target
from hidet.toolchain import flags_for, probe_isa
from hidet.types import bf16, boolean, f16, f32, f64, i32

TARGET = Target.parse("cpu+avx512")
M, N = Var("m", i32), Var("n", i32)

FIXED = [
    (Attention(f32[2, 4, 33, 40], f32[2, 2, 129, 40], f32[2, 2, 129, 24], None, True, 0.2), (8, 3)),
    (Attention(f32[3, 17, 7], f32[3, 5, 7], f32[3, 5, 70], f32[17, 1], False, -0.3), (6, 4)),
    (Attention(f16[1, 2, 37, 8], f16[1, 1, 67, 8], f16[1, 1, 67, 9], None, False, 0.2), (12, 2)),
    (Attention(bf16[2, 19, 33], bf16[2, 50, 33], bf16[2, 50, 1], bf16[2, 1, 50], True, 1), (4, 1)),
    (Attention(f32[2, 18, 3], f32[2, 50, 3], f32[2, 50, 3], boolean[18, 50], False, 1), (8, 2)),
    (Attention(*(f32[3, 2, 49, 32],) * 3, f32[2, 49, 49], False, 0.2), (6, 4)),
    (Attention(f32[1, 21, 33], f32[1, 129, 33], f32[1, 129, 65], None, True, 0.2), (4, 4)),
    # More keys than between two maxima.
    (Attention(f32[3, 17, 7], f32[3, 601, 7], f32[3, 601, 20], f32[17, 1], False, -0.3), (6, 2)),
    (Attention(f32[1, 541, 5], f32[1, 541, 5], f32[1, 541, 2], None, True, 2.0), (8, 3)),
]
AVX2 = Target.parse("cpu+avx2")
PAIRS = Target.parse("cpu+avx512+bf16")
IN_PAIRS = [
    (Attention(bf16[2, 19, 33], bf16[2, 50, 33], bf16[2, 50, 1], bf16[2, 1, 50], True, 1), (4, 1)),
    (Attention(*(bf16[3, 2, 49, 32],) * 3, bf16[2, 49, 49], False, 0.2), (6, 4)),
    (Attention(bf16[1, 129, 7], bf16[1, 67, 7], bf16[1, 67, 65], None, True, 0.5), (8, 3)),
]
SYMBOLIC = Attention(f32[2, M, 16], f32[2, N, 16], f32[2, N, 16], None, True, 0.2)
MODULES = [attention_rows(op, TARGET, Lanes(*point)).module for op, point in FIXED]
MODULES.append(attention_rows(SYMBOLIC, TARGET, Lanes()).module)
MODULES += [attention_rows(op, AVX2, Lanes(4, 2)).module for op, _ in FIXED]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules(MODULES)


@pytest.fixture(scope="module", params=["instruction", "loop"])
def library_of_pairs(compile_modules, request):
    """Pairs of bfloat16 by the instruction, and as C++ spells it."""
    if request.param == "instruction" and "bf16" not in probe_isa():
        pytest.skip("this CPU has no vdpbf16ps")
    flags = flags_for(PAIRS) if request.param == "instruction" else ()
    modules = [attention_rows(op, PAIRS, Lanes(*point)).module for op, point in IN_PAIRS]
    return compile_modules(modules, *flags)


@pytest.mark.parametrize("number", range(len(IN_PAIRS)))
def test_pairs_of_bfloat16(library_of_pairs, number):
    op, _ = IN_PAIRS[number]
    compare(library_of_pairs, number, op, op.examples(seed=number))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 7), (13, 37)])
def test_the_simulator_agrees_on_pairs(m, n):
    op = Attention(bf16[2, m, 5], bf16[2, n, 5], bf16[2, n, 19], None, True, 0.3)
    arrays = op.examples(seed=m)
    y = sim.empty(op.infer().shape, "bfloat16")
    sim.launch(attention_rows(op, PAIRS, Lanes(4, 1)).module, *arrays, y)
    (expected,) = refer(op, arrays)
    most = np.abs(arrays[2].astype(np.float64)).max()
    assert np.abs(y.astype(np.float64) - expected).max() <= 2.0**-7 * most


def compare(library, number, op, arrays, **sizes):
    y = np.full(op.infer().shape, 77, op.infer().dtype.numpy)
    library(number, *arrays, y, **sizes)
    (expected,) = refer(op, arrays)
    unit = {2: 2.0**-7 if op.q.dtype is bf16 else 2.0**-10, 4: 2.0**-20}[y.itemsize]
    assert np.abs(y.astype(np.float64) - expected).max() <= unit * np.abs(arrays[2]).max()
    return y


@pytest.mark.parametrize("number", range(len(FIXED)))
def test_sizes_and_masks(library, number):
    op, _ = FIXED[number]
    compare(library, number, op, op.examples(seed=number))


@pytest.mark.parametrize("number", range(len(FIXED)))
def test_vectors_of_avx2(library, number):
    op, _ = FIXED[number]
    compare(library, len(FIXED) + 1 + number, op, op.examples(seed=number))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (33, 130), (129, 7), (2, 601)])
def test_symbolic_lengths(library, m, n):
    op = SYMBOLIC.with_sizes(lambda size: {"m": m, "n": n}[size.name])
    compare(library, len(FIXED), op, op.examples(seed=0), m=m, n=n)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 7), (7, 2), (13, 37)])
@pytest.mark.parametrize("causal", [False, True])
def test_the_simulator_agrees(m, n, causal):
    op = Attention(f32[2, m, 5], f32[2, n, 5], f32[2, n, 19], None, causal, 0.3)
    arrays = op.examples(seed=m)
    y = sim.empty(op.infer().shape, "float32")
    sim.launch(attention_rows(op, TARGET, Lanes(4, 1)).module, *arrays, y)
    (expected,) = refer(op, arrays)
    assert np.abs(y - expected).max() <= 2.0**-20 * np.abs(arrays[2]).max()


def test_a_row_that_keeps_nothing_is_zero(library):
    op, _ = FIXED[4]
    *arrays, mask = op.examples(seed=0)
    mask[3] = False
    y = compare(library, 4, op, [*arrays, mask])
    assert not y[:, 3].any()


def test_few_rows_are_products_of_vectors():
    def taken(of, m):
        op = Attention(of[2, m, 8], of[2, 9, 8], of[2, 9, 8], None, False, 1.0)
        return any(each.schedule.name == "attention_rows" for each in candidates(op, TARGET))

    assert taken(f32, 128)
    assert taken(bf16, M)
    assert not taken(f32, 1)
    assert not taken(f64, 128)
