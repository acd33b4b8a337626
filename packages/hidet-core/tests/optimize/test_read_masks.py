"""Masks that say what `causal` says, or nothing."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
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
