"""Projection and predication: who shares, who idles, what is skipped."""

from dataclasses import dataclass

import pytest

from hidet.errors import BadArgument
from hidet.mapping import is_partition, overlaps, predicated, project, repeat, spatial


@dataclass(frozen=True)
class Symbol:
    """A stand-in for an expression: text."""

    text: str

    def __lt__(self, other):
        return Symbol(f"({self.text} < {other})")

    def __floordiv__(self, other):
        return Symbol(f"({self.text} // {other})")

    def __str__(self):
        return self.text


def test_projection_shares_the_tasks_of_a_dimension():
    row = project(spatial(2, 4), {1: 0})
    assert (row.shape, row.workers) == ((2, 1), 8)
    assert [row.single(w) for w in range(8)] == [(w // 4, 0) for w in range(8)]
    assert overlaps(row) == {(0, 0): [0, 1, 2, 3], (1, 0): [4, 5, 6, 7]}
    assert list((row * repeat(1, 2)).tasks(5)) == [(1, 0), (1, 1)]


def test_predicated_mappings_skip_workers_and_tasks():
    mapping = predicated(repeat(2, 1) * spatial(1, 4), workers=6, shape=(2, 3))
    assert is_partition(mapping)
    assert [list(mapping.tasks(w)) for w in (0, 3, 5)] == [[(0, 0), (1, 0)], [], []]
    assert str(mapping.active(Symbol("t"))) == "(t < 4)"
    assert str(mapping.inside((Symbol("i"), Symbol("j")))) == "(j < 3)"
    with pytest.raises(BadArgument, match="loops"):
        list(mapping.tasks(Symbol("t")))
    plain = spatial(4)
    assert predicated(plain, workers=4, shape=(4,)) is plain
    assert plain.active(Symbol("t")) is plain.inside((Symbol("i"),)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: project(spatial(2), {0: 1}),
        lambda: project(spatial(2), {1: 0}),
        lambda: predicated(spatial(8), workers=4),
        lambda: predicated(spatial(8), shape=(9,)),
        lambda: predicated(spatial(8), shape=(7,)) * repeat(2),
    ],
)
def test_what_cannot_be_held_back_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()
