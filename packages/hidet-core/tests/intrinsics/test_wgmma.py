"""wgmma: which products there are, and that their text becomes the instructions they name."""

import pytest

from hidet.codegen.cuda import emit
from hidet.errors import BadKernel
from hidet.intrinsics.tensor_cores.wgmma import sums_of
from hidet.lang import attr, f32, register_tensor, script, shared_tensor, static
from hidet.lang.cuda import (
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_layout,
    wgmma_wait_group,
)
from hidet.passes.pipeline import lower
from hidet.testing.as_meant import as_meant
from hidet.types import bf16, f8e4m3, f8e5m2, f16, f64, i8, i32, tf32, u8

PAIRS = [(f16, f16), (bf16, bf16), (tf32, tf32), (f8e4m3, f8e5m2), (f8e5m2, f8e5m2)]
PAIRS += [(i8, i8), (i8, u8), (u8, u8)]
FORMS = [(a, b, into) for a, b in PAIRS for into in sums_of(a, b)]


def product(left, right, into, columns, in_registers=False, transposed=False, **flags):
    """A kernel of one product, whose operands are whatever shared memory holds."""
    depth = 256 // left.bits
    wide = 128 // left.nbytes
    rows = (wide, 256) if transposed else (256, wide)

    @script
    def kernel(y: into[64, columns]) -> None:
        attr.func_name = f"product_{columns}"
        attr.cuda_block_dim = 128
        tile_a = shared_tensor(left, rows, wgmma_layout(left, *rows))
        tile_b = shared_tensor(right, rows, wgmma_layout(right, *rows))
        held = register_tensor(left, 64 * depth // 128)
        sums = register_tensor(into, columns // 2)
        for v in static(range(64 * depth // 128)):
            held[v] = tile_a[0, (threadIdx.x + v) % wide]
        b = wgmma_descriptor(~tile_b[0, 0], transposed=transposed)
        a = held if in_registers else wgmma_descriptor(~tile_a[0, 0], transposed=transposed)
        wgmma_fence(sums, held)
        wgmma(a, b, sums, f"m64n{columns}k{depth}", add=False, **flags)
        wgmma(a, b, sums, f"m64n{columns}k{depth}", add=y[0, 0] > y[0, 1], **flags)
        wgmma_commit_group()
        wgmma_wait_group(0, sums, held)
        for v in static(range(columns // 2)):
            y[threadIdx.x % 64, v] = sums[v]

    return lower(kernel.kernel)


@pytest.mark.parametrize(("left", "right", "into"), FORMS, ids=str)
@pytest.mark.parametrize("in_registers", [False, True])
def test_text_compiles(left, right, into, in_registers):
    counts = (8, 24, 80, 256)
    text = as_meant(product(left, right, into, n, in_registers) for n in counts)
    assert text.count("wgmma.mma_async.sync.aligned") == 2 * len(counts)


@pytest.mark.parametrize("first", range(8, 257, 32))
def test_every_number_of_columns_compiles(first):
    columns = range(first, min(first + 32, 257), 8)
    text = as_meant(product(f16, f16, f32, n) for n in columns)
    assert all(f"m64n{n}k16" in text for n in columns)


def test_flags_compile():
    turned = product(f16, f16, f32, 8, transposed=True, negate_a=True)
    assert "p, -1, 1, 1, 1;" in as_meant([turned])
    held = product(bf16, bf16, f32, 16, in_registers=True, transposed=True, negate_b=True)
    assert "p, 1, -1, 1;" in as_meant([held])
    whole = product(i8, u8, i32, 16, saturate=True)
    assert "m64n16k32.satfinite.s32.s8.u8" in as_meant([whole])


@pytest.mark.parametrize(
    ("types", "columns", "flags", "message"),
    [
        ((f16, bf16, f32), 8, {}, "no wgmma of f16 and bf16 into f32"),
        ((f64, f64, f64), 8, {}, "no wgmma of f64"),
        ((bf16, bf16, f16), 8, {}, "no wgmma of bf16 and bf16 into f16"),
        ((f16, f16, f32), 12, {}, "no wgmma m64n12k16"),
        ((f16, f16, f32), 264, {}, "no wgmma m64n264k16"),
        ((i8, i8, i32), 40, {}, "no wgmma m64n40k32"),
        ((tf32, tf32, f32), 8, {"transposed": True}, "has no transpose_a"),
        ((f16, f16, f32), 8, {"saturate": True}, "has no saturate"),
        ((i8, i8, i32), 8, {"negate_a": True}, "has no negate_a"),
    ],
    ids=str,
)
def test_products_that_do_not_exist(types, columns, flags, message):
    with pytest.raises(BadKernel, match=message):
        product(*types, columns, **flags)


def test_registers_are_not_touched_between_fence_and_wait():
    """Lowering keeps what reads the sums after the wait, and nothing between."""
    lines = emit([product(f16, f16, f32, 64)]).splitlines()
    fence, wait = (
        next(n for n, line in enumerate(lines) if f"wgmma.{what}" in line)
        for what in ("fence", "wait_group")
    )
    between = [line for line in lines[fence + 1 : wait] if "sums" in line]
    assert len(between) == 2
    assert all("wgmma.mma_async" in line for line in between)
