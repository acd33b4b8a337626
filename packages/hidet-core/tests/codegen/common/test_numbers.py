import numpy as np
import pytest

from hidet.codegen.common.numbers import decimal, integer, pattern
from hidet.errors import InternalError
from hidet.types import bf16, f16, f32, f64, i32, i64, u8


def test_decimals_read_back_exactly():
    rng = np.random.default_rng(0)
    for value in rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32):
        text = decimal(float(value), f32)
        if text is not None:
            assert np.float32(float(text[:-1])) == value
            assert "." in text or "e" in text
    assert decimal(1e300, f64) == "1e+300"
    assert decimal(float("inf"), f32) is None


def test_patterns():
    assert pattern(1.0, f16) == "0x3c00"
    assert pattern(-1.0, bf16) == "0xbf80"
    assert pattern(float("nan"), f32) == "0x7fc00000"


def test_integers():
    assert integer(7, u8) == "(u8)7"
    assert integer(-(2**63), i64) == "(-9223372036854775807LL - 1)"
    with pytest.raises(InternalError, match="does not fit i32"):
        integer(2**31, i32)
