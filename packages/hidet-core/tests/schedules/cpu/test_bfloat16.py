"""Products and convolutions of bfloat16 on the CPU, in pairs: by the instruction, or as a loop."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Var
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import candidates
from hidet.schedules.cpu.conv_last import conv_last
from hidet.schedules.cpu.conv_last_layout import PixelTile
from hidet.schedules.cpu.matmul import MatmulRegisters, matmul_panels
from hidet.schedules.cpu.panel_elements import NARROW, elements_of
from hidet.schedules.product import product_of
from hidet.target import Target
from hidet.toolchain import flags_for, probe_isa
from hidet.types import bf16, f16, f32, i32

PAIRS, WIDE = Target.parse("cpu+avx512+bf16"), Target.parse("cpu+avx512")
M, K = Var("m", i32), Var("k", i32)
FLAT, TURNED = MatmulRegisters(6, 2, False), MatmulRegisters(4, 1, True)

OPERATORS = [
    Linear(bf16[1, 1], bf16[1, 1], None),
    Linear(bf16[33, 129], bf16[7, 129], bf16[7]),
    Linear(bf16[2, 3, 513], bf16[130, 513], None),
    Matmul(bf16[127, 31], bf16[31, 37]),
    Matmul(bf16[29, 17], bf16[13, 29], True, True),
    Matmul(bf16[2, 3, 17, 9], bf16[3, 9, 8]),
    Linear(bf16[M, 33], bf16[20, 33], bf16[20]),
    Matmul(bf16[2, 5, K], bf16[2, K, 9]),
]
ONE, SAME = (1, 1), ((1, 1), (1, 1))


def last(x, weight, stride=ONE, around=((0, 0), (0, 0)), dilation=ONE, groups=1, bias=True):
    shift = bf16[weight.shape[0]] if bias else None
    return Conv(x, weight, shift, stride, around, dilation, groups, True)


CONVOLUTIONS = [
    last(bf16[2, 13, 11, 7], bf16[33, 3, 3, 7], (2, 1), SAME),
    last(bf16[1, 7, 7, 600], bf16[17, 3, 3, 600], ONE, SAME),  # several stretches
    last(bf16[1, 31, 29, 3], bf16[9, 7, 7, 3], (2, 2), ((3, 3), (3, 3)), bias=False),  # in planes
    last(bf16[1, 9, 9, 6], bf16[40, 3, 3, 3], ONE, SAME, (2, 1), 2),  # groups of three channels
    last(bf16[1, 9, 9, 22], bf16[40, 3, 3, 11], ONE, SAME, ONE, 2),
    last(bf16[1, 8, 9, 40], bf16[129, 1, 1, 40], (2, 3)),
    last(bf16[2, 19, 5], bf16[7, 3, 5], (2,), ((2, 1),), (2,)),  # one axis
    last(bf16[1, 3, 5, 7, 1], bf16[9, 2, 3, 3, 1], (1, 2, 1), ((1, 0), (1, 1), (0, 2)), (2, 1, 1)),
    last(bf16[1, 5, 6, 1024], bf16[3, 2, 2, 1024], ONE, ((0, 1), (1, 0))),  # pixels kept apart
]
CASES = [(op, matmul_panels(op, PAIRS, p).module) for op in OPERATORS for p in (FLAT, TURNED)]
CASES += [(op, conv_last(op, PAIRS, PixelTile(14, 2)).module) for op in CONVOLUTIONS]


def flags(kind):
    """What the compiler is told; without the name of the instruction it gets a loop."""
    if kind == "instruction" and "bf16" not in probe_isa():
        pytest.skip("this CPU has no vdpbf16ps")
    return flags_for(PAIRS) if kind == "instruction" else ()


@pytest.fixture(scope="module", params=["instruction", "loop"])
def library(compile_modules, request):
    return compile_modules([module for _, module in CASES], *flags(request.param))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_products(library, number, check):
    op, _ = CASES[number]
    for size in (1, 37):
        fixed = op.with_sizes(lambda _, size=size: size)
        arrays = fixed.examples(seed=number)
        result = fixed.results()[0]
        found = np.full(result.shape, 77, result.dtype.numpy)
        library(number, *arrays, found, m=size, k=size)
        check(fixed, arrays, found)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 7, 3), (3, 129, 5), (7, 2, 17)])
def test_the_simulator_agrees(sizes, check):
    m, k, n = sizes
    op = Linear(bf16[m, k], bf16[n, k], bf16[n])
    arrays = op.examples(seed=1)
    found = sim.empty((m, n), "bfloat16")
    sim.launch(matmul_panels(op, PAIRS, MatmulRegisters(2, 1, False)).module, *arrays, found)
    check(op, arrays, found)


def test_only_bfloat16_is_held_in_pairs_and_only_where_the_machine_multiplies_it():
    def held(a, b, target):
        return elements_of(product_of(Matmul(a[4, 4], b[4, 4])), False, target)

    assert held(bf16, bf16, PAIRS) is NARROW
    assert held(bf16, bf16, WIDE).rows is held(f16, f16, PAIRS).rows is f32


def test_it_is_expected_to_be_faster_than_float32():
    def seconds(of, target):
        return candidates(Linear(of[128, 768], of[768, 768], None), target)[0].seconds

    assert 1.7 * seconds(bf16, PAIRS) < seconds(f32, PAIRS) == seconds(bf16, WIDE)
