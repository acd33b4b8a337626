import numpy as np

from hidet.compute import Computed, Definition, Input, evaluate, has_reduction, inline
from hidet.compute.functions import exp, rsqrt
from hidet.ir.walk import find
from hidet.types import f32

x = Input("x", f32[4, 5])


def stages(definition):
    return [each for each in find(definition.outputs, Computed)]


def test_chains_become_one_stage():
    chain = Definition((x,), (exp(exp(x) + 1.0) * 2.0,))
    assert len(stages(chain)) == 4
    assert len(stages(inline(chain))) == 1


def test_reductions_stay_and_are_shared():
    wide = x - x.mean((1,))
    y = wide * rsqrt((wide * wide).mean((1,)) + 1e-5)
    after = inline(Definition((x,), (y, y + 1.0)))
    reducing = [each for each in stages(after) if has_reduction(each.value)]
    assert len(reducing) == 2
    assert len(stages(after)) == 4


def test_the_meaning_stays():
    y = Definition((x,), (exp(x - x.max((1,))) / exp(x - x.max((1,))).sum((1,)),))
    values = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(y, values)[0], evaluate(inline(y), values)[0])
