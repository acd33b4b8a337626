"""Products on the CPU against numpy, for every kind of tile and odd sizes."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Var
from hidet.ir.stmt import For, LoopKind
from hidet.ir.walk import find
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.base import candidates
from hidet.schedules.cpu import matvec_columns, panel_layout
from hidet.schedules.cpu.matmul import MatmulRegisters, matmul_panels
from hidet.schedules.cpu.matvec import Columns, matvec
from hidet.schedules.cpu.panel_layout import STORED, Panels
from hidet.schedules.product import product_of
from hidet.target import Target
from hidet.types import bf16, f16, f32, f64, i32

TARGET = Target.parse("cpu+avx512")
M = Var("m", i32)

PANELS = [
    (Linear(f32[33, 129], f32[7, 129], f32[7]), MatmulRegisters(14, 2, False)),
    (Linear(f32[33, 129], f32[7, 129], f32[7]), MatmulRegisters(12, 2, True)),
    (Linear(f32[2, 3, 33], f32[130, 33], None), MatmulRegisters(8, 3, False)),
    (Matmul(f32[127, 31], f32[31, 37]), MatmulRegisters(6, 4, False)),
    (Matmul(f32[127, 31], f32[31, 37]), MatmulRegisters(4, 1, True)),
    (Matmul(f32[29, 17], f32[13, 29], True, True), MatmulRegisters(2, 2, False)),
    (Matmul(f32[29, 17], f32[13, 29], True, True), MatmulRegisters(14, 1, True)),
    (Matmul(f64[3, 9, 19], f64[3, 19, 8]), MatmulRegisters(6, 2, False)),
    (Matmul(f64[2, 1, 9, 19], f64[3, 19, 8]), MatmulRegisters(6, 2, True)),
    (Matmul(f16[2, 3, 17, 9], f16[3, 9, 8]), MatmulRegisters(8, 2, False)),
    (Matmul(bf16[4, 16], bf16[2, 16, 3]), MatmulRegisters(8, 2, True)),
    (Matmul(f32[5, 3, 7], f32[7, 2]), MatmulRegisters(8, 1, False)),
    (Linear(f32[53, 300], f32[24, 300], f32[24]), MatmulRegisters(8, 3, False)),
    (Linear(f32[509, 300], f32[24, 300], f32[24]), MatmulRegisters(8, 3, False)),
    (Linear(f32[509, 7], f32[129, 7], f32[129]), MatmulRegisters(12, 2, False)),
    (Linear(f32[509, 1301], f32[24, 1301], None), MatmulRegisters(14, 2, False)),  # long panels
]
VECTORS = [
    (Linear(f32[129], f32[33, 129], f32[33]), Columns(8)),
    (Linear(f16[3, 64], f16[7, 64], None), Columns(4)),
    (Matmul(f32[2, 5, 1, 33], f32[5, 33, 70]), Columns(16)),
    (Matmul(f64[4, 33], f64[33, 129]), Columns(8)),
    (Matmul(f32[33, 2], f32[33, 19], True, False), Columns(8)),
    (Matmul(bf16[2, 7], bf16[3, 7], False, True), Columns(8)),
    (Linear(bf16[4, 130], bf16[13, 130], bf16[13]), Columns(16)),
    (Linear(f16[1, 129], f16[9, 129], None), Columns(6)),
    (Matmul(f16[3, 17], f16[17, 1030]), Columns(8)),
    (Matmul(bf16[1, 7], bf16[7, 515]), Columns(8)),
    (Matmul(f32[2, 1], f32[1, 1]), Columns(8)),
    (Matmul(f32[1, 13], f32[13, 1024]), Columns(8)),
    (Matmul(bf16[1, 1031], bf16[1031, 1030]), Columns(8)),  # threads share k
    (Matmul(f16[2, 2, 1, 523], f16[2, 523, 2050]), Columns(8)),
    (Matmul(f32[3, 17], f32[17, 4099]), Columns(8)),  # several blocks of columns
    (Linear(f32[2, 33], f32[331, 33], f32[331]), Columns(8)),
    (Linear(f32[4, 17], f32[131, 17], f32[131]), Columns(8)),
]
AVX2 = Target.parse("cpu+avx2")
SYMBOLIC = [
    (Linear(f32[M, 33], f32[20, 33], f32[20]), MatmulRegisters(14, 2, False)),
    (Linear(f32[M, 33], f32[20, 33], f32[20]), MatmulRegisters(12, 2, True)),
    (Linear(f32[M, 2, 300], f32[20, 300], f32[20]), MatmulRegisters(8, 1, False)),
    (Matmul(f16[3, M, 17], f16[3, 17, 40]), MatmulRegisters(2, 2, False)),
    (Matmul(f32[2, 5, M], f32[2, M, 9]), MatmulRegisters(8, 2, False)),
]
SYMBOLIC_VECTORS = [
    (Matmul(f32[2, 1, M], f32[2, M, 9]), Columns(8)),
    (Matmul(f32[3, 1, 19], f32[3, M, 19], False, True), Columns(8)),
    (Matmul(f32[3, 19], f32[19, M]), Columns(8)),
    (Matmul(bf16[2, M], bf16[9, M], False, True), Columns(8)),
]


def for_a_team(op, point):
    """The kernels of a product, small as it is, as those of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panel_layout, "SMALL", 0)
        return matmul_panels(op, TARGET, point).module


