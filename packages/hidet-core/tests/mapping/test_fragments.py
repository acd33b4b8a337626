"""Fragments cover their tiles once and agree with published positions of the PTX ISA."""

from itertools import product

import pytest

from hidet.errors import BadArgument
from hidet.mapping.fragments import (
    ROW_LANES,
    ldmatrix,
    ldmatrix_rows,
    matrices,
    matrix_rows,
    mma_a,
    mma_b,
    mma_c,
    wgmma_a,
    wgmma_c,
)

ALL = [
    *(mma_a(bits, depth, rows) for bits, depth, rows in (
        (8, 32, 16), (8, 16, 16), (8, 16, 8), (16, 16, 16), (16, 8, 16), (32, 8, 16), (32, 4, 16),
        (64, 4, 8), (64, 4, 16), (64, 8, 16), (64, 16, 16),
    )),
    *(mma_b(bits, depth) for bits, depth in (
        (8, 32), (8, 16), (16, 16), (16, 8), (32, 8), (32, 4), (64, 4), (64, 8), (64, 16),
    )),
    mma_c(),
    mma_c(8),
    *(ldmatrix(count, transposed=t) for count in (1, 2, 4) for t in (False, True)),
    *(wgmma_a(bits) for bits in (8, 16, 32)),
    *(wgmma_c(columns) for columns in range(8, 257, 8)),
]  # fmt: skip


@pytest.mark.parametrize("fragment", ALL, ids=str)
def test_every_element_is_held_once(fragment):
    held = [task for t in range(fragment.workers) for task in fragment.tasks(t)]
    assert sorted(held) == list(product(*map(range, fragment.shape)))
    assert [fragment.task(5, v) for v in range(fragment.tasks_per_worker)] == [*fragment.tasks(5)]


