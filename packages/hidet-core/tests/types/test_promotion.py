"""Mixed types promote as PyTorch's."""

import pytest

from hidet.types import (
    DTYPES,
    bf16,
    boolean,
    f4e2m1,
    f6e2m3,
    f6e3m2,
    f8e4m3,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f16,
    f32,
    f64,
    i2,
    i4,
    i8,
    i16,
    i32,
    i64,
    promote,
    tf32,
    u2,
    u4,
    u8,
    u16,
    u32,
    u64,
)


@pytest.mark.parametrize("a", DTYPES, ids=str)
@pytest.mark.parametrize("b", DTYPES, ids=str)
def test_order_does_not_matter(a, b):
    assert promote(a, b) is promote(b, a)
    assert promote(a, a) is a


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (boolean, i8, i8),
        (i64, f16, f16),
        (f16, bf16, f32),
        (f16, f32, f32),
        (f32, f64, f64),
        (f8e4m3, f8e5m2, f32),
        (f8e4m3, f16, f16),
        (f4e2m1, f8e5m2, f8e5m2),
        (f4e2m1, f8e5m2fnuz, f32),
        (f6e2m3, f8e5m2, f32),
        (f6e3m2, f8e5m2, f8e5m2),
        (f6e3m2, f4e2m1, f6e3m2),
        (f8e8m0, f8e5m2, f32),
        (f8e8m0, f16, f32),
        (f8e8m0, bf16, bf16),
        (u2, i2, i4),
        (u4, i4, i8),
        (u8, i4, i16),
        (i2, i8, i8),
        (f32, tf32, f32),
        (u8, i8, i16),
        (u16, i8, i32),
        (u32, i32, i64),
        (u64, i64, i64),
        (u8, i32, i32),
        (i8, i16, i16),
        (u8, u32, u32),
    ],
)
def test_pairs(a, b, common):
    assert promote(a, b) is common
