"""Fragments cover their tiles once and agree with published positions of the PTX ISA."""

from itertools import product

import pytest

from hidet.errors import BadArgument
from hidet.mapping.fragments import (
    ldmatrix,
    ldmatrix_rows,
    mma_a,
    mma_b,
    mma_c,
    wgmma_a,
    wgmma_c,
)

ALL = [
    *(make(bits) for make in (mma_a, mma_b) for bits in (8, 16, 32)),
    mma_c(),
    mma_c().transposed(),
    *(ldmatrix(count, transposed=t) for count in (1, 2, 4) for t in (False, True)),
    wgmma_a(),
    wgmma_c(8),
    wgmma_c(136),
]


@pytest.mark.parametrize("fragment", ALL, ids=lambda f: "x".join(map(str, f.tile)))
def test_every_element_is_held_once(fragment):
    held = [fragment(t, v) for t, v in product(range(fragment.threads), range(fragment.values))]
    assert sorted(held) == list(product(*map(range, fragment.tile)))
    for thread, value in ((0, 0), (fragment.threads - 1, fragment.values - 1), (5, 1)):
        offset, step = 0, 1
        for at, extent in zip(fragment(thread, value), fragment.tile, strict=True):
            offset, step = offset + at * step, step * extent
        assert fragment.layout(thread, value) == offset


def test_m16n8k16_as_the_formulas_of_the_isa():
    for lane in range(32):
        group, place = lane >> 2, lane % 4
        for i in range(8):
            row = group if i in (0, 1, 4, 5) else group + 8
            assert mma_a()(lane, i) == (row, place * 2 + (i & 1) + (8 if i >= 4 else 0))
        for i in range(4):
            assert mma_b()(lane, i) == (place * 2 + (i & 1) + (8 if i >= 2 else 0), group)
            assert mma_c()(lane, i) == (group + (8 if i >= 2 else 0), place * 2 + (i & 1))


def test_published_positions():
    assert [mma_a()(0, i) for i in (0, 1, 2, 4, 6)] == [(0, 0), (0, 1), (8, 0), (0, 8), (8, 8)]
    assert mma_a()(31, 7) == (15, 15)
    assert [mma_b()(5, i) for i in range(4)] == [(2, 1), (3, 1), (10, 1), (11, 1)]
    assert [mma_c()(31, i) for i in range(4)] == [(7, 6), (7, 7), (15, 6), (15, 7)]
    # tf32, m16n8k8: a1 is eight rows down, a2 four columns on; int8, m16n8k32: four to a register.
    assert [mma_a(32)(1, i) for i in range(4)] == [(0, 1), (8, 1), (0, 5), (8, 5)]
    assert [mma_a(8)(1, i) for i in (0, 3, 4, 8)] == [(0, 4), (0, 7), (8, 4), (0, 20)]
    assert [mma_b(8)(1, i) for i in (0, 3, 4)] == [(4, 0), (7, 0), (20, 0)]


def test_wgmma_stacks_the_warps_of_a_group():
    assert wgmma_c(16)(0, 0) == (0, 0)
    assert wgmma_c(16)(32, 0) == (16, 0)
    assert [wgmma_c(16)(5, i) for i in (1, 2, 4, 6)] == [(1, 3), (9, 2), (1, 10), (9, 10)]
    assert wgmma_a()(127, 7) == (63, 15)


def test_ldmatrix_leaves_the_operands_of_mma():
    # The four matrices of x4, taken as top left, bottom left, top right, bottom right, are A.
    for lane, value in product(range(32), range(8)):
        matrix, row, column = ldmatrix(4)(lane, value)
        assert mma_a()(lane, value) == (row + 8 * (matrix % 2), column + 8 * (matrix // 2))
        if value < 4:
            matrix, row, column = ldmatrix(2, transposed=True)(lane, value)
            assert mma_b()(lane, value) == (row + 8 * matrix, column)
    assert ldmatrix_rows(4).single(19) == (2, 3)


@pytest.mark.parametrize(
    "wrong", [lambda: mma_a(64), lambda: ldmatrix(3), lambda: wgmma_c(12), lambda: wgmma_c(264)]
)
def test_what_no_instruction_has_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()
