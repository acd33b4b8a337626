"""Batch norms that no weight takes in become a factor and a summand, known before any call."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.graph.apply import apply
from hidet.ops.reductions.channel_norm import BatchNorm
from hidet.optimize import optimize, split
from hidet.optimize.spell_norms import spell_norms
from hidet.testing.graph_passes import kinds, same_value, weight
from hidet.types import f16, f32


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_of_a_sum(affine, last):
    x, y = symbol((2, 6, 5, 6)), symbol((2, 6, 5, 6))
    more = (weight(6), weight(6)) if affine else (None, None)
    options = {"eps": 1e-3, "channels_last": last}
    given = (weight(6), weight(6, low=0.5), *more)
    before = trace_from([apply(BatchNorm, x + y, *given, **options)], [x, y])
    after = spell_norms(before)
    assert set(kinds(split(after).main)) <= {"add", "multiply", "reshape"}
    same_value(before, after)


def test_half_precision_is_computed_in_single():
    x = symbol((3, 8), "float16")
    given = [ops.cast(weight(8, low=0.5), "float16") for _ in range(4)]
    before = trace_from([ops.batch_norm(x, *given)], [x])
    main = split(spell_norms(before)).main
    sums = [node.outputs[0].dtype for node in main.nodes if node.op.name in ("multiply", "add")]
    assert sums == [f32, f32]
    assert main.outputs[0].dtype is f16


def test_what_is_not_known_before_a_call_stays():
    x, mean, var = symbol((3, 8)), symbol((8,)), symbol((8,))
    graph = trace_from([ops.batch_norm(x, mean, var)], [x, mean, var])
    assert spell_norms(graph) is graph
    folded = trace_from([ops.batch_norm(ops.linear(x, weight(8, 8)), weight(8), weight(8))], [x])
    assert kinds(split(optimize(folded)).main) == ["linear"]
