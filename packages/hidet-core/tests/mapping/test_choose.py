import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArgument
from hidet.mapping import Predicated, auto_map, is_partition


@settings(max_examples=80)
@given(
    st.lists(st.integers(1, 13), min_size=1, max_size=3),
    st.integers(1, 32),
    st.sampled_from([1, 2, 4]),
    st.data(),
)
def test_every_task_once_by_exactly_these_workers(shape, workers, vector, data):
    order = data.draw(st.permutations(range(len(shape))))
    mapping = auto_map(*shape, workers=workers, vector=vector, order=order)
    assert mapping.shape == tuple(shape)
    assert mapping.workers == workers
    assert is_partition(mapping)


def test_neighbours_take_neighbouring_vectors():
    mapping = auto_map(8, 16, workers=16, vector=4)
    assert str(mapping) == "repeat(2, 1) * spatial(4, 4) * repeat(1, 4)"
    assert list(mapping.tasks(1))[:4] == [(0, 4), (0, 5), (0, 6), (0, 7)]
    column = auto_map(8, 16, workers=16, vector=4, order=(1, 0))
    assert list(column.tasks(1))[:4] == [(4, 0), (5, 0), (6, 0), (7, 0)]


def test_an_exact_mapping_has_no_predicate():
    assert not isinstance(auto_map(6, 16, workers=32), Predicated)
    assert isinstance(auto_map(3, 48, workers=32), Predicated)


def test_workers_that_divide_the_groups_all_work():
    """Three columns of two: as many as fit in a row of four would leave two workers idle."""
    mapping = auto_map(3, 8, workers=6, vector=2)
    assert not isinstance(mapping, Predicated)
    assert str(mapping) == "repeat(1, 2) * spatial(3, 2) * repeat(1, 2)"


def test_no_dimension_is_one_task():
    assert list(auto_map(workers=2).tasks(0)) == [()]
    assert list(auto_map(workers=2).tasks(1)) == []


def test_without_predicates_the_nearest_counts_are_named():
    with pytest.raises(BadArgument, match="use 24 or 36 workers"):
        auto_map(3, 48, workers=32, predicate=False)
    with pytest.raises(BadArgument, match="use vector=2"):
        auto_map(3, 6, workers=3, vector=4, predicate=False)
    with pytest.raises(BadArgument):
        auto_map(4, workers=0)