CASES = [
    *((op, for_a_team(op, point)) for op, point in PANELS + SYMBOLIC),
    *((op, matvec(op, TARGET, point).module) for op, point in SYMBOLIC_VECTORS),
    *((op, matvec(op, TARGET, point).module) for op, point in VECTORS),
    *((op, matvec(op, AVX2, Columns(6)).module) for op, _ in VECTORS),
    *((op, matmul_panels(op, TARGET, point).module) for op, point in PANELS),
    *((op, matmul_panels(op, AVX2, MatmulRegisters(7, 1)).module) for op, _ in PANELS),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([module for _, module in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_products(library, number, check):
    op, _ = CASES[number]
    symbolic = number - len(PANELS) in range(len(SYMBOLIC) + len(SYMBOLIC_VECTORS))
    for m in (1, 2, 7, 37, 530) if symbolic else (0,):
        fixed = op.with_sizes(lambda size, m=m: m)
        arrays = fixed.examples(seed=number)
        result = fixed.results()[0]
        found = np.full(result.shape, 77, result.dtype.numpy)
        library(number, *arrays, found, m=m)
        check(fixed, arrays, found)


@pytest.mark.parametrize("size", [1, 2, 7, 129])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("n", [7, 67])
def test_the_simulator_agrees_on_few_rows(size, turned, n, check):
    op = Matmul(f32[2, size], f32[n, size] if turned else f32[size, n], False, turned)
    arrays = op.examples(seed=size)
    found = sim.empty((2, n), "float32")
    sim.launch(matvec(op, TARGET, Columns(8)).module, *arrays, found)
    check(op, arrays, found)


@pytest.mark.parametrize("k", [1, 2, 7, 129, 257])
@pytest.mark.parametrize("of", [f32, bf16, f16], ids=str)
def test_the_simulator_agrees_on_parts_of_k_that_threads_share(k, of, check, monkeypatch):
    monkeypatch.setattr(matvec_columns, "PART", 64)
    op = Matmul(of[2, k], of[k, 37])
    cut = matvec_columns.Blocks(product_of(op), TARGET)
    assert (cut.parts > 1) == (k > 16)
    assert cut.rows * (cut.parts - 1) < k <= cut.rows * cut.parts
    arrays = op.examples(seed=k)
    found = sim.empty((2, 37), of.name)
    sim.launch(matvec(op, TARGET, Columns(8)).module, *arrays, found)
    check(op, arrays, found)


@pytest.mark.parametrize("m", [1, 2, 7, 129])
@pytest.mark.parametrize("k", [33, 300])
def test_the_simulator_agrees_on_rows_that_a_call_tells(m, k, check):
    """Tiles of fewer rows where there are no more; 300 is summed in two stretches."""
    op = Linear(f32[M, k], f32[20, k], f32[20])
    fixed = op.with_sizes(lambda size: m)
    arrays = fixed.examples(seed=m)
    found = sim.empty((m, 20), "float32")
    sim.launch(matmul_panels(op, TARGET, MatmulRegisters(7, 1, False)).module, *arrays, found)
    check(fixed, arrays, found)


@pytest.mark.parametrize("m", [1, 2, 7, 129, 509])
@pytest.mark.parametrize("n", [24, 5])
def test_the_simulator_agrees_on_half_vectors_and_even_tiles(m, n, check):
    """509 rows are enough for threads to make panels of rows of their own."""
    op = Linear(f32[m, 17], f32[n, 17], f32[n])
    arrays = op.examples(seed=m)
    found = sim.empty((m, n), "float32")
    sim.launch(matmul_panels(op, TARGET, MatmulRegisters(8, 3, False)).module, *arrays, found)
    check(op, arrays, found)


def panels_of(op, point, target=TARGET):
    return Panels(product_of(op), point, target)


def test_tiles_are_of_almost_one_height():
    op = Linear(f32[49, 960], f32[160, 960], None)
    assert panels_of(op, MatmulRegisters(12, 2, False)).height == 10  # 50 rows instead of 60
    assert panels_of(op, MatmulRegisters(14, 2, True)).height == 14  # 160 columns: 12 tiles


def test_tiles_store_no_more_than_the_machine_does_while_it_goes_on():
    for m, k, n in ((3136, 64, 256), (12544, 16, 96), (128, 768, 3072)):
        first = candidates(Linear(f32[m, k], f32[n, k], None), TARGET)[0].point
        assert first.rows * first.vectors * 16 * 4 <= STORED
    # Vectors of AVX2 are half as long, and so are all tiles that its registers hold.
    narrow = candidates(Linear(f32[3136, 64], f32[256, 64], None), AVX2)[0].point
    assert narrow.rows * narrow.vectors >= 8


def test_vectors_are_halved_where_they_would_be_filled_in_part():
    narrow = Linear(f32[3136, 96], f32[24, 96], None)
    assert panels_of(narrow, MatmulRegisters(8, 3, False)).width == 24
    assert panels_of(narrow, MatmulRegisters(14, 2, False)).width == 32
    whole = Linear(f32[3136, 96], f32[32, 96], None)
    assert panels_of(whole, MatmulRegisters(8, 4, False)).lanes == 16
    few = Linear(f32[3136, 96], f32[3, 96], None)
    for isa, lanes in (("cpu", 4), ("cpu+avx2", 8)):  # shorter ones are no faster there
        assert panels_of(few, MatmulRegisters(4, 2, False), Target.parse(isa)).lanes == lanes


def test_what_a_thread_makes_for_itself_needs_no_memory():
    own = panels_of(Linear(f32[3136, 256], f32[64, 256], None), MatmulRegisters(14, 2, False))
    assert own.at_once
    assert own.row_panels.shape[0] == 1
    deep = panels_of(Linear(f32[3136, 8192], f32[32, 8192], None), MatmulRegisters(14, 2, False))
    assert not deep.at_once  # 458 KB are too much for a stack
    assert deep.row_panels.shape[0] == 224


@pytest.mark.parametrize(("m", "k"), [(49, 512), (196, 256), (128, 96), (200, 37)])
def test_tiles_ask_for_all_of_the_next_panel(m, k):
    t = panels_of(Linear(f32[m, k], f32[256, k], None), MatmulRegisters(8, 2, False))
    assert t.prefetches
    each = -(-t.width // t.row_tiles)
    starts = (t.ahead(3, number, 0) for number in range(t.row_tiles))
    asked = {(first + step * each) // 16 for first in starts for step in range(k)}
    assert asked >= set(range(4 * k * t.width // 16, 5 * k * t.width // 16))


def test_only_a_weight_that_comes_from_memory_is_asked_for():
    own = Linear(f32[3136, 256], f32[64, 256], None)  # rows meet all of it, in the cache
    assert not panels_of(own, MatmulRegisters(14, 2, False)).prefetches
    rows = Linear(f32[49, 512], f32[256, 512], None)
    assert not panels_of(rows, MatmulRegisters(14, 2, True)).prefetches
    both = Matmul(f32[2, 128, 256], f32[2, 256, 512])
    assert not panels_of(both, MatmulRegisters(8, 2)).prefetches


def test_one_thread_does_what_is_small():
    small = matmul_panels(Linear(f32[7, 129], f32[257, 129], None), TARGET, MatmulRegisters(14, 2))
    assert not [each for k in small.module.kernels for each in loops_of_the_team(k)]
    assert [each.name for each in small.module.workspaces] == ["columns"]
    large = matmul_panels(Linear(f32[7, 512], f32[257, 512], None), TARGET, MatmulRegisters(14, 2))
    assert all(loops_of_the_team(kernel) for kernel in large.module.kernels)
    assert [each.name for each in large.module.workspaces] == ["rows", "columns"]
    assert not panels_of(Linear(f32[M, 3], f32[2, 3], None), MatmulRegisters(14, 2)).is_small


def loops_of_the_team(kernel):
    return [each for each in find(kernel.body, For) if each.kind is LoopKind.PARALLEL]


@pytest.mark.parametrize("isa", ["cpu", "cpu+avx2", "cpu+avx512"])
def test_sums_fit_the_registers(isa):
    target = Target.parse(isa)
    for op in (Linear(f32[128, 768], f32[768, 768], None), Linear(f32[2, 768], f32[9, 768], None)):
        found = candidates(op, target)
        assert found
        vectors = [
            each.point.rows * each.point.vectors
            for each in found
            if isinstance(each.point, MatmulRegisters)
        ]
        assert all(count < target.max_registers_per_thread for count in vectors)


def test_nothing_to_multiply_is_left_to_the_definition():
    assert not candidates(Matmul(f32[3, 0], f32[0, 4]), TARGET)
    assert not candidates(Matmul(i32[3, 4], i32[4, 5]), TARGET)
