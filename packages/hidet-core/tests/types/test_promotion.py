"""Mixed types promote as PyTorch's."""

import pytest

from hidet.types import (
    DTYPES,
    bf16,
    boolean,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    promote,
    tf32,
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
