"""Neighbours as accesses of as many of them as are aligned."""

from hidet.schedules.accesses import accesses


def test_borders_of_a_window_are_apart():
    assert accesses(-1, 9, 8) == [(-1, 1), (0, 8), (8, 1)]
    assert accesses(-2, 6, 4) == [(-2, 2), (0, 4), (4, 2)]
    assert accesses(-3, 6, 1) == [(n, 1) for n in range(-3, 6)]
    assert accesses(5, 5, 4) == []


def test_runs_are_aligned_and_follow_each_other():
    for lanes in (1, 2, 4, 8, 16):
        for start in range(-9, 9):
            for stop in range(start, 30):
                found = accesses(start, stop, lanes)
                assert [n for at, width in found for n in range(at, at + width)] == list(
                    range(start, stop)
                )
                assert all(at % width == 0 and lanes % width == 0 for at, width in found)
