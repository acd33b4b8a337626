"""Signatures: equal for sizes of one bucket and for symbols of any name, else different."""

import pytest

from hidet.ir.expr import Var
from hidet.ops.products.matmul import Matmul
from hidet.ops.windows.conv import Conv
from hidet.tuning.signature import bucket, signature
from hidet.types import f16, f32, i32


def of(*ops):
    return signature([(op, (0, 1)) for op in ops])


def test_small_sizes_have_buckets_of_their_own():
    assert len({bucket(size) for size in range(33)}) == 33


def test_buckets_hold_neighbours_of_one_alignment():
    assert bucket(1000) == bucket(1016)
    assert bucket(1000) != bucket(1001)
    assert bucket(1024) != bucket(1000)
    assert bucket(640) != bucket(1024)
    assert bucket(192) == bucket(192 - 64 + 64) == "192/64"


@pytest.mark.parametrize("size", [33, 100, 384, 385, 4096, 50257, 128256])
def test_a_bucket_ends_at_most_half_above_a_size(size):
    upper, alignment = map(int, bucket(size).split("/"))
    assert size <= upper < 2 * size
    assert size % alignment == 0


def test_sizes_of_one_bucket_share_a_signature():
    assert of(Matmul(f32[1000, 64], f32[64, 64])) == of(Matmul(f32[1016, 64], f32[64, 64]))
    assert of(Matmul(f32[1000, 64], f32[64, 64])) != of(Matmul(f32[1001, 64], f32[64, 64]))


def test_types_attributes_and_wiring_count():
    plain = Matmul(f32[64, 64], f32[64, 64])
    assert of(plain) != of(Matmul(f16[64, 64], f16[64, 64]))
    assert of(plain) != of(Matmul(f32[64, 64], f32[64, 64], transpose_b=True))
    assert of(plain) != of(plain, plain)
    assert signature([(plain, (0, 1))]) != signature([(plain, (0, 0))])
    conv, rest = (f32[1, 8, 56, 56], f32[16, 8, 3, 3], None), (((1, 1), (1, 1)), (1, 1), 1)
    assert of(Conv(*conv, (1, 1), *rest)) != of(Conv(*conv, (2, 2), *rest))


def test_symbols_count_by_order_not_by_name():
    def rows(*names):
        m, n = (Var(each, i32) for each in names)
        return of(Matmul(f32[m, 64], f32[64, n]))

    assert rows("s0", "s1") == rows("batch", "length")
    same = Var("n", i32)
    assert of(Matmul(f32[same, 64], f32[64, same])) != rows("s0", "s1")
