"""Which rows a pipeline holds, and where."""

import pytest

from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Get, Var, convert
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.cuda.row_pipeline import RowPipeline
from hidet.types import f16, f32, i32

N, K = Var("n", i32), Var("k", i32)
X, W = Var("x", f16[9, 4096]), Var("w", f16[4096])
READ = Get(X, (N, K))


def pipeline(*passes, stages_per_row=2, lanes=8, threads=256, shared_bytes=1 << 14):
    return RowPipeline(passes, ((N,), (K,)), stages_per_row, lanes, threads, shared_bytes)


def test_what_differs_from_row_to_row():
    found = pipeline(convert(READ, f32) * convert(Get(W, (K,)), f32), Get(X, (N, N)))
    assert list(found.arrays) == [READ]
    assert found.nbytes == 4 * 256 * 8 * 2  # two rows, though there is room for more


@pytest.mark.parametrize(
    ("shared_bytes", "lanes", "enough"),
    [(1 << 14, 8, True), (12288, 8, True), (12287, 8, False), (1 << 14, 1, False)],
)
def test_half_a_row_is_ahead_by_copies(shared_bytes, lanes, enough):
    assert pipeline(READ, shared_bytes=shared_bytes, lanes=lanes).worth_it == enough


def test_stages_follow_each_other_and_threads_are_side_by_side():
    found = pipeline(READ, shared_bytes=12288)
    number, slot = Var("number", i32), Var("slot", i32)
    places = [
        evaluate(found.index(number, slot), {number: n, slot: s, THREAD: t})
        for n in (3,)
        for s in (8, 9)
        for t in (0, 5)
    ]
    assert places == [2048, 2048 + 5 * 8, 2049, 2049 + 5 * 8]  # stage 4 is where stage 1 was
