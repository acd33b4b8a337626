"""Layouts as functions: every law is checked at every index."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hidet.errors import BadArgument
from hidet.mapping import (
    Layout,
    column_major,
    complement,
    compose,
    divide,
    left_inverse,
    product,
    right_inverse,
    row_major,
)

LAWS = settings(max_examples=150)


def table(layout):
    return [layout(index) for index in range(layout.size)]


@st.composite
def layouts(draw):
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    steps = [draw(st.integers(0, 12)) for _ in extents]
    if len(extents) == 3 and draw(st.booleans()):
        nested = Layout((extents[0], tuple(extents[1:])), (steps[0], tuple(steps[1:])))
        return nested
    return Layout(tuple(extents), tuple(steps))


@st.composite
def packed(draw):
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3))
    return column_major(*extents).permute(*draw(st.permutations(range(len(extents)))))


def test_calling_on_coordinates_and_on_an_index():
    layout = row_major(2, 3)
    assert (layout(1, 2), layout((1, 2)), layout(3)) == (5, 5, 4)
    nested = Layout((2, (2, 2)), (1, (4, 2)))
    assert nested(1, (1, 1)) == nested(1, 3) == 7
    assert (nested.size, nested.cosize, nested.rank, str(nested)) == (
        8,
        8,
        2,
        "(2, (2, 2)):(1, (4, 2))",
    )
    assert Layout((4,), (2,))(3) == 6


@LAWS
@given(layouts())
def test_coalescing_keeps_the_function(layout):
    assert table(layout.coalesce()) == table(layout)
    assert layout.cosize == max(table(layout)) + 1
    assert layout.is_injective() == (len(set(table(layout))) == layout.size)


@LAWS
@given(packed(), layouts())
def test_composition_is_composition_of_functions(outer, inner):
    assume(inner.cosize <= outer.size)
    try:
        both = compose(outer, inner)
    except BadArgument:
        assume(False)
    assert table(both) == [outer(offset) for offset in table(inner)]
    assert both.rank == inner.rank


def test_composition_by_hand():
    assert compose(row_major(4, 8), Layout((2, 2), (1, 16))) == Layout((2, 2), (8, 4))
    with pytest.raises(BadArgument, match="beyond"):
        compose(Layout(4, 1), Layout(4, 2))
    with pytest.raises(BadArgument, match="divide"):
        compose(Layout((4, 6), (6, 1)), Layout(3, 2))


@LAWS
@given(packed(), st.sampled_from([1, 2, 3]), st.integers(1, 3))
def test_a_complement_reaches_the_rest_once(layout, step, times):
    spread = Layout(layout.shape, tuple(step * d for d in layout.stride))
    size = spread.size * step * times
    rest = complement(spread, size)
    reached = sorted(a + b for a in table(spread) for b in table(rest))
    assert reached == list(range(size))


@LAWS
@given(packed(), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]))
def test_division_cuts_into_tiles(layout, extent, stride):
    tile = Layout(extent, stride)
    assume(layout.size % (extent * stride) == 0)
    try:
        tiled = divide(layout, tile)
    except BadArgument:
        assume(False)
    assert sorted(table(tiled)) == sorted(table(layout))
    assert [tiled(i, 0) for i in range(extent)] == [layout(tile(i)) for i in range(extent)]


def test_a_product_repeats_the_block():
    repeated = product(Layout((2, 2), (1, 2)), Layout(3, 1))
    assert table(repeated) == list(range(12))
    assert repeated.rank == 2
    spread = product(Layout(2, 4), Layout(4, 1))
    assert sorted(table(spread)) == list(range(8))
    assert [spread(i, 0) for i in range(2)] == [0, 4]


@LAWS
@given(layouts())
def test_a_right_inverse_finds_the_index(layout):
    inverse = right_inverse(layout)
    assert [layout(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size))


@LAWS
@given(packed(), st.sampled_from([1, 2, 5]))
def test_a_left_inverse_undoes_the_layout(layout, step):
    assert right_inverse(layout).size == layout.size
    spread = Layout(layout.shape, tuple(step * d for d in layout.stride))
    inverse = left_inverse(spread)
    assert [inverse(offset) for offset in table(spread)] == list(range(spread.size))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Layout((2, 2), (1,)),
        lambda: Layout((0,), (1,)),
        lambda: row_major(2, 2)(1, 2, 3),
        lambda: row_major(2, 2).permute(0, 0),
        lambda: left_inverse(Layout(4, 0)),
        lambda: complement(Layout((2, 2), (1, 1)), 8),
        lambda: divide(row_major(3, 3), Layout(2, 1)),
    ],
)
def test_what_has_no_answer_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()
