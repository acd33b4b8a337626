import pytest

from hidet.compute import Input, accumulator, arithmetic, grid, maximum, reduce, scatter
from hidet.compute.functions import exp
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.types import bf16, boolean, f16, f32, f64, i8, i64, u8, u64

x = Input("x", f16[4, 5])


def test_shapes_and_types_of_sugar():
    assert (x + 1).dtype is f16
    assert (x < 1).dtype is boolean
    assert x.mean((1,)).shape == (4, 1)
    assert x.mean((1,)).dtype is f32
    assert x.max((0, -1), keepdims=False).shape == ()
    assert exp(x).shape == maximum(x, 0.0).shape == (4, 5)


def test_functions_of_expressions_are_expressions():
    assert maximum(x[0, 0], 1.0).dtype is f16
    assert str(exp(x[0, 1])) == "exp(x[0, 1])"


def test_text():
    assert str(x) == "x: f16[4, 5]"
    assert str(x * 2) == "[i0 < 4, i1 < 5: (x[i0, i1] * 2.0:f16)]"
    assert str(x.max((1,))) == "[i0 < 4, i1 < 1: max(r0 < 5: x[i0, r0])]"


def test_types_in_which_sums_are_kept():
    assert [accumulator(each) for each in (f16, bf16, f32, f64)] == [f32, f32, f32, f64]
    assert [accumulator(each) for each in (i8, u8, boolean, i64, u64)] == [i64] * 4 + [u64]
    assert [arithmetic(each) for each in (f16, f64, i8)] == [f32, f64, i8]


def test_mistakes_are_named():
    with pytest.raises(ShapeMismatch, match="1 indices for an array of 2 dimensions"):
        x[0]
    with pytest.raises(BadArgument, match="no reduction 'median'"):
        reduce(3, lambda r: x[0, r], "median")
    with pytest.raises(DtypeMismatch, match="any takes truth values"):
        reduce(3, lambda r: x[0, r], "any")
    with pytest.raises(TypeError, match="not iterable"):
        list(x)


def test_updates_take_the_type_of_the_base():
    made = scatter(x, (2,), lambda u: (u, 0), lambda u: u, "add")
    assert made.value.dtype is f16
    assert made.shape == (4, 5)


def test_each_grid_prints_the_indices_of_its_own():
    top = "[i0 < 4, i1 < 1: max(r0 < 5: x[i0, r0])]"
    less = f"[i0 < 4, i1 < 5: (x[i0, i1] - ({top})[i0, 0])]"
    assert str(x - x.max((1,))) == less
    assert str((x - x.max((1,))) * 2) == f"[i0 < 4, i1 < 5: (({less})[i0, i1] * 2.0:f16)]"
    twice = x.reduce((1,), "max")[0, 0] + x.reduce((0,), "max")[0, 0]
    assert "_1" not in str(grid((4,), lambda i: twice))
    both = reduce(5, lambda r: x[0, r], "sum") * reduce(4, lambda r: x[r, 0], "sum")
    assert str(both) == "(sum(r0 < 5: x[0, r0]) * sum(r0_1 < 4: x[r0_1, 0]))"