def halves(rows, register):
    """Eight rows down in every other register, where there are sixteen rows."""
    return 8 * (register % (rows // 8)), register // (rows // 8)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("rows", [8, 16])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_operands_as_the_formulas_of_the_isa(bits, rows, steps):
    packed = max(1, 32 // bits)
    a, b = mma_a(bits, 4 * packed * steps, rows), mma_b(bits, 4 * packed * steps)
    for lane in range(32):
        group, place = lane >> 2, lane % 4
        for i, task in enumerate(a.tasks(lane)):
            down, step = halves(rows, i // packed)
            assert task == (group + down, place * packed + i % packed + 4 * packed * step)
        for i, task in enumerate(b.tasks(lane)):
            assert task == (place * packed + i % packed + 4 * packed * (i // packed), group)


@pytest.mark.parametrize("columns", [8, 24, 136, 256])
def test_accumulators_as_the_formulas_of_the_isa(columns):
    for thread in range(128):
        lane = thread % 32
        for i, (row, column) in enumerate(wgmma_c(columns).tasks(thread)):
            down, step = halves(16, i // 2)
            assert row == thread // 32 * 16 + (lane >> 2) + down
            assert column == lane % 4 * 2 + (i & 1) + 8 * step
    for lane in range(32):
        assert list(mma_c(16, columns).tasks(lane)) == list(wgmma_c(columns).tasks(lane))
        assert [*mma_c(8).tasks(lane)] == [*wgmma_c(8).tasks(lane)][:2]


def test_published_positions():
    assert [mma_a().task(0, i) for i in (0, 1, 2, 4, 6)] == [(0, 0), (0, 1), (8, 0), (0, 8), (8, 8)]
    assert mma_a().task(31, 7) == (15, 15)
    assert [mma_b().task(5, i) for i in range(4)] == [(2, 1), (3, 1), (10, 1), (11, 1)]
    assert [mma_c().task(31, i) for i in range(4)] == [(7, 6), (7, 7), (15, 6), (15, 7)]
    # tf32, m16n8k8: a1 is eight rows down, a2 four columns on; int8, m16n8k32: four to a register.
    assert [mma_a(32).task(1, i) for i in range(4)] == [(0, 1), (8, 1), (0, 5), (8, 5)]
    assert [mma_a(8).task(1, i) for i in (0, 3, 4, 8)] == [(0, 4), (0, 7), (8, 4), (0, 20)]
    assert [mma_b(8).task(1, i) for i in (0, 3, 4)] == [(4, 0), (7, 0), (20, 0)]


def test_wgmma_stacks_the_warps_of_a_group():
    assert wgmma_c(16).task(0, 0) == (0, 0)
    assert wgmma_c(16).task(32, 0) == (16, 0)
    assert [wgmma_c(16).task(5, i) for i in (1, 2, 4, 6)] == [(1, 3), (9, 2), (1, 10), (9, 10)]
    assert wgmma_a().task(127, 7) == (63, 15)


def test_ldmatrix_leaves_the_operands_of_mma():
    # The four matrices of x4, taken as top left, bottom left, top right, bottom right, are A.
    for lane, value in product(range(32), range(8)):
        matrix, row, column = ldmatrix(4).task(lane, value)
        assert mma_a().task(lane, value) == (row + 8 * (matrix % 2), column + 8 * (matrix // 2))
        if value < 4:
            matrix, row, column = ldmatrix(2, transposed=True).task(lane, value)
            assert mma_b().task(lane, value) == (row + 8 * matrix, column)
    assert ldmatrix_rows(4).single(19) == (2, 3)


@pytest.mark.parametrize(
    "wrong", [lambda: mma_a(24), lambda: ldmatrix(3), lambda: wgmma_c(12), lambda: wgmma_c(264)]
)
def test_what_no_instruction_has_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()


def test_an_element_is_found_by_a_number_for_each_loop():
    for block, half, pair in product(range(3), range(2), range(2)):
        assert wgmma_c(24).task(77, block, half, pair) == wgmma_c(24).task(
            77, block * 4 + half * 2 + pair
        )
    with pytest.raises(BadArgument, match="2 numbers were given"):
        wgmma_c(24).task(77, 0, 1)


def test_rows_of_matrices_make_an_operand():
    # Lane 8 * i + r gives the address of row r of matrix i.
    for lane, value in product(range(32), range(8)):
        matrix, row, column = ldmatrix(4).task(lane, value)
        top, left = matrix_rows().task(8 * matrix + row, 0)
        assert mma_a().task(lane, value) == (top, left + column)
        assert mma_c(16, 16).task(lane, value) == (top, left + column)


def test_rows_of_matrices_make_an_operand_of_32_bits():
    # A matrix has 8 rows of 4 elements: a lane has one element of each, which is lane % 4.
    for lane, matrix in product(range(32), range(4)):
        top, left = matrix_rows(32).task(8 * matrix + lane // 4, 0)
        assert mma_a(32).task(lane, matrix) == (top, left + lane % 4)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_matrices_follow_each_other_down_or_across(bits):
    pieces = 128 // bits
    for lane in range(32):
        matrix, row = divmod(lane, 8)
        down, across = matrices(bits).task(lane, 0), matrices(bits, across=True).task(lane, 0)
        assert down == matrix_rows(bits).task(lane, 0)
        assert down == (matrix % 2 * 8 + row, matrix // 2 * pieces)
        assert across == (matrix // 2 * 8 + row, matrix % 2 * pieces)


def test_matrices_across_make_two_operands_side_by_side():
    # Of a tile whose rows run along k: rows are columns of B.
    for lane, value in product(range(32), range(8)):
        matrix, row, column = ldmatrix(4).task(lane, value)
        top, left = matrices(across=True).task(8 * matrix + row, 0)
        k, j = mma_b().task(lane, value % 4)
        assert (value // 4 * 8 + j, k) == (top, left + column)


def test_lanes_of_a_row_share_it():
    for lane in range(32):
        row, sharer = ROW_LANES.task(lane)
        assert mma_c().task(lane, 0) == (row, sharer * 2)
