"""Operands that are the same for all rows of a block."""

from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Get, Var, convert
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.row_invariant import RowInvariant
from hidet.types import f16, f32, i8, i32

N, K = Var("n", i32), Var("k", i32)
X = Get(Var("x", f32[9, 4096]), (N, K))
W, B = (Get(Var(name, f16[4096]), (K,)) for name in "wb")


def invariant(*passes, slots=16, lanes=8, threads=256):
    return RowInvariant(passes, ((N,), (K,)), slots, lanes, threads)


def test_what_differs_along_the_row_alone():
    per_row, strided = Get(Var("s", f32[9]), (N,)), Get(Var("t", f32[8192]), (K * 2,))
    found = invariant(X * per_row, X * convert(W, f32) + convert(B, f32) * strided)
    assert list(found.arrays) == [W, B]
    assert found.nbytes == 2 * 16 * 256 * 2


def test_copies_have_four_bytes():
    narrow = Get(Var("c", i8[4096]), (K,))
    assert list(invariant(convert(narrow, f32) * X, lanes=2).arrays) == []
    assert list(invariant(convert(narrow, f32) * X, lanes=4).arrays) == [narrow]


def test_a_thread_has_elements_of_its_own():
    found, slot = invariant(convert(W, f32)), Var("slot", i32)
    places = {
        evaluate(found.index(slot), {slot: s, THREAD: t}) for s in range(16) for t in range(256)
    }
    assert places == set(range(16 * 256))
    assert len(found.begin(slot)) == 1
