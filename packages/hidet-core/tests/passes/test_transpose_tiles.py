"""Loops whose results lie along another axis than what they read, through transposed tiles."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Add, And, Less, LessEqual, Load, Maximum, Select, Sub, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.addresses.transpose_tiles import LEAST, SIDE, transpose_tiles
from hidet.passes.pipeline import lower
from hidet.types import Scope, TensorType, f16, f32, i32

ROW, COLUMN = Var("i", i32), Var("j", i32)
SIZES = [(8, 8), (16, 16), (17, 129), (31, 9), (14, 32), (37, 41), (64, 16)]


def kernel(params, body, rows, columns, kind=KernelKind.CPU):
    inner = For(COLUMN, wrap(columns), tuple(body), LoopKind.VECTOR)
    return Kernel("k", tuple(params), (For(ROW, wrap(rows), (inner,)),), kind)


def tensors(*shapes, of=f32):
    return [Var(name, of[shape]) for name, shape in zip("xyb", shapes, strict=False)]


def copy(rows, columns, of=f32):
    """The kernel that writes each row of x as a column of y."""
    x, y = tensors((rows, columns), (columns, rows), of=of)
    return kernel([x, y], [Store(y, (COLUMN, ROW), Load(x, (ROW, COLUMN)))], rows, columns)


def is_turned(made):
    return any(
        isinstance(each.var.of, TensorType) and each.var.of.scope is Scope.REGISTER
        for each in find(made.body, Declare)
    )


def same_as_before(before, *given):
    """Run both kernels on arrays, of which the second one is written; give the rewritten one."""
    after = transpose_tiles(before)
    results = []
    for each in (before, after, lower(before)):
        arrays = [array.copy() for array in given]
        sim.launch(each, *arrays)
        results.append(arrays[1])
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
    return after


def some(*shape, of=np.float32):
    return np.random.default_rng(0).integers(-99, 99, shape).astype(of)


@pytest.mark.parametrize("of", [f32, f16], ids=str)
@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_results_that_lie_along_the_outer_loop(rows, columns, of):
    kind = np.dtype(of.name)
    given = some(rows, columns, of=kind), some(columns, rows, of=kind)
    assert is_turned(same_as_before(copy(rows, columns, of), *given))


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_operands_that_lie_along_the_outer_loop(rows, columns):
    x, y, b = tensors((columns, rows), (rows, columns), (rows, columns))
    value = Add(Load(x, (COLUMN, ROW)), Load(b, (ROW, COLUMN)))
    made = kernel([x, y, b], [Store(y, (ROW, COLUMN), value)], rows, columns)
    given = some(columns, rows), some(rows, columns), some(rows, columns)
    assert is_turned(same_as_before(made, *given))


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_values_with_names_that_change_and_a_condition_on_the_store(rows, columns):
    x, y, b = tensors((rows, columns), (columns, rows), (columns,))
    value, at = Var("value", f32), Var("at", i32)
    body = [
        Declare(value, Load(x, (ROW, COLUMN))),
        Declare(at, COLUMN),
        Assign(value, Add(value, Load(b, (at,)))),
        If(Less(COLUMN, wrap(columns - 3)), (Store(y, (at, ROW), value),)),
    ]
    given = some(rows, columns), some(columns, rows), some(columns)
    assert is_turned(same_as_before(kernel([x, y, b], body, rows, columns), *given))


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_a_border_is_read_under_its_condition(rows, columns):
    """As the padded copy of an image, whose channels are apart there."""
    x, y = tensors((columns, rows - 2), (rows, columns))
    at = Sub(ROW, constant(1, i32))
    inside = And(LessEqual(constant(0, i32), at), Less(at, wrap(rows - 2)))
    value = Select(inside, Load(x, (COLUMN, at)), constant(7.0, f32))
    made = kernel([x, y], [Store(y, (ROW, COLUMN), value)], rows, columns)
    assert is_turned(same_as_before(made, some(columns, rows - 2), some(rows, columns)))


def test_a_read_that_the_condition_of_a_choice_makes_anyway():
    x, y = tensors((16, 16), (16, 16))
    read = Load(x, (ROW, COLUMN))
    value = Select(Less(read, constant(0.0, f32)), constant(0.0, f32), read)
    made = kernel([x, y], [Store(y, (COLUMN, ROW), value)], 16, 16)
    assert is_turned(same_as_before(made, some(16, 16), some(16, 16)))


def test_whole_tiles_and_the_ends_of_both_loops():
    iterations = [
        each.extent.value
        for each in find(transpose_tiles(copy(37, 41)).body, For)
        if each.kind is LoopKind.VECTOR and each.extent.value != SIDE * SIDE // 2
    ]
    assert sorted(iterations) == [5, 5, 9, 9, 16, 16, 16, 16]


def stays(made):
    return transpose_tiles(made) is made


def test_short_loops_stay():
    assert stays(copy(LEAST - 1, 64))
    assert stays(copy(64, LEAST - 1))
    assert not stays(copy(LEAST, LEAST))


def test_what_lies_along_the_vectors_stays():
    x, y = tensors((16, 16), (16, 16))
    assert stays(kernel([x, y], [Store(y, (ROW, COLUMN), Load(x, (ROW, COLUMN)))], 16, 16))


def test_what_is_written_may_not_be_read():
    (y,) = tensors((16, 16))
    assert stays(kernel([y], [Store(y, (COLUMN, ROW), Load(y, (ROW, COLUMN)))], 16, 16))


def test_a_read_that_need_not_happen_stays():
    x, y, b = tensors((16, 16), (16, 16), (16, 16))
    value = Select(
        Less(Load(b, (COLUMN, ROW)), constant(0.0, f32)), Load(x, (ROW, COLUMN)) * 2.0, wrap(0.0)
    )
    assert stays(kernel([x, y, b], [Store(y, (COLUMN, ROW), value)], 16, 16))


def test_rows_that_data_tell():
    x, y, where = Var("x", f32[16, 16]), Var("y", f32[16, 16]), Var("where", i32[16])
    value = Load(x, (Load(where, (ROW,)), COLUMN))
    made = kernel([x, y, where], [Store(y, (COLUMN, ROW), value)], 16, 16)
    places = np.random.default_rng(1).integers(0, 16, 16).astype(np.int32)
    assert is_turned(same_as_before(made, some(16, 16), some(16, 16), places))


def test_more_tiles_than_lie_near_stay():
    names = [Var(name, f32[16, 16]) for name in "abcy"]
    *read, y = names
    a, b, c = (Load(each, (ROW, COLUMN)) for each in read)
    value = Maximum(Maximum(a, b), c)
    assert stays(kernel(names, [Store(y, (COLUMN, ROW), value)], 16, 16))


def test_open_sizes_and_gpus_stay():
    n = Var("n", i32)
    x, y = Var("x", f32[16, n]), Var("y", f32[n, 16])
    assert stays(kernel([x, y], [Store(y, (COLUMN, ROW), Load(x, (ROW, COLUMN)))], 16, n))
    x, y = tensors((16, 16), (16, 16))
    body = [Store(y, (COLUMN, ROW), Load(x, (ROW, COLUMN)))]
    assert stays(kernel([x, y], body, 16, 16, KernelKind.CUDA))
