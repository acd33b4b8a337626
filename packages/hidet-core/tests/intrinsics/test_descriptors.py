"""Matrix descriptors: their bits, and the lines of an operand in every canonical layout."""

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.tensor_maps.descriptors import Descriptor, decoded, lines
from hidet.ir.expr import Address, Const, Var
from hidet.ir.stmt import Invoke
from hidet.lang.cuda import wgmma_layout
from hidet.types import Scope, TensorType, f16, f32, i8, i32, u64

MODES = (0, 32, 64, 128)


def test_bits():
    """A 128-byte swizzle with 1024 bytes between groups of rows, as it is always written."""
    assert Descriptor(0x8400, 16, 1024, 128).bits == 1 << 62 | 64 << 32 | 1 << 16 | 0x840
    assert Descriptor(0, 0, 0, 32, 5).bits == 3 << 62 | 5 << 49


@pytest.mark.parametrize("swizzle", MODES)
def test_decoding_gives_back_what_was_encoded(swizzle):
    given = Descriptor(0x3FFF0, 0x1230, 0x4560, swizzle, 3)
    assert decoded(given.bits) == given


@pytest.mark.parametrize("of", [i8, f16, f32], ids=str)
@pytest.mark.parametrize("swizzle", MODES)
def test_lines_along_k_are_where_the_layout_puts_them(swizzle, of):
    wide = max(32, swizzle) // of.nbytes
    layout = wgmma_layout(of, 64, 2 * wide, swizzle=swizzle)
    span = swizzle or 16
    leading, stride = (16 if swizzle else 64 * 16), 8 * span
    depth, each = 32 // of.nbytes, 16 // of.nbytes
    for k in range(0, 2 * wide, depth):
        start = int(layout(0, k)) * of.nbytes
        found = lines(Descriptor(start, leading, stride, swizzle), 64, depth, of.nbytes, False)
        for row in range(64):
            wanted = [layout(row, k + line * each) * of.nbytes for line in range(2)]
            assert found[row].tolist() == wanted


@pytest.mark.parametrize("swizzle", MODES)
def test_lines_along_rows_are_where_the_layout_puts_them(swizzle):
    layout = wgmma_layout(f16, 32, 128, swizzle=swizzle)
    span = swizzle or 16
    leading, stride = (32 * span, 8 * span) if swizzle else (128, 32 * span)
    for k in (0, 16):
        start = int(layout(k, 0)) * 2
        found = lines(Descriptor(start, leading, stride, swizzle), 128, 16, 2, True)
        for deep in range(16):
            wanted = [layout(k + deep, 8 * line) * 2 for line in range(16)]
            assert found[deep].tolist() == wanted


def test_a_pattern_may_begin_elsewhere():
    """With a base offset the pattern is that of a tile at a multiple of 1024 bytes, moved."""
    at_start = lines(Descriptor(0, 16, 1024, 128), 64, 16, 2, False)
    moved = lines(Descriptor(3 * 128, 16, 1024, 128, 3), 64, 16, 2, False)
    ranks = [np.argsort(each, axis=1) for each in (at_start, moved)]
    assert (moved // 128 == at_start // 128 + 3).all()
    assert ranks[0].shape == ranks[1].shape
    assert (((moved ^ at_start) % 16) == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((16, 1000, 128, 0), "stride distance .* not 1000"),
        ((8, 1024, 128, 0), "leading distance .* not 8"),
        ((16, 1024, 96, 0), "0, 128, 64, 32, not 96"),
        ((16, 1024, 128, 8), "not 8"),
    ],
)
def test_distances_that_do_not_exist(options, message):
    tile = Var("tile", TensorType(f16, (64,), Scope.SHARED))
    call = Invoke("wgmma_descriptor", (Address(tile, (Const(0, i32),)),), (Var("d", u64),), options)
    with pytest.raises(BadKernel, match=message):
        INTRINSICS["wgmma_descriptor"].check(call)
