import pytest

from hidet.errors import BadArgument
from hidet.mapping import bank_conflicts, is_partition, predicated, project, row_major, spatial


def test_a_projection_is_no_partition():
    assert not is_partition(project(spatial(2, 2), {0: 0}))
    assert is_partition(predicated(spatial(8), shape=(5,)))


@pytest.mark.parametrize(("stride", "extra"), [(1, 0), (2, 1), (32, 31), (33, 0), (0, 0)])
def test_words_at_a_stride(stride, extra):
    assert bank_conflicts([4 * stride * lane for lane in range(32)], 4) == extra


def test_wide_accesses_go_in_parts_of_a_warp():
    assert bank_conflicts([16 * lane for lane in range(32)], 16) == 0
    column = [2 * row_major(8, 64)(lane % 8, 0) for lane in range(8)]
    assert bank_conflicts(column, 16) == 7
    assert bank_conflicts([0, None, 128], 4) == 1
    with pytest.raises(BadArgument):
        bank_conflicts([0], 3)
