"""What is worth a register from one pass over a row to the next."""

import pytest

from hidet.ir.expr import Get, Math, Var, convert
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.types import f16, f32, i32

X = Var("x", f16[64])
K, MOST, TOTAL = Var("k", i32), Var("most", f32), Var("total", f32)
READ = Get(X, (K,))
WIDE = convert(READ, f32)
POWER = Math("exp", (WIDE - MOST,), f32)
SLOT = Var("slot", i32)


def resident(*passes, slots=8, nbytes=256):
    return Resident(passes, (K,), slots, nbytes)


def test_reads_and_powers_of_a_softmax():
    found = resident(WIDE, POWER, POWER / TOTAL)
    assert list(found.arrays) == [READ, POWER]
    assert [found.since[e] for e in found.arrays] == [0, 1]
    assert [len(found.stores(number, SLOT)) for number in range(3)] == [1, 1, 0]
    assert not list_of_reads(found.value(2, SLOT))


def list_of_reads(e):
    return (
        [e] if isinstance(e, Get) else [r for child in e.children() for r in list_of_reads(child)]
    )


def test_what_is_cheap_is_computed_again():
    centred = WIDE - MOST
    assert list(resident(WIDE, centred * centred, centred * TOTAL).arrays) == [READ]


@pytest.mark.parametrize(("nbytes", "count"), [(0, 0), (16, 1), (47, 1), (48, 2)])
def test_no_more_registers_than_there_are(nbytes, count):
    assert len(resident(WIDE, POWER, POWER / TOTAL, nbytes=nbytes).arrays) == count


def test_functions_of_the_whole_row_are_not_resident():
    root = Math("rsqrt", (MOST,), f32)
    assert list(resident(root * WIDE, root * WIDE + TOTAL).arrays) == [READ]


def test_what_one_pass_needs_is_not_resident():
    assert not resident(WIDE, MOST + TOTAL).arrays


def test_a_sum_of_two_operands_is_resident_as_one():
    added = convert(READ, f32) + convert(Get(Var("y", f16[64]), (K,)), f32)
    rounded = convert(added, f16)
    wide = convert(rounded, f32)
    assert list(resident(wide * wide, wide * TOTAL).arrays) == [rounded]


def test_operands_of_the_last_pass_are_prefetched_while_registers_last():
    weights, shifts = (Get(Var(name, f32[64]), (K,)) for name in ("w", "b"))
    found = resident(WIDE * WIDE, WIDE * TOTAL * weights + shifts)
    assert list(found.arrays) == [READ]
    found.prefetch_operands(registers=23)
    assert found.prefetched == [weights]
    assert [len(found.stores(number, SLOT)) for number in range(2)] == [2, 0]
    assert list_of_reads(found.value(1, SLOT)) == [shifts]


def test_what_is_still_read_is_held():
    y = Get(Var("y", f16[64]), (K,))
    found = resident(WIDE, POWER, POWER / TOTAL * convert(y, f32))
    assert found.reads() == [y]
    found.hold(y)
    assert found.reads() == []
    assert [len(found.stores(number, SLOT)) for number in range(3)] == [2, 1, 0]


def test_registers_that_are_needed_at_once():
    assert (
        resident(WIDE, POWER, POWER / TOTAL).most_at_once() == 8
    )  # powers take the place of elements
    assert resident(WIDE, POWER, WIDE * POWER / TOTAL).most_at_once() == 16


def test_values_that_are_there_already():
    found, there = resident(WIDE, WIDE * TOTAL), Var("there", f16)
    (store,) = found.stores(0, SLOT, {READ: there})
    assert store.value is there
