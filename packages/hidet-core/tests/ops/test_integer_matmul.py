"""Matmuls and convolutions of integers less their zero points, against exact arithmetic."""

from itertools import product

import numpy as np
import pytest

from hidet import ops
from hidet.errors import DtypeMismatch
from hidet.graph import from_numpy, symbol, trace_from

TYPES = list(product((np.int8, np.uint8), repeat=2))


def numbers(shape, dtype, seed):
    """Bytes of the whole range."""
    info = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    return random.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def run(function, arrays, constant=()):
    """The function compiled, the operands at `constant` being constants."""
    tensors = [None if each is None else from_numpy(each) for each in arrays]
    inputs = {
        i: symbol(each.shape, each.dtype)
        for i, each in enumerate(tensors)
        if each is not None and i not in constant
    }
    result = function(*(inputs.get(i, each) for i, each in enumerate(tensors)))
    compiled = trace_from([result], list(inputs.values())).build()
    return compiled(*(tensors[i] for i in inputs)).numpy()


def wide(x):
    return np.asarray(x, np.int64)


@pytest.mark.parametrize("types", TYPES, ids=str)
@pytest.mark.parametrize("zeros", ["none", "scalars", "vectors"])
def test_matmul(types, zeros):
    a, b = numbers((2, 7, 13), types[0], 1), numbers((13, 5), types[1], 2)
    shapes = {"none": (None, None), "scalars": ((), (1,)), "vectors": ((7,), (5,))}[zeros]
    a_zero, b_zero = (
        None if shape is None else numbers(shape, of, 3)
        for shape, of in zip(shapes, types, strict=True)
    )
    left = wide(a) - (0 if a_zero is None else wide(a_zero).reshape(-1, 1))
    right = wide(b) - (0 if b_zero is None else wide(b_zero))
    for constant in ((), (1, 3), (1, 2, 3)):
        found = run(ops.matmul_integer, (a, b, a_zero, b_zero), constant)
        np.testing.assert_array_equal(found, left @ right)
        assert found.dtype == np.int32


@pytest.mark.parametrize("types", TYPES, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_conv_around_which_is_the_zero_point(types, groups):
    x, weight = numbers((2, 6, 5, 7), types[0], 1), numbers((4, 6 // groups, 3, 2), types[1], 2)
    x_zero, weight_zero = numbers((), types[0], 3), numbers((4,), types[1], 4)
    how = {
        "stride": (1, 2), "padding": ((1, 0), (2, 1)), "dilation": (groups, 1), "groups": groups,
    }  # fmt: skip
    exact = ops.conv(
        from_numpy(wide(x) - wide(x_zero)).to(dtype="int32"),
        from_numpy(wide(weight) - wide(weight_zero)[:, None, None, None]).to(dtype="int32"),
        **how,
    ).numpy()
    for constant in ((1, 2, 3), (1, 3), ()):
        found = run(
            lambda *each: ops.conv_integer(*each, **how), (x, weight, x_zero, weight_zero), constant
        )
        np.testing.assert_array_equal(found, exact)


def test_other_types_are_refused():
    with pytest.raises(DtypeMismatch, match="int8 or uint8, not int32"):
        ops.matmul_integer(symbol((2, 3), "int32"), symbol((3, 2), "int8"))
