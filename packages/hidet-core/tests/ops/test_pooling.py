"""Pooling beyond windows of one element beside the next: gaps, wide margins, norms, and back."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, NotYet, ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run


def values(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_means_of_elements_with_gaps_do_not_count_padding():
    x = values(1, 1, 5)
    pool = lambda v: ops.avg_pool(v, 3, stride=1, padding=2, dilation=2, count_include_pad=False)
    found = run(pool, x).ravel()
    wanted = [x[0, 0, [p for p in (i - 2, i, i + 2) if 0 <= p < 5]].mean() for i in range(5)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_margin_of_nearly_a_window():
    x = values(1, 1, 4)
    found = run(lambda v: ops.max_pool(v, 3, stride=1, padding=2), x).ravel()
    wanted = [x[0, 0, max(0, i - 2) : i + 1].max() for i in range(6)]
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(BadArgument, match="padding 3 would hold whole windows of 3"):
        ops.max_pool(symbol([1, 1, 4]), 3, padding=3)


def test_norms_of_windows():
    with pytest.raises(BadArgument, match="order 0"):
        ops.lp_pool(symbol([1, 1, 4]), 2, p=0)
    x = values(1, 2, 7)
    found = run(lambda v: ops.lp_pool(v, 7, p=3), x)
    np.testing.assert_allclose(found[..., 0], (np.abs(x) ** 3).sum(-1) ** (1 / 3), rtol=1e-6)


@pytest.mark.parametrize("whole", [False, True])
def test_the_largest_elements_go_back(whole):
    x = np.random.default_rng(0).permutation(2 * 3 * 4 * 6).astype(np.float32).reshape(2, 3, 4, 6)

    def there_and_back(v):
        found, where = ops.max_pool_with_indices(v, 2)
        planes = ops.reshape(ops.iota(6, step=24), (2, 3, 1, 1))
        return ops.max_unpool(found, where + planes if whole else where, (4, 6))

    blocks = x.reshape(2, 3, 2, 2, 3, 2)
    wanted = np.where(blocks == blocks.max((3, 5), keepdims=True), blocks, 0).reshape(x.shape)
    np.testing.assert_array_equal(run(there_and_back, x), wanted)
    with pytest.raises(ShapeMismatch, match="plane of 2 axes"):
        ops.max_unpool(symbol([1, 2, 3]), symbol([1, 2, 3], "int64"), (4, 6))


@pytest.mark.parametrize(("size", "before"), [(3, None), (4, None), (4, 2), (1, 0)])
def test_neighbouring_channels(size, before):
    x = values(2, 7, 3)
    norm = lambda v: ops.local_response_norm(v, size, alpha=0.3, beta=0.6, bias=2, before=before)
    front = (size - 1) // 2 if before is None else before
    wanted = np.empty_like(x)
    for c in range(7):
        near = x[:, max(0, c - front) : c + size - front]
        wanted[:, c] = x[:, c] / (2 + 0.3 / size * (near**2).sum(1)) ** 0.6
    np.testing.assert_allclose(run(norm, x), wanted, rtol=1e-6)


def test_padding_for_as_many_windows_as_strides():
    assert ops.same_padding((5, 6), (3, 2), (2, 2), (1, 1)) == ((1, 1), (0, 0))
    assert ops.same_padding((6,), (3,), (2,), (1,)) == ((0, 1),)
    assert ops.same_padding((6,), (3,), (2,), (1,), upper=False) == ((1, 0),)
    (size,) = symbol(["n"]).shape
    assert ops.same_padding((size,), (4,), (1,), (2,)) == ((3, 3),)
    with pytest.raises(NotYet, match="symbolic size"):
        ops.same_padding((size,), (3,), (2,), (1,))
