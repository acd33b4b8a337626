"""Which steps wait for which, and which of them may begin early."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.runtime.binding.bound import SHORT, bind
from hidet.runtime.binding.order import ancestors, dependencies, reduced
from hidet.runtime.devices.view import View
from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.runtime.plans.plan import Host, Plan

from .conftest import buffer, diamond, hosted, launch


def test_steps_wait_for_what_they_read():
    assert dependencies(diamond().steps) == [set(), {0}, {0}, {1, 2}]


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        (((), (0,)), ((0,), (1,)), {0}),  # read after write
        (((0,), (1,)), ((), (0,)), {0}),  # write after read
        (((), (0,)), ((), (0,)), {0}),  # write after write
        (((0,), (1,)), ((0,), (2,)), set()),  # two readers
    ],
)
def test_hazards_order_two_steps(first, second, waits):
    assert dependencies((Host("a", *first), Host("b", *second))) == [set(), waits]


def test_a_writer_waits_for_all_readers_since_the_last_writer():
    steps = (Host("w", (), (0,)), Host("r", (0,), ()), Host("r", (0,), ()), Host("w", (), (0,)))
    assert dependencies(steps)[3] == {0, 1, 2}


def test_who_writes_parts_does_not_wait_for_others_and_who_reads_the_whole_waits_for_all():
    steps = (
        *(Host("w", (0,), (part,)) for part in (2, 3, 4)),
        Host("r", (1,), (5,)),
        Host("u", (1,), (1,)),
        Host("r", (1,), (6,)),
    )
    found = dependencies(steps, {2: 1, 3: 1, 4: 1})
    assert found[:4] == [set(), set(), set(), {0, 1, 2}]
    assert reduced(found)[4:] == [{3}, {4}]


def test_a_step_waits_only_for_those_that_no_other_waits_for():
    assert reduced([set(), {0}, {0, 1}, {0, 2}]) == [set(), {0}, {1}, {2}]
    assert reduced([set(), {0}, {0}, {0, 1, 2}]) == [set(), {0}, {0}, {1, 2}]


@settings(max_examples=200)
@given(st.lists(st.sets(st.integers(0, 30)), max_size=12))
def test_the_order_stays_the_same(drawn):
    waits = [{each for each in needs if each < number} for number, needs in enumerate(drawn)]
    fewer = reduced(waits)
    assert ancestors(fewer) == ancestors(waits)
    assert all(few <= needs for few, needs in zip(fewer, waits, strict=True))


def overlapping(plan, waiting, n=SHORT):
    """The steps that may begin early, if the kernels of the steps `waiting` wait themselves."""
    steps = [
        replace(step, waits=True) if number in waiting else step
        for number, step in enumerate(plan.steps)
    ]
    bound = bind(replace(plan, steps=tuple(steps)), [View(0, (n,), "float32", "cpu")])
    return [number for number in range(len(steps)) if bound.overlaps(number)]


def test_launches_that_wait_themselves_begin_before_the_one_they_wait_for_has_ended():
    assert overlapping(diamond(), ()) == []
    assert overlapping(diamond(), (1, 2)) == [1, 2]
    assert overlapping(diamond(), (0, 1, 2, 3)) == [1, 2]  # the first waits for none, 3 for two
    assert overlapping(diamond(), (0, 1, 2, 3), n=8) == [1, 2, 3]  # short: one after the other


def chain(signalling, *, known=(0, 1, 2), placed=False, ahead=()):
    """Three kernels after one another that wait themselves: those that begin early, if some signal,
    it is known of some where their blocks go, and perhaps the second one's result takes the place
    of its operand, or the third reads something ahead of its wait."""
    roles = ("input", "workspace", "workspace", "output")
    buffers = tuple(buffer(f"b{i}", role, 64) for i, role in enumerate(roles))
    steps = [
        launch(
            *("f", [n, *(ahead if n == 2 else ())], [n + 1]),
            waits=True,
            signals=n in signalling,
            in_place=pairs,
            room=OccupancyLimit(132, 233472, 8, 1024) if n in known else None,
            ahead=tuple(ahead) if n == 2 else (),
        )
        for n, pairs in enumerate(((), ((2, 1),) if placed else (), ()))
    ]
    bound = bind(Plan("cpu", buffers, tuple(steps), (0,), (3,)), [View(0, (64,), "float32", "cpu")])
    return [number for number in range(3) if bound.overlaps(number)]


def test_after_a_kernel_that_signals_only_those_that_lie_evenly_begin_early():
    assert chain((), known=()) == [1, 2]
    assert chain((0,), known=()) == [2]
    assert chain((0, 1), known=(0, 1)) == [1]
    assert chain((0, 1)) == [1, 2]


def test_what_lies_in_the_place_of_an_operand_is_read_as_early():
    assert chain((), placed=True) == [1, 2]
    assert chain((0, 1, 2), placed=True) == [1, 2]


@pytest.mark.parametrize("signalling", [(), (0, 1, 2)])
def test_what_the_kernel_before_writes_is_not_read_ahead(signalling):
    """What one further before writes is there: that one has waited for it."""
    assert chain(signalling, ahead=(2,)) == [1]
    assert chain(signalling, ahead=(1,)) == [1, 2]
    assert chain(signalling, ahead=(0,)) == [1, 2]
    assert chain(signalling, ahead=(1, 2)) == [1]


def test_nothing_begins_before_a_region_of_the_framework_has_ended():
    assert overlapping(hosted(), (0, 2)) == []
