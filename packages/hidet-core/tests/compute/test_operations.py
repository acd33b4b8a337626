"""How many floating-point operations operators are counted as."""

import pytest

import hidet.seams
from hidet.build.choosing.sizes import plan_size
from hidet.build.planning.noted import flops_of
from hidet.graph.operator import OPERATORS
from hidet.ir.expr import Var
from hidet.runtime.plans.sizes import evaluate
from hidet.types import TensorType, f32, i32

hidet.seams.call("load_operators")
Add, Conv, Matmul = (OPERATORS[name] for name in ("add", "conv", "matmul"))


def of(*shape, dtype=f32):
    return TensorType(dtype, shape)


def test_a_multiply_add_is_two():
    assert flops_of(Matmul(of(129, 7), of(7, 31))) == 2 * 129 * 7 * 31
    assert flops_of(Add(of(2, 1), of(1, 7))) == 14
    assert flops_of(Add(of(7, dtype=i32), of(7, dtype=i32))) == 0  # no operation on floats


def test_a_convolution_counts_its_taps():
    found = Conv(of(1, 3, 9, 9), of(8, 3, 3, 3), None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    assert flops_of(found) == 2 * 8 * 7 * 7 * 3 * 3 * 3


def test_open_sizes_stay_open():
    count = flops_of(Matmul(of(Var("n", i32), 7), of(7, 5)))
    assert evaluate(plan_size(count), {"n": 11}) == 2 * 11 * 7 * 5


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_operator_is_counted(name):
    kind = OPERATORS[name]
    if kind.kind == "kernels":
        for op in kind.samples():
            plan_size(flops_of(op))
