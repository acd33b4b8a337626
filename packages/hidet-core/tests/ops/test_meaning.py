"""Where PyTorch's meaning is easy to get wrong: signs, NaN, infinities, corners of windows."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import from_numpy, symbol_like
from hidet.testing.defined import run
from hidet.types import f32, f64, i8, i32, i64, u8, u32

NAN, INF = float("nan"), float("inf")


def assert_same(found, expected):
    np.testing.assert_array_equal(found, np.asarray(expected, found.dtype))


def test_divisions_and_their_signs():
    x, y = np.int32([-7, 7, -7, 7]), np.int32([2, -2, -2, 2])
    assert_same(run(ops.floor_divide, x, y), [-4, -4, 3, 3])
    assert_same(run(ops.trunc_divide, x, y), [-3, -3, 3, 3])
    assert_same(run(ops.remainder, x, y), [1, -1, -1, 1])
    assert_same(run(ops.fmod, x, y), [-1, 1, -1, 1])
    assert run(ops.divide, x, y).dtype == np.float32
    assert_same(run(ops.floor_divide, np.float32([-7.5]), np.float32([2])), [-4])
    assert_same(run(ops.remainder, np.float32([-7.5]), np.float32([2])), [0.5])


def test_nan_is_kept_where_it_is_compared():
    x = np.float32([NAN, -1, INF, -INF])
    for function, expected in (
        (ops.relu, [NAN, 0, INF, 0]),
        (ops.relu6, [NAN, 0, 6, 0]),
        (lambda v: ops.clamp(v, 0, 1), [NAN, 0, 1, 0]),
        (lambda v: ops.maximum(v, 0.0), [NAN, 0, INF, 0]),
        (lambda v: ops.minimum(0.0, v), [NAN, -1, 0, -INF]),
        (ops.hardtanh, [NAN, -1, 1, -1]),
        (ops.hardshrink, [NAN, -1, INF, -INF]),
        (ops.sign, [0, -1, 1, -1]),
    ):
        assert_same(run(function, x), expected)
    assert_same(run(ops.fmax, x, np.float32([2, NAN, NAN, NAN])), [2, -1, INF, -INF])
    assert np.isnan(run(ops.max, x))
    assert np.isnan(run(ops.min, x))
    assert run(ops.argmax, x) == 0
    assert run(ops.argmin, np.float32([1, 0, 0])) == 1


def test_masked_rows():
    row = np.float32([[-INF, -INF]])
    assert np.isnan(run(ops.softmax, row)).all()
    assert_same(run(lambda v: ops.logsumexp(v, 1), row), [-INF])
    q = np.ones((1, 2, 3), np.float32)
    mask = np.array([[True, False], [False, False]])
    assert_same(run(ops.attention, q, q, q, mask), [[[1, 1, 1], [0, 0, 0]]])


def test_a_causal_row_sees_no_later_column():
    q = np.random.default_rng(0).normal(size=(1, 4, 8)).astype(np.float32)
    whole = run(lambda a: ops.attention(a, a, a, causal=True), q)
    start = q[:, :2].copy()
    np.testing.assert_allclose(
        whole[:, :2], run(lambda a: ops.attention(a, a, a, causal=True), start), rtol=1e-6
    )


def test_types_of_results():
    x, whole, truth = (np.ones(3, of) for of in ("f2", "i4", "?"))
    assert run(ops.sum, whole).dtype == np.int64
    assert run(lambda a: ops.cumsum(a, 0), truth).dtype == np.int64
    assert run(ops.exp, whole).dtype == np.float32
    assert run(ops.add, x, whole).dtype == np.float16
    assert run(lambda a: ops.clamp(a, 0.5, None), whole).dtype == np.float32
    assert run(lambda a, b: ops.add(a, b, dtype=i64), x, whole).dtype == np.int64
    assert run(lambda a: ops.sum(a, dtype=f64), x).dtype == np.float64


def test_variance_of_too_few():
    assert np.isnan(run(ops.var, np.float32([3])))
    assert run(lambda v: ops.var(v, correction=0), np.float32([3])) == 0


def test_windows_at_the_edge():
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    pool = lambda **options: run(lambda v: ops.avg_pool(v, 2, **options), x).ravel()
    assert_same(pool(), [0.5, 2.5])
    assert_same(pool(ceil_mode=True), [0.5, 2.5, 4])
    assert_same(pool(padding=1), [0, 1.5, 3.5])
    assert_same(pool(padding=1, count_include_pad=False), [0, 1.5, 3.5])
    assert_same(pool(padding=1, stride=1), [0, 0.5, 1.5, 2.5, 3.5, 2])
    assert_same(pool(padding=1, stride=1, count_include_pad=False), [0, 0.5, 1.5, 2.5, 3.5, 4])
    values, where = run(lambda v: ops.max_pool_with_indices(v, 2, ceil_mode=True), x)
    assert_same(values.ravel(), [1, 3, 4])
    assert_same(where.ravel(), [1, 3, 4])
    low = np.full((1, 1, 5), -INF, np.float32)
    for apart, first in ((1, [0, 1, 3]), (2, [1, 1])):
        values, where = run(
            lambda v, d=apart: ops.max_pool_with_indices(v, 3, stride=2, padding=1, dilation=d), low
        )
        assert_same(values.ravel(), [-INF] * len(first))
        assert_same(where.ravel(), first)


def test_indexing_by_numpys_rules():
    x = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    where = np.array([[1, -1], [0, 2]])
    assert_same(run(lambda v: v[1, ..., None, 1:4:2, -2:], x), x[1, ..., None, 1:4:2, -2:])
    assert_same(run(lambda v: v[:, 2:1], x), x[:, 2:1])
    assert_same(run(lambda v: ops.slice(v, 2, None, None, -2), x), x[:, :, ::-2])
    assert_same(run(lambda v, i: v[:, i], x, where), x[:, where])
    assert_same(run(lambda v, i: v[:, i, :, i], x, where), x[:, where, :, where])
    with pytest.raises(ShapeMismatch, match="too many indices"):
        run(lambda v: v[0, 0, 0, 0, 0], x)
    with pytest.raises(BadArgument, match="outside of axis"):
        run(lambda v: v[2], x)


def test_the_last_of_several_writes_wins():
    x, source = np.zeros((3, 1), np.float32), np.float32([[1], [2], [3]])
    index = np.array([[2], [0], [2]])
    assert_same(run(lambda a, i, s: ops.scatter(a, 0, i, s), x, index, source), [[2], [0], [3]])
    added = run(lambda a, i, s: ops.index_add(a, 0, i, s), x, index[:, 0].copy(), source)
    assert_same(added, [[2], [0], [4]])


def test_moving_without_anything_to_do_gives_the_tensor_itself():
    x = symbol_like(from_numpy(np.ones((2, 3), np.float32)))
    for same in (
        ops.reshape(x, (2, -1)), ops.permute(x, (0, 1)), ops.expand(x, (-1, 3)),
        ops.cast(x, f32), ops.slice(x, 0), ops.pad(x, [(0, 0)] * 2), ops.squeeze(x),
        ops.concat([x]),
    ):  # fmt: skip
        assert same is x


def test_mistakes_are_told_in_the_users_words():
    x = symbol_like(from_numpy(np.ones((4, 8), np.float32)))
    whole = ops.cast(x, i32)
    for function, kind, words in (
        (lambda: ops.matmul(x, x), ShapeMismatch, r"cannot multiply \(4, 8\) by \(4, 8\)"),
        (lambda: ops.add(x, ops.reshape(x, (8, 4))), ShapeMismatch, "do not broadcast"),
        (lambda: ops.softmax(whole), DtypeMismatch, "softmax does not take int32"),
        (lambda: ops.mean(whole), DtypeMismatch, "mean does not take int32"),
        (lambda: ops.max(ops.slice(x, 0, 0, 0)), BadArgument, "max of no elements"),
        (lambda: ops.bitwise_and(x, x), DtypeMismatch, "bitwise_and does not take float32"),
        (lambda: ops.split(x, [1, 1], 0), ShapeMismatch, "pieces of 2 in all"),
        (lambda: ops.layer_norm(x, x), ShapeMismatch, "weight is"),
        (lambda: ops.conv2d(x, x), ShapeMismatch, "x has 2 dimensions, not 4"),
        (lambda: ops.pad(x, [(0, 0), (8, 0)], "reflect"), ShapeMismatch, "too wide"),
        (lambda: ops.gelu(x, "sigmoid"), BadArgument, "gelu is approximated by"),
    ):
        with pytest.raises(kind, match=words):
            function()


def test_shifts_beyond_the_width():
    x, by = np.int8([-3, 5, -128, 1]), np.int8([1, 8, -1, 7])
    assert_same(run(ops.shift_left, x, by), [-6, 0, 0, -128])
    assert_same(run(ops.shift_right, x, by), [-2, 0, -1, 0])
    wide = np.uint64([2**63, 3])
    assert_same(run(ops.shift_right, wide, np.uint64([63, 64])), [1, 0])


def test_running_sums_from_the_end_and_without_the_element():
    x = np.int32([[1, 2, 3], [4, 5, 6]])
    assert_same(run(lambda v: ops.cumsum(v, 1, exclusive=True), x), [[0, 1, 3], [0, 4, 9]])
    assert_same(run(lambda v: ops.cumsum(v, 0, reverse=True), x), [[5, 7, 9], [4, 5, 6]])
    both = lambda v: ops.cumprod(v, -1, exclusive=True, reverse=True)
    assert_same(run(both, x), [[6, 3, 1], [30, 6, 1]])
    assert_same(run(lambda v: ops.cumsum(v, 0, exclusive=True), np.float32(7)), 0)


@pytest.mark.parametrize("of", [i8, u8, i32, u32, i64], ids=str)
def test_sums_and_products_beyond_the_range_of_integers_wrap_around(of):
    limits = np.iinfo(of.numpy)
    x = np.random.default_rng(0).integers(limits.min, limits.max, (3, 70), of.numpy, endpoint=True)
    for function, numpy in ((ops.sum, np.add), (ops.prod, np.multiply)):
        found = run(lambda v, f=function: f(v, 1, dtype=of), x)
        assert_same(found, numpy.reduce(x, 1, dtype=of.numpy))
    for function, numpy in ((ops.cumsum, np.add), (ops.cumprod, np.multiply)):
        found = run(lambda v, f=function: f(v, 1, dtype=of), x)
        assert_same(found, numpy.accumulate(x, 1, dtype=of.numpy))


def test_the_last_of_equal_extremes():
    x = np.float32([[2, 5, 5], [1, 1, 0]])
    assert_same(run(lambda v: ops.argmax(v, 1, last=True), x), [2, 1])
    assert_same(run(lambda v: ops.argmax(v, 1, keepdims=True), x), [[1], [0]])
    assert_same(run(lambda v: ops.argmin(v, last=True), np.float32([3, 0, 0, 1])), 2)


def test_hardmax():
    x = np.float32([[3, 7, 7], [0, -1, -2]])
    assert_same(run(ops.hardmax, x), [[0, 1, 0], [1, 0, 0]])
    assert_same(run(lambda v: ops.hardmax(v, 0), x), [[1, 1, 1], [0, 0, 0]])


def test_a_batch_is_normalised_by_its_own_moments():
    random = np.random.default_rng(0)
    x = random.normal(size=(5, 3, 7)).astype(np.float32)
    old, spread, weight, bias = random.uniform(0.5, 2, (4, 3)).astype(np.float32)
    norm = lambda *o: ops.batch_norm_training(*o, momentum=0.8, eps=1e-3)
    y, mean, var = run(norm, x, old, spread, weight, bias)
    wide = x.astype(np.float64)
    now, apart = wide.mean((0, 2), keepdims=True), wide.var((0, 2), keepdims=True)
    wanted = (wide - now) / np.sqrt(apart + 1e-3) * weight[:, None] + bias[:, None]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mean, 0.8 * old + 0.2 * now.ravel(), rtol=1e-6)
    np.testing.assert_allclose(var, 0.8 * spread + 0.2 * apart.ravel(), rtol=1e-6)
