"""Formats of narrow numbers, and numpy conversions between them."""

import ml_dtypes
import numpy as np
import pytest

from hidet.types import DTYPES, f8e8m0, i32
from hidet.types.narrow import FORMATS, NARROW, computed_in, converted


@pytest.mark.parametrize("of", FORMATS, ids=str)
def test_formats_are_those_of_ml_dtypes(of):
    found, facts = FORMATS[of], ml_dtypes.finfo(of.numpy)
    assert (found.exponent, found.fraction) == (facts.nexp, facts.nmant)
    assert 1 + found.exponent + found.fraction == of.bits
    codes = np.arange(2**of.bits, dtype=np.uint8).view(of.numpy).astype(np.float32)
    assert codes[found.top] == facts.max
    assert codes[1 << found.fraction] == 2.0 ** (1 - found.bias)
    assert np.isinf(codes[found.over]) == found.infinite
    assert np.isnan(codes[found.nan]) == (of.bits == 8)
    assert np.isnan(codes[2 ** (of.bits - 1)]) == found.unsigned_zero


def test_one_element_takes_a_byte_and_has_fewer_bits():
    for each in NARROW:
        assert each.nbytes == each.numpy.itemsize == 1
        assert each.bits in (2, 4, 6, 8)
        low, high = each.limits
        wide = computed_in(each).numpy
        assert (np.array([low, high]).astype(each.numpy).astype(wide) == [low, high]).all()
    assert {each for each in DTYPES if computed_in(each) is not each} == NARROW


@pytest.mark.parametrize("source", sorted(NARROW, key=str), ids=str)
def test_each_narrow_type_is_converted_to_each_other_one(source):
    x = np.arange(2**source.bits, dtype=np.uint8).view(source.numpy)
    wide = x.astype(np.float32)
    for to in NARROW:
        meant = np.isfinite(wide) & (np.abs(wide) <= float(i32.limits[1]))
        with np.errstate(all="ignore"):
            found = converted(x, to)
            wanted = wide.astype(to.numpy)
        assert found.dtype == to.numpy
        assert (found.view(np.uint8) == wanted.view(np.uint8))[meant].all()


def test_the_exponent_alone_has_no_zero():
    assert np.isnan(converted(np.zeros(1), f8e8m0).astype(np.float32)).all()
