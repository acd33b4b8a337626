"""Slices by Python's rules, whatever the bounds and the step."""

from itertools import product

import numpy as np
import pytest

from hidet import ops
from hidet.graph import FlowGraph, symbol
from hidet.graph.dims import size_symbol
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import wrap
from hidet.ops.tensors.slicing import slice_range
from hidet.options import options

BOUNDS = (None, -1, 0, 2, -2, 9, -9)


@pytest.mark.parametrize("size", [0, 1, 4, 7])
def test_slices_are_those_of_python(size):
    x = np.arange(size)
    for start, stop, step in product(BOUNDS, BOUNDS, (1, 2, -1, -2, -3)):
        first, count = slice_range(size, start, stop, step)
        found = [first + step * number for number in range(count)]
        assert found == list(x[start:stop:step]), (start, stop, step)


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_symbolic_bounds_may_be_negative(step):
    """Of either sign, of one that is known, by what an order says; of axes of any size."""
    n, a, b = (size_symbol(name) for name in "nab")
    bounds = [None, a - b, -a, a - 3, n - 1, n - 4, a - n, 2 * n - a]
    for start, stop in product(bounds, bounds):
        first, count = slice_range(n, start, stop, step)
        for sizes in product((0, 1, 2, 7), (0, 1, 5), (0, 3)):
            symbols = dict(zip((n, a, b), sizes, strict=True))
            known = [None if each is None else at(each, symbols) for each in (start, stop)]
            begin, number = at(first, symbols), at(count, symbols)
            found = [begin + step * place for place in range(number)]
            wanted = list(range(sizes[0])[slice(*known, step)])
            assert found == wanted, (start, stop, step, sizes)


def at(size, symbols):
    """What a size is for these symbols."""
    return int(evaluate(wrap(size), symbols))


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("length", [1, 2, 7, 129])
def test_kernels_slice_by_bounds_of_either_sign(target, length):
    """The rows before, and those from, the difference of two lengths on; written back too."""
    x, y = symbol(("n", 3), name="x"), symbol(("m",), name="y")
    last = x.shape[0] - y.shape[0]
    graph = FlowGraph(
        [x, y],
        [
            ops.slice(x, 0, last),
            ops.slice(x, 0, None, last) * 2,
            ops.slice(x, 0, last, None, -1),
            ops.slice_scatter(x, ops.slice(x, 0, last) + 1, 0, last),
        ],
    )
    given = np.random.default_rng(length).standard_normal((length, 3)).astype(np.float32)
    with options(target=target):
        compiled = graph.build()
        for other in (1, length, length + 1, 2 * length + 5):
            bound, written = length - other, given.copy()
            written[bound:] += 1
            wanted = [given[bound:], given[:bound] * 2, given[bound::-1], written]
            for one, each in zip(
                compiled.run([given, np.zeros(other, np.float32)]), wanted, strict=True
            ):
                np.testing.assert_array_equal(one.numpy(), each)
