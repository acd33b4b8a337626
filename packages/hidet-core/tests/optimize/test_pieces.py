"""Where constants lie in those that are made of them by moving: against numpy."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import asarray, evaluate, symbol
from hidet.graph.apply import tracing
from hidet.graph.flow import FlowGraph
from hidet.optimize.pieces import pieces


def numbers(*shape, start=0):
    return asarray(np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape))


A, B, C = numbers(3, 4), numbers(5, 4, start=100), numbers(3, 4, start=200)
D, E, F = numbers(3, 2, start=300), numbers(2, 8, start=400), numbers(6, 4, start=500)
WEIGHT = numbers(2, 3, 4, 5)
MOVED = {
    "rows after rows": (lambda: ops.concat([A, B, C], 0), 3),
    "columns beside columns": (lambda: ops.concat([A, C, D], 1), 3),
    "in turns": (lambda: ops.reshape(ops.stack([A, C], 1), (6, 4)), 2),
    "parts of parts": (lambda: ops.concat([ops.concat([A, C], 1), E], 0), 3),
    "iterations of parts": (lambda: ops.stack([ops.concat([A, C], 0), F], 1), 3),
    "channels last": (lambda: ops.permute(WEIGHT, (0, 2, 3, 1)), 1),
    "other shapes": (lambda: ops.concat([ops.reshape(A, (12,)), ops.reshape(B, (20,))], 0), 2),
    "turned, then joined": (lambda: ops.concat([ops.transpose(A), ops.transpose(C)], 0), 2),
}


@pytest.mark.parametrize("case", MOVED)
def test_pieces_are_where_the_values_are(case):
    make, count = MOVED[case]
    with tracing():
        made = make()
    found = pieces(made)
    assert len(found) == count
    (whole,) = evaluate(FlowGraph((), (made,)))
    flat = np.ascontiguousarray(whole, np.float32).reshape(-1)
    for each in found:
        own = each.source.numpy()
        strides = [4 * stride for stride in each.strides]
        part = np.lib.stride_tricks.as_strided(flat[each.offset :], own.shape, strides)
        np.testing.assert_array_equal(part, own)


COMPUTED = {
    "a sum": lambda: A + C,
    "one of them computed": lambda: ops.concat([A, ops.relu(C)], 0),
    "twice the same": lambda: ops.concat([A, A], 0),
    "another type": lambda: ops.cast(A, "float16"),
    "a part": lambda: ops.concat([B[1:], C], 0),
    "an input": lambda: symbol((3, 4), "float32", device="cpu"),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_what_is_computed_has_none(case):
    with tracing():
        assert pieces(COMPUTED[case]()) == ()
