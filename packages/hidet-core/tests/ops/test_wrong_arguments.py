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
    "swapped": (lambda: ops.gather(x, places, 0), "gather takes a tensor as `index`, not int$"),
    "pad": (lambda: ops.pad(x, [1, 1]), r"pad takes \(before, after\) for each axis"),
    "take": (lambda: ops.take(x, places), "take takes a list with a tensor or None for each axis"),
    "concat": (lambda: ops.concat(x), "concat takes a list of tensors, not Tensor"),
    "stack": (lambda: ops.stack([x, 3]), "stack takes tensors, not int"),
    "split": (lambda: ops.split(x, 0), "pieces of 0 elements"),
    "zeros": (lambda: hidet.zeros([2, -1]), r"full would give f32\[2, -1\]"),
    "classes": (lambda: ops.one_hot(places, -2), r"one_hot would give i64\[2, -2\]"),
    "trace": (lambda: hidet.trace_from(["x"]), "a graph computes tensors, not str"),
    "list": (
        lambda: ops.matmul([[1.0]], x),
        r"(?s)matmul takes a tensor as `a`, not list.*hidet.asarray\(a\)",
    ),
    "second": (lambda: ops.conv2d(x, [2.0]), "conv2d takes a tensor as `w.*`, not list"),
    "by name": (
        lambda: ops.softmax(x=np.ones(3)),
        "a tensor as `x`, not numpy.ndarray",
    ),
    "no numbers": (lambda: ops.reshape("x", [2]), "reshape takes a tensor as `x`, not str$"),
    "not there": (lambda: ops.cast(None, "f32"), "cast takes a tensor as `x`, not NoneType$"),
    "optional": (lambda: ops.linear(x, x, 1.0), "linear takes a tensor as `bias`, not float$"),
    "lists": (lambda: ops.add([1.0], [2.0]), "(?s)must be a tensor.*hidet.asarray"),
    "truth": (lambda: bool(hidet.zeros([2])), "the truth of 2 elements is ambiguous"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_of_a_mistake(name):
    run, message = MISTAKES[name]
    with pytest.raises(HidetError, match=message):
        run()


class TensorOfTorch:
    """Stands for PyTorch's, which core does not know."""

    __module__ = "torch"
    __dlpack__ = None


TensorOfTorch.__name__ = "Tensor"


def test_tensors_of_others_are_told_from_ours():
    with pytest.raises(BadArgument, match=r"(?s)not torch\.Tensor.*hidet\.from_torch\(x\)"):
        ops.softmax(TensorOfTorch())


@pytest.mark.parametrize("name", ops.__all__)
def test_every_operator_says_what_it_wants(name):
    """What is no tensor at all is refused wherever a tensor is declared."""
    function = getattr(ops, name)
    kinds = {each: kind for each, kind in function.__annotations__.items() if each != "return"}
    for each in [each for each, kind in kinds.items() if kind in ("Tensor", hidet.Tensor)]:
        with pytest.raises(BadArgument, match=f"takes a tensor as `{each}`, not ellipsis"):
            function(**{each: ...})


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
