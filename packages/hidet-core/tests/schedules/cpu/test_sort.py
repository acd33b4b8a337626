"""Rows on the CPU: sorted digit by digit, short ones by counting, the first few by keeping them."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import asarray, evaluate, refer, symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.indexing.ordering import Sort
from hidet.schedules.base import candidates
from hidet.schedules.cpu.sort import COUNTED, FEW, LONG, Rows, sorted_rows
from hidet.target import Target
from hidet.types import bf16, boolean, f16, f32, f64, i8, i16, i32, i64, u8, u64

TARGET = Target.parse("cpu+avx512")
SORTS = [
    Sort(f32[3, 257], 1, 257, False),
    Sort(f32[2, 131, 3], 1, 131, True),
    Sort(f16[131, 2], 0, 130, True),
    Sort(f64[1, 1000], 1, 500, False),
    Sort(i64[1031], 0, 1031, True),
    Sort(u8[2, 512], 1, 512, False),
    Sort(boolean[2, 129], 1, 129, True),
    Sort(f32[3, 257], 1, 5, False),
    Sort(f32[2, 131, 3], 1, 7, True),
    Sort(bf16[2, 300], 1, 128, True),
    Sort(boolean[2, 129], 1, 3, True),
    Sort(i32[777], 0, 1, False),
    Sort(f32[4, 13], 1, 13, False),
    Sort(f32[5, LONG + 1], 1, 3, True),
    Sort(f64[3, COUNTED], 1, COUNTED, True),
    Sort(i64[3, COUNTED + 1], 1, COUNTED, False),
    Sort(i8[2, 300], 1, 300, True),
    Sort(u64[2, 300], 1, 300, False),
    Sort(i16[2, 300], 1, 300, False),
    Sort(bf16[1, 700], 1, 600, False),
    Sort(f16[2, 17, 3], 1, 3, True),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([sorted_rows(op, TARGET, Rows()).module for op in SORTS])


def poisoned(op):
    return [np.full(each.shape, 77).astype(each.dtype.numpy) for each in op.results()]


def same(op, arrays, found):
    for value, wanted in zip(found, refer(op, arrays), strict=True):
        np.testing.assert_array_equal(value.astype(np.float64), wanted.astype(np.float64))


@pytest.mark.parametrize("number", range(len(SORTS)))
def test_rows_are_in_order(library, number):
    op = SORTS[number]
    arrays, found = op.examples(seed=number), poisoned(op)
    library(number, *arrays, *found)
    same(op, arrays, found)


@pytest.mark.parametrize("size", [1, 2, 7, 129])
@pytest.mark.parametrize("count", [1, 2, None])
def test_the_simulator_agrees(size, count):
    """Also rows of a number that a call tells, which may be few."""
    n = Var("n", i32)
    op = Sort(f32[2, n], 1, n if count is None else count, True)
    fixed = Sort(f32[2, size], 1, size if count is None else min(count, size), True)
    if count is not None and count > size:
        return
    arrays, found = fixed.examples(seed=size), poisoned(fixed)
    sim.launch(sorted_rows(op, TARGET, Rows()).module, *arrays, *found)
    same(fixed, arrays, found)


@pytest.mark.parametrize("size", [COUNTED, 300])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("of", ["float16", "float32", "float64"])
def test_of_what_is_no_number_and_of_zeros_of_either_sign(size, descending, of):
    special = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 6e-8, -6e-8, 1, -1], of)
    x = np.random.default_rng(0).choice(special, (2, size))
    given = symbol(x.shape, of)
    graph = trace_from(list(ops.sort(given, 1, descending=descending)), [given])
    values, places = (each.numpy() for each in graph(asarray(x)))
    wanted = evaluate(graph, x)
    np.testing.assert_array_equal(places, wanted[1])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


@pytest.mark.parametrize("x", [np.zeros(300), np.arange(300.0), -np.arange(300.0)])
@pytest.mark.parametrize("count", [9, 300])
def test_equals_keep_their_order_and_rows_in_order_stay(x, count):
    given = symbol((300,))
    graph = trace_from(list(ops.topk(given, count, largest=False)), [given])
    values, places = graph(asarray(x.astype(np.float32)))
    order = np.argsort(x, kind="stable")[:count]
    np.testing.assert_array_equal(places.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), x[order])


def test_what_precedes_and_follows_is_computed_where_rows_are_read_and_written():
    x = symbol((2, 400))
    values, places = ops.topk(ops.relu(x) * 2.0, 10)
    graph = trace_from([values + 1.0, ops.cast(places, "int32")], [x])
    given = np.random.default_rng(0).standard_normal((2, 400)).astype(np.float32)
    for found, wanted in zip(graph(asarray(given)), evaluate(graph, given), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_short_rows_are_left_to_the_definition():
    assert not candidates(Sort(f32[3, LONG], 1, LONG, False), TARGET)
    assert not candidates(Sort(f32[3, 1000], 1, 0, False), TARGET)
    assert candidates(Sort(f32[3, LONG + 1], 1, FEW, False), TARGET)
