import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import InternalError
from hidet.ir.order import producers_first


def test_producers_come_in_their_order_and_once():
    needs = {"y": ["b", "a"], "z": ["a"], "b": ["x"], "a": ["x"], "x": [], "other": []}
    assert producers_first(["z", "y", "z"], needs.__getitem__) == ["x", "a", "z", "b", "y"]


def test_what_needs_itself_is_an_error():
    needs = {"x": ["y"], "y": ["x"]}
    with pytest.raises(InternalError, match="made of itself"):
        producers_first(["x"], needs.__getitem__)


def test_long_chains_need_no_stack():
    length = 20_000
    found = producers_first([length], lambda n: [n - 1] if n else [])
    assert found == list(range(length + 1))


@settings(max_examples=50)
@given(st.lists(st.sets(st.integers(0, 19)), min_size=20, max_size=20))
def test_everything_is_behind_what_it_needs(edges):
    needs = [sorted(n for n in edge if n < number) for number, edge in enumerate(edges)]
    found = producers_first([19, 10, 0], needs.__getitem__)
    place = {number: at for at, number in enumerate(found)}
    assert len(place) == len(found)
    assert {19, 10, 0} <= set(found)
    assert all(place[each] < place[number] for number in found for each in needs[number])
