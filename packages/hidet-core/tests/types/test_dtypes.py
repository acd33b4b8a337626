"""Element types and their facts."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from hidet.errors import BadArgument
from hidet.types import (
    DTYPES,
    DType,
    PointerType,
    TensorType,
    bf16,
    boolean,
    dtype,
    f16,
    f32,
    i8,
    tf32,
    u8,
)
from hidet.types.dtypes import Kind, narrow


@pytest.mark.parametrize("each", DTYPES, ids=str)
def test_every_type_is_found_by_its_names(each):
    assert dtype(each.name) is each
    assert dtype(each.short) is each
    assert dtype(each) is each
    assert each.numpy.itemsize == each.nbytes
    if each is not tf32:
        assert dtype(each.numpy) is each


def test_python_and_numpy_types():
    assert dtype(np.float32) is f32
    assert dtype(bool) is boolean


@pytest.mark.parametrize("bad", ["float33", object, "complex64"])
def test_unknown_names(bad):
    with pytest.raises(BadArgument, match="no element type"):
        dtype(bad)


def test_kinds_and_limits():
    assert f16.is_float
    assert i8.is_integer
    assert not boolean.is_integer
    assert i8.limits == (-128, 127)
    assert u8.limits == (0, 255)
    assert f16.limits == (-65504.0, 65504.0)
    assert boolean.limits == (0, 1)


def test_sugar():
    assert f32[2, 3] == TensorType(f32, (2, 3))
    assert f32[4] == TensorType(f32, (4,))
    assert ~bf16 == PointerType(bf16)


def test_types_print_and_compare_after_pickling():
    again = pickle.loads(pickle.dumps(f32))
    assert isinstance(again, DType)
    assert again == f32
    assert hash(again) == hash(f32)
    assert repr(f32) == str(f32) == "f32"


def test_limits_are_those_of_numpy():
    for each in DTYPES:
        if each.is_float and each is not tf32:
            info = ml_dtypes.finfo(each.numpy)
            assert each.limits == (float(info.min), float(info.max)), each
        if each.is_integer:
            info = ml_dtypes.iinfo(each.numpy)
            assert each.limits == (info.min, info.max), each


def test_a_type_that_numpy_lacks_has_facts_but_no_arrays():
    made = DType("float4_e2m1", "f4e2m1", Kind.FLOAT, 4, narrow("of_a_later_version"))
    assert (made.limits, made.nbytes, made.is_held) == ((-6.0, 6.0), 1, False)
    assert all(each.is_held for each in DTYPES)
    with pytest.raises(BadArgument, match="numpy has no float4_e2m1 here") as caught:
        _ = made.numpy
    assert "ml-dtypes>=0.5" in str(caught.value)
    with pytest.raises(AttributeError):
        _ = made.nothing
