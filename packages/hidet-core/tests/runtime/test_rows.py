"""Arrays in any order of strides, copied into rows by a compiled model's team and by numpy."""

import numpy as np
import pytest

from hidet import ops, symbol, trace_from
from hidet.runtime import rows
from hidet.runtime.rows import in_rows, merged
from hidet.runtime.team import rows_copier

TYPES = ["int8", "float16", "float32", "float64", "complex128", "bool"]


@pytest.fixture(scope="module", autouse=True)
def team():
    """A graph with a parallel loop, whose binaries bring the team."""
    x = symbol((96, 96), name="x")
    trace_from(ops.matmul(x, x), [x]).build()(np.ones((96, 96), np.float32))
    assert rows_copier() is not None


@pytest.fixture(autouse=True)
def by_tiles(monkeypatch):
    """Small arrays go the way of large ones here."""
    monkeypatch.setattr(rows, "SMALL", 1)


def check(array, threads=1):
    found = in_rows(array, lambda: threads)
    assert found.flags.c_contiguous
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    return found


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (129, 131), (16, 32), (1009, 17), (8, 2053)])
def test_a_transposed_matrix(shape, kind, threads):
    values = np.random.default_rng(0).integers(0, 100, shape).astype(kind)
    check(values[:, ::-1].T, threads)


@pytest.mark.parametrize("seed", range(40))
def test_any_order_of_any_axes(seed):
    random = np.random.default_rng(seed)
    rank = random.integers(1, 6)
    values = random.integers(0, 100, random.integers(1, 40 if rank < 4 else 14, rank))
    values = values.astype(TYPES[seed % len(TYPES)]).transpose(random.permutation(rank))
    steps = random.choice([1, 1, 2, -1, -3], rank)
    check(values[tuple(slice(None, None, int(step)) for step in steps)])


def test_what_is_in_rows_is_not_copied():
    values = np.ones((3, 5), np.float32)
    assert in_rows(values) is values


@pytest.mark.parametrize(
    "array",
    [
        np.broadcast_to(np.arange(50.0), (70, 50)),
        np.broadcast_to(np.arange(50.0)[:, None], (50, 70)),
        np.zeros((9, 0, 11)).T,
        np.zeros((9, 11), dtype=[("a", "i1"), ("b", "<f4")])["b"].T,
        np.zeros((1,) * 20 + (9,) + (1,) * 20 + (11,)).T,
        np.zeros((2,) * 20).T,
    ],
    ids=["rows again", "columns again", "empty", "fields of records", "ones", "twenty axes"],
)
def test_arrays_of_other_kinds(array):
    check(array)


def test_tiles_copy_what_they_are_for(monkeypatch):
    seen = []

    def copier(*given):
        seen.append(given[2:5])
        return rows_copier()(*given)

    monkeypatch.setattr(rows, "rows_copier", lambda: copier)
    with monkeypatch.context() as patch:
        patch.setattr(rows, "SMALL", 1 << 16)
        check(np.zeros((64, 30), np.float32).T)  # numpy is faster with so few
    assert seen == []
    check(np.zeros((64, 30), np.float32).T)  # as a matrix from channels last to channels first
    check(np.zeros((2, 9, 5, 64), np.float16).transpose(0, 3, 1, 2))
    check(np.zeros((30, 64), np.float32)[:, ::2])  # neighbours stay neighbours: numpy is as fast
    check(np.zeros((5, 7, 3), np.float32).transpose(2, 0, 1))  # few are neighbours
    assert seen == [(4, 2, 0), (2, 3, 1)]


def test_without_a_team_numpy_copies(monkeypatch):
    monkeypatch.setattr(rows, "rows_copier", lambda: None)
    check(np.arange(640.0).reshape(64, 10).T)


def test_axes_that_go_on_are_one():
    assert merged([(4, 60), (5, 12), (1, 99), (12, 1)]) == [(240, 1)]
    assert merged([(4, 1), (5, 12), (3, 4)]) == [(4, 1), (15, 4)]
    assert merged([(4, 0), (5, 0)]) == [(20, 0)]
