"""The laws of task mappings, by enumeration and on expressions."""

from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArgument
from hidet.mapping import (
    TaskMapping,
    col_repeat,
    col_spatial,
    is_partition,
    overlaps,
    repeat,
    row_repeat,
    row_spatial,
    spatial,
)


@dataclass(frozen=True)
class Symbol:
    """A stand-in for an expression: text that can be evaluated later."""

    text: str

    def __add__(self, other):
        return Symbol(f"({self.text} + {other})")

    def __radd__(self, other):
        return Symbol(f"({other} + {self.text})")

    def __mul__(self, other):
        return Symbol(f"({self.text} * {other})")

    def __floordiv__(self, other):
        return Symbol(f"({self.text} // {other})")

    def __mod__(self, other):
        return Symbol(f"({self.text} % {other})")

    def __bool__(self):
        raise TypeError("an expression has no truth")

    def __str__(self):
        return self.text


@st.composite
def leaves(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    order = draw(st.permutations(range(2)))
    return draw(st.sampled_from([spatial, repeat]))(*shape, order=order)


@st.composite
def mappings(draw):
    parts = draw(st.lists(leaves(), min_size=1, max_size=3))
    result: TaskMapping = parts[0]
    for part in parts[1:]:
        result = result * part
    return result


LAWS = settings(max_examples=60)


@LAWS
@given(mappings())
def test_every_task_is_done_exactly_once(mapping):
    assert is_partition(mapping)
    assert overlaps(mapping) == {}
    counts = {len(list(mapping.tasks(worker))) for worker in range(mapping.workers)}
    assert counts == {mapping.tasks_per_worker}


@LAWS
@given(leaves(), leaves(), leaves())
def test_composition_is_associative_down_to_equality(a, b, c):
    assert (a * b) * c == a * (b * c)
    assert hash((a * b) * c) == hash(a * (b * c))


@LAWS
@given(leaves(), leaves())
def test_shapes_and_workers_multiply_and_tasks_nest(a, b):
    both = a * b
    assert both.shape == tuple(m * n for m, n in zip(a.shape, b.shape, strict=True))
    assert both.workers == a.workers * b.workers
    for worker in range(both.workers):
        outer, inner = divmod(worker, b.workers)
        nested = [
            tuple(o * n + i for o, n, i in zip(big, b.shape, small, strict=True))
            for big in a.tasks(outer)
            for small in b.tasks(inner)
        ]
        assert list(both.tasks(worker)) == nested


@LAWS
@given(mappings())
def test_expressions_agree_with_integers(mapping):
    symbolic = list(mapping.tasks(Symbol("worker")))
    for worker in range(mapping.workers):
        found = [tuple(eval(str(i), {"worker": worker}) for i in task) for task in symbolic]
        assert found == list(mapping.tasks(worker))


@LAWS
@given(mappings())
def test_loops_in_row_major_order_give_the_tasks(mapping):
    for worker in range(mapping.workers):
        extents, at = mapping.loops(worker)
        assert 1 not in extents
        assert [at(v) for v in product(*map(range, extents))] == list(mapping.tasks(worker))


def test_loops_keep_their_variables_symbolic():
    extents, at = (spatial(2, 4) * repeat(2, 1)).loops(Symbol("t"))
    assert extents == (2,)
    assert [str(i) for i in at([Symbol("r")])] == ["(((t // 4) * 2) + r)", "(t % 4)"]


def test_the_example_of_the_design():
    block = spatial(2, 4) * repeat(2, 1)
    assert (block.shape, block.workers) == ((4, 4), 8)
    assert list(block.tasks(5)) == list(block.on(5)) == [(2, 1), (3, 1)]
    assert block == spatial(2, 4).repeat(2, 1)
    assert str(block) == repr(block) == "spatial(2, 4) * repeat(2, 1)"


def test_order_says_which_dimension_varies_fastest():
    assert [row_spatial(2, 3).single(w) for w in range(3)] == [(0, 0), (0, 1), (0, 2)]
    assert [col_spatial(2, 3).single(w) for w in range(3)] == [(0, 0), (1, 0), (0, 1)]
    assert list(row_repeat(2, 2).tasks(0)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(col_repeat(2, 2).tasks(0)) == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert str(col_spatial(2, 3)) == "spatial(2, 3, order=(1, 0))"
    middle = spatial(2, 2, 2, order=(0, 2, 1))
    assert [middle.single(w) for w in range(3)] == [(0, 0, 0), (0, 1, 0), (0, 0, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: spatial(0, 2),
        lambda: spatial(2, 2, order=(0, 0)),
        lambda: spatial(2) * repeat(2, 2),
        lambda: repeat(2).single(0),
    ],
)
def test_what_makes_no_mapping_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()
