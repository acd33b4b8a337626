"""Which operands are copied to shared memory, how much of them, and where."""

import pytest

from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Get, Var, convert
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.row_copies import RowCopies, along_rows, is_of_row, stage_bytes
from hidet.schedules.automatic.cuda.shared_memory_rows import is_deep
from hidet.types import f16, f32, i32

N, K, SLOT = Var("n", i32), Var("k", i32), Var("slot", i32)
X = Get(Var("x", f16[9, 4096]), (N, K))
W, B = (Get(Var(name, f16[4096]), (K,)) for name in "wb")


def copies(*operands, stages=4, lanes=8, threads=256):
    return RowCopies("copied", operands, stages, lanes, threads)


def test_what_differs_along_the_row():
    per_row, strided = Get(Var("s", f32[9]), (N,)), Get(Var("t", f32[8192]), (K * 2,))
    wide = convert(X, f32)
    found = along_rows([wide * per_row, wide * convert(W, f32) + convert(B, f32) * strided], K)
    assert found == [X, W, B]
    assert [is_of_row(read, (N,)) for read in found] == [True, False, False]


def test_bytes_of_all_threads_and_operands():
    found = copies(X, W)
    assert stage_bytes(found.arrays, 8, 256) == 2 * 256 * 8 * 2
    assert found.nbytes == 4 * 2 * 256 * 8 * 2
    assert len(found.begin(0, SLOT, {})) == 2


@pytest.mark.parametrize(
    ("stages", "lanes", "deep"), [(4, 8, True), (3, 8, True), (2, 8, False), (4, 1, False)]
)
def test_half_a_row_is_in_flight_by_copies_wide_enough(stages, lanes, deep):
    assert is_deep(copies(X, stages=stages, lanes=lanes), stages_per_row=2) == deep


def test_stages_follow_each_other_and_threads_are_side_by_side():
    found, first = copies(X, stages=3), Var("first", i32)
    places = [
        evaluate(found.index(first, SLOT), {first: 3, SLOT: s, THREAD: t})
        for s in (8, 9)
        for t in (0, 5)
    ]
    assert places == [2048, 2048 + 5 * 8, 2049, 2049 + 5 * 8]  # stage 4 is where stage 1 was


def test_a_thread_has_elements_of_its_own():
    found = copies(W, stages=2)
    places = {
        evaluate(found.index(0, SLOT), {SLOT: s, THREAD: t}) for s in range(16) for t in range(256)
    }
    assert places == set(range(16 * 256))
