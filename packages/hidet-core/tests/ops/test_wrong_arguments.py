"""What users pass by mistake is told in their words, before anything is computed."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import BadArgument, HidetError

x = hidet.symbol([3, 4], name="x")
places = hidet.symbol([2], "int64", name="places")

MISTAKES = {
    "beside a tensor None": (lambda: x + None, "a tensor or a number was expected, not NoneType"),
    "an array": (lambda: x + np.ones(4), "a tensor or a number was expected, not ndarray"),
    "a word": (lambda: ops.multiply(x, "2"), "a tensor or a number was expected, not str"),
    "full of a word": (lambda: hidet.full([2], "a"), "a tensor or a number was expected, not str"),
    "axis none": (lambda: ops.softmax(x, None), "an axis is a whole number, not NoneType"),
    "axis word": (lambda: ops.sum(x, "rows"), "an axis is a whole number, not str"),
    "axes": (lambda: ops.transpose(x, [1, 0]), "an axis is a whole number, not list"),
    "swapped": (lambda: ops.gather(x, places, 0), "an axis is a whole number, not Tensor"),
    "pad": (lambda: ops.pad(x, [1, 1]), r"pad takes \(before, after\) for each axis"),
    "take": (lambda: ops.take(x, places), "take takes a list with a tensor or None for each axis"),
    "concat": (lambda: ops.concat(x), "concat takes a list of tensors, not Tensor"),
    "stack": (lambda: ops.stack([x, 3]), "stack takes tensors, not int"),
    "split": (lambda: ops.split(x, 0), "pieces of 0 elements"),
    "zeros": (lambda: hidet.zeros([2, -1]), r"full would give f32\[2, -1\]"),
    "classes": (lambda: ops.one_hot(places, -2), r"one_hot would give i64\[2, -2\]"),
    "trace": (lambda: hidet.trace_from(["x"]), "a graph computes tensors, not str"),
    "truth": (lambda: bool(hidet.zeros([2])), "the truth of 2 elements is ambiguous"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_of_a_mistake(name):
    run, message = MISTAKES[name]
    with pytest.raises(HidetError, match=message):
        run()


def test_numbers_of_numpy_are_numbers():
    whole = hidet.symbol([3], "int32")
    assert (whole * np.int64(3)).dtype is hidet.int32
    assert (whole * np.float32(3)).dtype is hidet.float32
    assert (x + np.float64(1)).dtype is hidet.float32
    with pytest.raises(BadArgument):
        x + 1j


def test_shapes_may_be_written_one_size_after_the_other():
    for wanted in ((2, 6), (12,), (1, 3, 4)):
        assert x.reshape(*wanted).shape == x.reshape(wanted).shape == wanted
    assert x.permute(1, 0).shape == x.permute([1, 0]).shape == (4, 3)
    assert x.expand(2, 3, 4).shape == x.expand((2, -1, 4)).shape == (2, 3, 4)
    assert x.reshape(shape=[-1]).shape == (12,)
    assert hidet.zeros(5).shape == hidet.randn(5).shape == (5,)
    assert ops.tile(x, 2).shape == (3, 8)


def test_a_tensor_of_one_element_is_a_number():
    one = hidet.full([1, 1], 2.5)
    assert (float(one), int(one), bool(one)) == (2.5, 2, True)
