from dataclasses import replace

import numpy as np
import pytest

from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.runtime import Plan
from hidet.runtime.binding.bound import FEW, SHORT, bind
from hidet.runtime.binding.memory import view_of

from .conftest import buffer, diamond, joined, launch


def given(*shape, dtype=np.float32):
    return view_of(np.zeros(shape, dtype))


def two_inputs(second):
    return Plan(
        "cpu",
        (buffer("x", "input", "n", "m"), buffer("w", "input", *second), buffer("y", "output", "n")),
        (launch("f", [0, 1], [2], ["+", "n", "m"], grid=("n", ["//", "m", 2], 1)),),
        (0, 1),
        (2,),
        {"n": (0, 0), "m": (0, 1)},
    )


def test_sizes_become_numbers():
    bound = bind(two_inputs(("m",)), [given(3, 8), given(8)])
    assert bound.shapes == ((3, 8), (8,), (3,))
    (step,) = bound.steps
    assert step.grid == (3, 4, 1)
    assert step.args[-1].value == 11


def test_inputs_that_disagree_are_named():
    with pytest.raises(ShapeMismatch, match=r"input w is float32\[7\]; the graph takes float32\[m"):
        bind(two_inputs(("m",)), [given(3, 8), given(7)])


def test_an_expression_is_spelled_as_a_person_writes_it():
    with pytest.raises(ShapeMismatch, match=r"float32\[\(n - max\(m, 2\)\)\], here \[1\]"):
        bind(two_inputs((["-", "n", ["max", "m", 2]],)), [given(9, 8), given(7)])


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ShapeMismatch, match="w cannot have the shape"):
        bind(two_inputs((["-", "n", "m"],)), [given(3, 8), given(7)])
    with pytest.raises(ShapeMismatch, match="w cannot have the shape"):
        bind(two_inputs((["//", "m", "n"],)), [given(0, 8), given(7)])


def test_number_rank_and_type_of_inputs_are_checked():
    with pytest.raises(ShapeMismatch, match="2 inputs for a graph of 1"):
        bind(diamond(), [given(3), given(3)])
    with pytest.raises(ShapeMismatch, match="0 inputs for a graph of 1") as none:
        bind(diamond(), [])
    assert none.value.help == "it takes x float32[n]"
    with pytest.raises(ShapeMismatch, match=r"input x is float32\[3, 3\]"):
        bind(diamond(), [given(3, 3)])
    with pytest.raises(DtypeMismatch, match=r"input x is float64\[3\]; the graph takes float32"):
        bind(diamond(), [given(3, dtype=np.float64)])


def test_empty_grids_are_skipped_and_waited_for_by_nobody():
    plan = diamond(grid=("n", 1, 1))
    empty = replace(plan.steps[1], grid=(0, 1, 1))
    plan = replace(plan, steps=(plan.steps[0], empty, *plan.steps[2:]))
    bound = bind(plan, [given(5)])
    assert [step.function for step in bound.steps] == ["twice", "shift", "add"]
    assert bound.waits == (frozenset(), {0}, {1})


def test_the_arena_holds_workspaces_only():
    bound = bind(diamond(), [given(100)])
    assert set(bound.arena.offsets) == {1, 2, 3}
    assert bound.nbytes(1) == 400


def test_who_writes_a_part_writes_the_whole():
    bound = bind(joined(), [given(SHORT)])
    assert [step.writes for step in bound.steps] == [(1,), (1,), (4,)]
    assert bound.steps[1].args[1].buffer == 1
    assert [set(each) for each in bound.waits] == [set(), set(), {0, 1}]
    assert set(bound.arena.offsets) == {1}
    assert bound.arena.nbytes == 8 * SHORT


def apart(count, n):
    """`count` launches of two buffers of `n` elements each, that nothing connects."""
    names = [("x", "input"), *((f"y{i}", "output") for i in range(count))]
    buffers = tuple(buffer(name, role, n) for name, role in names)
    steps = tuple(launch("f", [0], [i + 1], n) for i in range(count))
    return Plan("cuda", buffers, steps, (0,), tuple(range(1, count + 1)))


@pytest.mark.parametrize(
    ("count", "n", "serial"),
    [
        (FEW, SHORT // 8, True),
        (FEW, SHORT // 8 + 1, False),
        (FEW + 1, SHORT // 8, False),
        (1, 5, True),
    ],
)
def test_a_few_short_launches_come_one_after_the_other(count, n, serial):
    waits = bind(apart(count, n), [given(n)]).waits
    assert waits[0] == frozenset()
    assert waits[1:] == tuple(frozenset({i} if serial else ()) for i in range(count - 1))


def test_the_results_have_shapes_and_types():
    plan = apart(2, 5)
    buffers = [*plan.buffers[:2], replace(plan.buffers[2], dtype="float16", shape=(1, 5))]
    bound = bind(replace(plan, buffers=tuple(buffers)), [given(5)])
    assert bound.results == [((5,), "float32"), ((1, 5), "float16")]


def test_a_whole_lives_from_its_first_part_on():
    plan = joined()
    early = replace(plan.steps[0], reads=(5,), writes=(2,))
    first = launch("twice", [0], [5], "n")
    late = launch("twice", [5], [3], "n")
    buffers = (*plan.buffers, buffer("t", "workspace", "n"))
    long = replace(plan, buffers=buffers, steps=(first, early, late, plan.steps[2]))
    offsets = bind(long, [given(100)]).arena.offsets
    assert abs(offsets[1] - offsets[5]) >= 400
