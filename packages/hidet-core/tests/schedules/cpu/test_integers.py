"""Products of 8-bit integers on the CPU: exact for all instruction sets, signs and odd sizes."""

from itertools import product

import numpy as np
import pytest

import hidet
from hidet import sim
from hidet.ir.expr import Var
from hidet.ops.products.matmul import Matmul
from hidet.schedules.base import candidates
from hidet.schedules.cpu.matmul import MatmulRegisters, matmul_panels
from hidet.schedules.cpu.panel_elements import BYTES, PAIRS, elements_of
from hidet.schedules.cpu.panel_layout import STORED
from hidet.schedules.product import product_of
from hidet.target import Target
from hidet.types import f32, i8, i16, i32, u8

VNNI, WIDE, HALF, PLAIN = map(
    Target.parse, ("cpu+avx512+vnni", "cpu+avx512", "cpu+avx2", "cpu")
)  # fmt: skip
SIGNS = list(product((i8, u8), repeat=2))
M = Var("m", i32)
FLAT, TURNED = MatmulRegisters(6, 2, False), MatmulRegisters(4, 1, True)
SIZES = [(1, 1, 1), (2, 7, 129), (13, 129, 37), (7, 3, 2)]


def matmul(a, b, m, k, n, *turned):
    """The product of 8-bit integers in int32."""
    left = a[k, m] if turned and turned[0] else a[m, k]
    right = b[n, k] if turned and turned[1] else b[k, n]
    return Matmul(left, right, *(turned or (False, False)), dtype=i32)


CASES = [
    *(
        (matmul(*signs, *sizes), target, point)
        for signs in SIGNS
        for sizes in SIZES[1:3]
        for target in (VNNI, WIDE, HALF, PLAIN)
        for point in (FLAT, TURNED)
    ),
    *((matmul(i8, i8, *sizes), VNNI, FLAT) for sizes in SIZES),
    *(
        (matmul(u8, i8, 13, 37, 5, *turned), VNNI, FLAT)
        for turned in product((False, True), repeat=2)
    ),
    *(
        (matmul(i8, i8, 13, 37, 5, *turned), HALF, TURNED)
        for turned in product((False, True), repeat=2)
    ),
    (Matmul(u8[2, 3, 9, 19], i8[3, 19, 8], dtype=i32), VNNI, FLAT),
    (Matmul(i8[M, 33], i8[33, 20], dtype=i32), VNNI, FLAT),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([matmul_panels(op, target, point).module for op, target, point in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_products_are_exact(library, number):
    op = CASES[number][0].with_sizes(lambda size: 11)
    a, b = extremes(op, number)
    found = np.full(op.infer().shape, 77, np.int32)
    library(number, a, b, found, m=11)
    np.testing.assert_array_equal(found, op.reference(a.astype(np.int64), b.astype(np.int64)))


@pytest.mark.parametrize("target", [VNNI, PLAIN], ids=str)
@pytest.mark.parametrize("signs", SIGNS, ids=str)
def test_the_simulator_agrees(target, signs):
    op = matmul(*signs, 3, 7, 5)
    a, b = extremes(op, 1)
    found = sim.empty((3, 5), "int32")
    sim.launch(matmul_panels(op, target, MatmulRegisters(2, 1, False)).module, a, b, found)
    np.testing.assert_array_equal(found, op.reference(a.astype(np.int64), b.astype(np.int64)))


def extremes(op, seed):
    """Operands half of whose elements are the largest or the smallest there are."""
    rng = np.random.default_rng(seed)
    for of in (op.a, op.b):
        info = np.iinfo(of.dtype.numpy)
        values = rng.integers(info.min, info.max, of.shape, endpoint=True)
        ends = rng.choice([info.min, info.max], of.shape)
        yield np.where(rng.random(of.shape) < 0.5, ends, values).astype(of.dtype.numpy)


@pytest.mark.parametrize("target", ["cpu", "cpu+avx2", "cpu+avx512", None])
def test_code_for_other_machines_is_exact(target):
    op = matmul(i8, u8, 7, 129, 13)
    a, b = extremes(op, 3)
    x, y = hidet.from_numpy(a), hidet.from_numpy(b)
    operands = [hidet.symbol(each.shape, each.dtype) for each in (x, y)]
    graph = hidet.trace_from(hidet.ops.matmul(*operands, dtype=i32), operands)
    found = graph.build(*([target] if target else []))(x, y)
    np.testing.assert_array_equal(found.numpy(), a.astype(np.int32) @ b.astype(np.int32))


def test_bytes_meet_where_the_machine_multiplies_them():
    def held(a, b, flip, target):
        return elements_of(product_of(matmul(a, b, 4, 4, 4)), flip, target)

    assert held(u8, i8, False, VNNI) is held(i8, i8, False, VNNI) is BYTES
    assert held(i8, u8, True, VNNI) is BYTES
    assert held(u8, u8, False, VNNI) is held(u8, i8, False, WIDE) is PAIRS


def test_products_of_bytes_are_expected_to_be_faster_than_those_of_floats():
    def seconds(a, b, dtype, target):
        return candidates(Matmul(a[128, 768], b[768, 768], dtype=dtype), target)[0].seconds

    assert 3 * seconds(u8, i8, i32, VNNI) < seconds(f32, f32, None, VNNI)
    assert seconds(u8, i8, i32, VNNI) < seconds(u8, i8, i32, WIDE)


def test_other_integers_are_left_to_the_definition():
    assert not candidates(Matmul(i16[5, 6], i8[6, 7], dtype=i32), VNNI)
    assert not candidates(Matmul(i8[5, 6], i8[6, 7]), VNNI)


def test_tiles_of_integers_are_as_large_as_registers_allow():
    """What sums wait to be stored is measured for floats; see `WAIT`."""
    for m, k, n in ((3136, 64, 256), (784, 128, 512)):
        first = candidates(matmul(u8, i8, m, k, n, False, True), VNNI)[0].point
        assert first.rows * first.vectors * 64 > STORED
