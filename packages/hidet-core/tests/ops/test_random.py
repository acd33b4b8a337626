"""Random numbers: known bits, the moments of distributions, streams that differ, limits."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run

MANY = (200, 500)


def test_a_counter_gives_up_to_four_words():
    """The known answer of the authors for a counter and key of zeros."""
    four = run(lambda: ops.random_bits((2, 4), seed=0, words=4))
    assert four[0].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    np.testing.assert_array_equal(four[:, 0], run(lambda: ops.random_bits((2,), seed=0)))
    three = run(lambda: ops.random_bits((2, 3), seed=0, words=3))
    np.testing.assert_array_equal(four[:, :3], three)


def test_the_known_answer_of_philox():
    assert run(lambda: ops.random_bits((1,), seed=0)).item() == 0x6627E8D5


def test_an_offset_goes_on_where_another_call_ended():
    whole = run(lambda: ops.random_bits((9,), seed=3))
    rest = run(lambda o: ops.random_bits((5,), seed=3, offset=o), np.int64(4))
    np.testing.assert_array_equal(rest, whole[4:])
    other = run(lambda: ops.random_bits((9,), seed=3, stream=1))
    assert not np.any(other == whole)


def test_calls_draw_the_same_unless_they_count_on():
    """A seed is no state: who wants others in each call keeps an offset."""
    first, again = (run(lambda: ops.random_uniform((9,), seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    draw = lambda offset: ops.random_uniform((9,), seed=3, offset=offset)
    counted = [run(draw, np.int64(at)) for at in (0, 9)]
    np.testing.assert_array_equal(counted[0], first)
    assert not np.any(counted[1] == first)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_uniform(dtype):
    found = run(lambda: ops.random_uniform(MANY, -1, 3, seed=1, dtype=dtype)).astype(np.float64)
    assert found.min() >= -1
    assert found.max() <= 3
    np.testing.assert_allclose(found.mean(), 1, atol=0.02)
    np.testing.assert_allclose(found.var(), 16 / 12, rtol=0.02)


def test_normal():
    found = run(lambda: ops.random_normal(MANY, 2, 3, seed=1))
    assert np.isfinite(found).all()
    centred = (found.astype(np.float64) - 2) / 3
    moments = [np.mean(centred**power) for power in (1, 2, 3, 4)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.06)


def test_bernoulli():
    p = np.linspace(0, 1, 5, dtype=np.float32).repeat(20_000).reshape(5, -1)
    found = run(lambda v: ops.bernoulli(v, seed=2, dtype="float32"), p)
    np.testing.assert_allclose(found.mean(1), p[:, 0], atol=0.02)
    assert not found[0].any()
    assert found[4].all()


def test_multinomial():
    p = np.array([[0.1, 0.0, 0.6, 0.3], [0.25, 0.25, 0.25, 0.25]])
    with np.errstate(divide="ignore"):
        logits = np.log(p * 7).astype(np.float32)
    found = run(lambda v: ops.multinomial(v, 20_000, seed=5, dtype="int32"), logits)
    assert found.dtype == np.int32
    shares = np.stack([np.bincount(row, minlength=4) / 20_000 for row in found])
    np.testing.assert_allclose(shares, p, atol=0.02)
    with pytest.raises(ShapeMismatch, match="multinomial"):
        ops.multinomial(symbol([3]), 2, seed=0)


def test_dropout():
    x = np.random.default_rng(0).uniform(1, 2, MANY).astype(np.float32)
    y, stays = run(lambda v: ops.dropout(v, 0.25, training=True, seed=1), x)
    np.testing.assert_allclose(stays.mean(), 0.75, atol=0.01)
    np.testing.assert_allclose(y, np.where(stays, x / 0.75, 0), rtol=1e-6)
    y, stays = run(lambda v: ops.dropout(v, 0.25), x)
    np.testing.assert_array_equal(y, x)
    assert stays.all()
    with pytest.raises(BadArgument, match=r"ratio of 1\.0"):
        ops.dropout(symbol([3]), 1.0)
