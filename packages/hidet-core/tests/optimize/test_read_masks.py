"""Masks that say what `causal` says, or nothing."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.optimize.find.read_masks import read_masks
from hidet.testing.graph_passes import kinds, same_value
from hidet.types import boolean, f32, i64

Q, K = symbol((2, 3, 5, 8)), symbol((2, 3, 7, 8))
V = symbol((2, 3, 7, 4))


def rows():
    return ops.unsqueeze(ops.arange(0, 5, 1, dtype=i64), 1)


def columns():
    return ops.arange(0, 7, 1, dtype=i64)


def attended(make, *more):
    with tracing():
        mask = make()
    graph = trace_from([ops.attention(Q, K, V, mask)], [Q, K, V, *more])
    after = read_masks(graph)
    same_value(graph, after, 1e-6)
    return graph, after


def lower():
    return ops.less_equal(columns(), rows())


@pytest.mark.parametrize(
    "mask",
    [
        lower,
        lambda: ops.logical_and(ops.full((), True, boolean), ops.unsqueeze(lower(), (0, 1))),
        lambda: ops.where(lower(), ops.full((), 0.0, f32), ops.full((), -3e38, f32)),
    ],
)
def test_what_causal_keeps(mask):
    _, after = attended(mask)
    assert kinds(after) == ["attention"]
    assert after.nodes[0].op.causal
    assert after.nodes[0].op.mask is None


def test_what_keeps_everything():
    _, after = attended(lambda: ops.full((5, 7), True, boolean))
    assert kinds(after) == ["attention"]
    assert not after.nodes[0].op.causal


@pytest.mark.parametrize(
    "mask",
    [
        lambda: ops.less(columns(), rows()),
        lambda: ops.where(lower(), ops.full((), 0.0, f32), ops.full((), -3.0, f32)),
        lambda: from_numpy(np.tri(5, 7, dtype=bool)),
    ],
)
def test_other_masks_stay(mask):
    before, after = attended(mask)
    assert after is before


def test_a_mask_of_an_input_stays():
    given = symbol((5, 7), boolean)
    before, after = attended(lambda: ops.logical_and(lower(), given), given)
    assert after is before


LENGTH = symbol(("n",)).shape[0]


def positions():
    return ops.iota(LENGTH)


def texts():
    """Which of several packed texts each place belongs to, as transformers finds it: another one
    wherever positions do not go on. Here they do."""
    at = ops.unsqueeze(positions(), 0)
    before = ops.concat([at[:, :1] - 1, at], 1)[:, :LENGTH]
    return ops.cumsum(ops.cast(ops.not_equal(at - before, 1), i64), 1)


def together():
    """Whether two places belong to one text."""
    each = texts()[0][positions()]
    return ops.equal(ops.reshape(each, (1, LENGTH, 1)), ops.reshape(each, (1, 1, LENGTH)))


def open_lower():
    return ops.less_equal(positions(), ops.unsqueeze(positions(), 1))


def open_attended(make, *more):
    """Attention of a length that only calls tell, before and after the pass."""
    q, k, v = (symbol((2, 3, LENGTH, width)) for width in (8, 8, 4))
    with tracing():
        mask = make()
    graph = trace_from([ops.attention(q, k, v, mask)], [q, k, v, *more])
    after = read_masks(graph)
    for size in (1, 5):
        shapes = [[size if each is LENGTH else each for each in x.shape] for x in graph.inputs]
        arrays = [np.random.default_rng(0).standard_normal(shape) for shape in shapes]
        for one, other in zip(evaluate(graph, *arrays), evaluate(after, *arrays), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    return graph, after


@pytest.mark.parametrize(
    "mask",
    [
        open_lower,
        lambda: ops.logical_and(open_lower(), together()),
        lambda: ops.where(open_lower(), ops.full((), 0.0, f32), ops.full((), -3e38, f32)),
        lambda: ops.equal(
            ops.cumsum(ops.full((LENGTH, LENGTH), 1, i64), 1) - 1,
            ops.minimum(positions(), ops.unsqueeze(positions(), 1)),
        ),
    ],
)
def test_what_causal_keeps_of_any_length(mask):
    _, after = open_attended(mask)
    assert kinds(after) == ["attention"]
    assert after.nodes[0].op.causal


def test_what_keeps_everything_of_any_length():
    _, after = open_attended(together)
    assert kinds(after) == ["attention"]
    assert not after.nodes[0].op.causal


@pytest.mark.parametrize(
    "mask",
    [
        lambda: ops.less_equal(positions() - 1, ops.unsqueeze(positions(), 1)),
        lambda: ops.less(positions(), ops.unsqueeze(positions(), 1)),
        lambda: ops.less_equal(ops.unsqueeze(positions(), 1), positions()),
        lambda: ops.less_equal(ops.unsqueeze(positions(), 0), ops.full((1, 1), 3, i64)),
        lambda: ops.where(open_lower(), ops.full((), 0.0, f32), ops.full((), -3.0, f32)),
    ],
)
def test_other_masks_of_any_length_stay(mask):
    before, after = open_attended(mask)
    assert after is before


def test_a_mask_of_an_input_of_any_length_stays():
    given = symbol((LENGTH, LENGTH), boolean)
    before, after = open_attended(lambda: ops.logical_and(open_lower(), given), given)
    assert after is before
