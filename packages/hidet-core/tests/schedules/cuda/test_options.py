"""What the options of products change: units, sums, how many blocks share a sum."""

import numpy as np
import pytest

from hidet import sim
from hidet.codegen import cuda
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.schedules import load
from hidet.schedules.base import candidates
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import bf16, f16, f32

TARGET = Target.parse("sm_90a")
PADDED = ((1, 1), (1, 1))
SINGLE = [
    Matmul(f32[70, 33], f32[33, 67]),
    Matmul(f32[19, 40], f32[33, 19], True, True),
    Matmul(f32[2, 17, 40], f32[2, 33, 40], False, True),
    Linear(f32[33, 129], f32[7, 129], f32[7]),
    Conv(f32[1, 5, 7, 7], f32[9, 5, 3, 3], f32[9], (1, 1), PADDED, (1, 1), 1),
]


def names(op):
    return {each.schedule.name for each in candidates(op, TARGET)}


def module_of(candidate, op):
    return candidate.schedule.apply(op, TARGET, candidate.point).module


def text_of(module):
    return cuda.emit([lower(kernel) for kernel in module.kernels])


def result(module, op, arrays):
    of = op.results()[0]
    out = np.full(of.shape, 77, of.dtype.numpy)
    sim.launch(as_run(module), *arrays, out)
    return out


def rounded(array):
    """float32 with ten bits of fraction, ties away from zero."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("op", SINGLE, ids=str)
def test_tf32_rounds_operands_and_sums_in_float32(op):
    with options(tf32=True, parallel_k="search"):
        found = [each for each in candidates(op, TARGET) if "tf32" in each.schedule.name]
        chosen = [found[0], next(each for each in found if each.point.slices == 1)]
        for each in chosen:
            arrays = op.examples(seed=1)
            actual = result(module_of(each, op), op, arrays)
            wide = [rounded(a).astype(np.float64) for a in arrays[:2]]
            wide += [np.asarray(a, np.float64) for a in arrays[2:]]
            missing = len(op.operands()) - len(wide)
            expected = op.reference(*wide, *[None] * missing)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)
            exact = op.reference(*[np.asarray(a, np.float64) for a in arrays], *[None] * missing)
            assert np.abs(actual - exact).max() > 1e-4  # and it is not full precision


@pytest.mark.parametrize("op", [Matmul(f32[512, 512], f32[512, 512]), SINGLE[-1]], ids=str)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_tf32_compiles_without_spills(op, arch):
    target = Target.parse(arch)
    with options(tf32=True):
        best = next(c for c in candidates(op, target) if "tf32" in c.schedule.name)
        text = text_of(best.schedule.apply(op, target, best.point).module)
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in text
    built = compile_cuda(text, arch=arch)
    assert all(usage.spill_bytes == 0 for usage in built.usage.values())


def test_tf32_is_chosen_only_where_it_is_allowed():
    op = Matmul(f32[1024, 1024], f32[1024, 1024])
    assert "matmul_tf32" not in names(op)
    with options(tf32=True):
        assert candidates(op, TARGET)[0].schedule.name == "matmul_tf32"
    with options(tf32=True, mma="simt"):
        assert names(op) == {"matmul_simt"}


@pytest.mark.parametrize(
    "op",
    [
        Matmul(f32[300, 513], f32[513, 129]),
        Matmul(f32[3, 256, 520], f32[3, 520, 264]),
        Linear(f32[128, 768], f32[768, 768], f32[768]),
        Conv(f32[1, 16, 28, 28], f32[32, 16, 3, 3], f32[32], (1, 1), PADDED, (1, 1), 1),
    ],
    ids=str,
)
def test_tf32_is_chosen_for_products_of_typical_sizes(op):
    with options(tf32=True):
        assert candidates(op, TARGET)[0].schedule.name.endswith("_tf32")


def test_simt_takes_attention_from_tensor_cores():
    op = Attention(f16[1, 2, 33, 64], f16[1, 2, 40, 64], f16[1, 2, 40, 64], None, False, 0.125)
    assert names(op) == {"attention_mma", "attention_wgmma"}
    with options(mma="simt"):
        assert names(op) == set()


@pytest.mark.parametrize("of", [f16, bf16])
def test_simt_takes_half_precision_from_tensor_cores(of, check):
    op = Matmul(of[33, 40], of[40, 24])
    assert names(op) == {"matmul_mma", "matmul_stages", "matmul_wgmma"}
    with options(mma="simt"):
        assert names(op) == {"matmul_simt"}
        module = module_of(candidates(op, TARGET)[0], op)
    assert "mma.sync" not in text_of(module)
    arrays = op.examples(seed=0)
    check(op, arrays, result(module, op, arrays))


def test_sums_in_float16_are_asked_for_and_seen():
    op = Linear(f16[16, 256], f16[16, 256], None)
    random = np.random.default_rng(0)
    arrays = [random.uniform(0.5, 1, (16, 256)).astype(np.float16) for _ in range(2)]
    expected = arrays[0].astype(np.float64) @ arrays[1].T.astype(np.float64)
    with options(parallel_k="disabled"):
        plain = next(c for c in candidates(op, TARGET) if c.schedule.name == "matmul_mma")
    exact = result(module_of(plain, op), op, arrays)
    with options(fp16_reduction=True):
        module = module_of(plain, op)
        assert "m16n8k16.row.col.f16.f16.f16.f16" in text_of(module)
        compile_cuda(text_of(module), arch="sm_90a")
        narrow = result(module, op, arrays)
    np.testing.assert_allclose(exact, expected, rtol=2**-11)
    np.testing.assert_allclose(narrow, expected, rtol=2**-7)
    assert np.abs(narrow / expected - 1).max() > 2 * np.abs(exact / expected - 1).max()


def test_bfloat16_is_summed_in_float32_whatever_was_asked_for():
    op = Linear(bf16[16, 64], bf16[16, 64], None)
    with options(fp16_reduction=True):
        assert "row.col.f32.bf16.bf16.f32" in text_of(module_of(candidates(op, TARGET)[0], op))


LONG = Linear(f16[64, 4096], f16[64, 4096], None)


def counts(op):
    return {each.point.slices for each in candidates(op, TARGET)}


def test_parallel_k_says_how_many_blocks_share_a_sum():
    assert candidates(LONG, TARGET)[0].point.slices > 1
    with options(parallel_k="disabled"):
        assert counts(LONG) == {1}
    with options(parallel_k=4):
        assert counts(LONG) == {4}
        assert counts(Linear(f16[64, 64], f16[64, 64], None)) == {1}  # k is too short for four
    with options(parallel_k=5):
        assert counts(LONG) == {4}


def test_parallel_k_searched_makes_every_number_a_candidate():
    tiles = [
        (c.schedule.name, *(v for k, v in vars(c.point).items() if k != "slices"))
        for c in candidates(LONG, TARGET)
    ]
    assert len(set(tiles)) == len(tiles)
    with options(parallel_k="search"):
        every = candidates(LONG, TARGET)
    assert len(every) > 2 * len(tiles)
    assert every[0].point == candidates(LONG, TARGET)[0].point
    assert load.LOADED
