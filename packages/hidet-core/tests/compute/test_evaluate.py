import numpy as np
import pytest

from hidet.compute import (
    Definition,
    Input,
    arg_reduce,
    evaluate,
    grid,
    reduce,
    scan,
    scatter,
    select,
)
from hidet.errors import InternalError, ShapeMismatch
from hidet.ir.expr import Var
from hidet.types import f16, f32, i32, i64

x = Input("x", f32[3, 4])
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(grid_, *arrays):
    operands = tuple(each for each in (x,) if arrays)
    return evaluate(Definition(operands, (grid_,)), *arrays)[0]


def test_a_matrix_product():
    b = Input("b", f32[4, 2])
    product = grid((3, 2), lambda i, j: reduce(4, lambda r: x[i, r] * b[r, j], "sum"))
    other = VALUES.T[:, :2].copy()
    found = evaluate(Definition((x, b), (product,)), VALUES, other)[0]
    np.testing.assert_array_equal(found, VALUES @ other)


def test_reductions_inside_reductions():
    total = grid((), lambda: reduce(3, lambda i: reduce(4, lambda j: x[i, j], "max"), "sum"))
    assert run(total, VALUES) == 3 + 7 + 11


def test_the_first_of_equals_and_nan_win_the_argument():
    one = Input("one", f32[4])
    where = grid((), lambda: arg_reduce(4, lambda r: one[r], "max"))
    definition = Definition((one,), (where,))
    assert evaluate(definition, np.float32([1, 3, 3, 2]))[0] == 1
    assert evaluate(definition, np.float32([1, 3, np.nan, np.nan]))[0] == 2
    assert where.dtype is i64


@pytest.mark.parametrize(
    ("how", "identity"), [("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)]
)
def test_of_nothing_a_reduction_is_its_identity(how, identity):
    none = Input("none", f32[0])
    value = grid((), lambda: reduce(0, lambda r: none[r], how))
    assert evaluate(Definition((none,), (value,)), np.zeros(0, np.float32))[0] == identity


def test_the_branch_not_chosen_may_read_outside():
    shifted = grid((3, 4), lambda i, j: select(j >= 1, x[i, j - 1], 0.0))
    np.testing.assert_array_equal(run(shifted, VALUES)[:, 1:], VALUES[:, :-1])


def test_reading_outside_is_an_error():
    with pytest.raises(InternalError, match="reads outside"):
        run(grid((3, 4), lambda i, j: x[i, j + 1]), VALUES)
    guarded = grid((3, 4), lambda i, j: select((j < 3) & (x[i, j + 1] > 0.0), 1, 2))
    assert run(guarded, VALUES)[0, 3] == 2


def test_values_are_rounded_to_their_type():
    narrow = x.cast(f16) + 2048.0
    assert run(narrow, VALUES)[0, 1] == np.float16(2048)
    assert run(x.cast(i32) // 5 % 2, VALUES).dtype == np.int32


def test_scans_accumulate_along_an_axis():
    np.testing.assert_array_equal(run(scan(x, 0, "sum"), VALUES), VALUES.cumsum(0))
    np.testing.assert_array_equal(run(scan(x, -1, "max"), VALUES), VALUES)


def test_the_last_update_wins_and_those_outside_are_dropped():
    index = Input("index", i64[4])
    base = grid((3,), lambda i: 0)
    last = scatter(base, (4,), lambda u: (index[u],), lambda u: u + 1, "set_last")
    sums = scatter(base, (4,), lambda u: (index[u],), lambda u: u + 1, "add")
    found = evaluate(Definition((index,), (last, sums)), np.array([1, 1, 5, -1]))
    assert found[0].tolist() == [0, 2, 0]
    assert found[1].tolist() == [0, 3, 0]


def test_symbols_come_from_the_operands():
    n = Var("n", i32)
    wide = Input("wide", f32[n, 2])
    mean = wide.mean((0,))
    found = evaluate(Definition((wide,), (mean,)), np.float32([[1, 2], [3, 4], [5, 6]]))[0]
    assert found.tolist() == [[3, 4]]


def test_wrong_operands_are_refused():
    with pytest.raises(ShapeMismatch, match="0 arrays for 1 operands"):
        evaluate(Definition((x,), (x,)))
    with pytest.raises(ShapeMismatch, match="got an array of shape"):
        evaluate(Definition((x,), (x,)), np.zeros(3, np.float32))
