"""The tables of fragments agree with the mapping's layouts and hold every element once."""

import numpy as np
import pytest

from hidet.intrinsics.fragments import accumulator, eight_by_eight, operand_a, operand_b
from hidet.mapping import fragments


def held_by(fragment):
    """For each element of a tile: lane · values + value, by a fragment of the mapping."""
    order = np.full(fragment.tile, -1)
    for lane in range(32):
        for value in range(fragment.values):
            order[fragment(lane, value)] = lane * fragment.values + value
    return order


@pytest.mark.parametrize(
    ("table", "fragment"),
    [
        (operand_a(16, 16), fragments.mma_a(16)),
        (operand_b(16, 16), fragments.mma_b(16)),
        (operand_a(8, 32), fragments.mma_a(32)),
        (operand_b(8, 32), fragments.mma_b(32)),
        (accumulator(), fragments.mma_c()),
    ],
)
def test_tables_agree_with_the_layouts(table, fragment):
    np.testing.assert_array_equal(table.order.reshape(table.shape), held_by(fragment))


def test_the_matrix_of_ldmatrix():
    table, fragment = eight_by_eight(), fragments.ldmatrix(1)
    np.testing.assert_array_equal(table.order.reshape(1, 8, 8), held_by(fragment))


@pytest.mark.parametrize("table", [operand_a(8, 16), operand_b(8, 16)])
def test_every_element_is_held_once(table):
    assert sorted(table.order.tolist()) == list(range(32 * table.values))
    tile = np.random.default_rng(0).standard_normal((3, *table.shape))
    np.testing.assert_array_equal(table.tile(table.held(tile)), tile)


def shapes():
    """(rows, depth, bits) of every mma.sync and wgmma."""
    halves = [(16, 16, 16), (16, 8, 16), (16, 8, 32), (16, 4, 32)]
    doubles = [(8, 4, 64), (16, 4, 64), (16, 8, 64), (16, 16, 64)]
    return [*halves, *doubles, (8, 16, 8), (16, 16, 8), (16, 32, 8)]


@pytest.mark.parametrize(("rows", "depth", "bits"), shapes())
def test_every_operand_is_held_once(rows, depth, bits):
    for table in (operand_a(depth, bits, rows), operand_b(depth, bits), accumulator(rows)):
        assert sorted(table.order.tolist()) == list(range(32 * table.values))


def test_a_warp_has_sixteen_rows_of_a_warpgroup():
    for columns in (8, 24, 256):
        order = accumulator(16, columns).order.reshape(16, columns)
        fragment = fragments.wgmma_c(columns)
        for thread in range(0, 128, 5):
            for value in range(0, columns // 2, 3):
                row, column = fragment(thread, value)
                lane_value = order[row % 16, column]
                assert row // 16 == thread // 32
                assert divmod(lane_value, columns // 2) == (thread % 32, value)
