"""Every narrow type to and from every other type, compiled for the CPU and in the simulator."""

import ctypes

import numpy as np
import pytest

from hidet.codegen.cpu import FLAGS, emit
from hidet.ir.expr import Add, Builtin, Cast, Const, Lane, Load, Pack, Select, Var
from hidet.ir.functions import call
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, For, Store
from hidet.ir.walk import postorder
from hidet.passes.arithmetic.narrow_casts import narrow_casts
from hidet.passes.pipeline import lower
from hidet.sim import launch
from hidet.toolchain import compile_cpp
from hidet.types import (
    DTYPES,
    PointerType,
    Scope,
    TensorType,
    VectorType,
    f4e2m1,
    f8e4m3,
    f8e4m3fnuz,
    f8e8m0,
    f16,
    f32,
    i4,
    i32,
    tf32,
    u2,
    u4,
    u8,
)
from hidet.types.narrow import NARROW

PAIRS = [
    (a, b) for a in DTYPES for b in DTYPES if a is not b and tf32 not in (a, b) and {a, b} & NARROW
]
THREADS = 256
INDEX = Builtin("blockIdx.x") * THREADS + Builtin("threadIdx.x")


def name(source, to):
    return f"{source}_to_{to}"


def on_cpu(source, to, value):
    x, y, n, i = (
        Var("x", PointerType(source)), Var("y", PointerType(to)), Var("n", i32), Var("i", i32)
    )  # fmt: skip
    body = (For(i, n, (Store(y, (i,), value(Load(x, (i,)))),)),)
    return Kernel(name(source, to), (x, y, n), body, KernelKind.CPU)


def on_gpu(source, to, value, size):
    """A thread for each element; sizes are multiples of a block."""
    x, y = Var("x", source[size]), Var("y", to[size])
    one = Const(1, i32)
    shape = Launch((Const(size // THREADS, i32), one, one), (Const(THREADS, i32), one, one))
    return Kernel("k", (x, y), (Store(y, (INDEX,), value(Load(x, (INDEX,)))),), launch=shape)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("narrow") / "kernels.so"
    kernels = [narrow_casts(on_cpu(a, b, lambda x, b=b: Cast(x, b))) for a, b in PAIRS]
    path.write_bytes(compile_cpp(emit(kernels), flags=(*FLAGS, "-O1")))
    return ctypes.CDLL(str(path))


def inputs(of):
    """All values of a type of at most 16 bits; of others many, and those near to ties."""
    if of.nbytes == 1:
        return np.resize(np.arange(2 if of.is_bool else 2**of.bits, dtype=np.uint8), 256).view(
            of.numpy
        )
    if of.nbytes == 2:
        return np.arange(2**16, dtype=np.uint16).view(of.numpy)
    if of.is_integer:
        powers = np.arange(1, of.bits - 1, dtype=np.uint64)
        one = np.uint64(1)
        edges = [one << powers, (one << powers) - one, (one << powers) + (one << (powers - one))]
        x = np.concatenate([np.arange(-70_000, 70_000), *(each.astype(np.int64) for each in edges)])
        return rounded_up(np.concatenate([x, -x]).astype(of.numpy))
    coarse = np.arange(2**16, dtype=np.uint32) << 16
    random = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    x = np.concatenate([coarse, coarse + 1, coarse - 1, random]).astype(np.uint32)
    with np.errstate(invalid="ignore"):
        return rounded_up(x.view(np.float32).astype(of.numpy))


def rounded_up(x):
    return np.resize(x, -(-x.size // THREADS) * THREADS)


def expected(x, source, to):
    """What ml_dtypes makes of each value; and which of them have no meaning as `to`."""
    meant = np.ones(x.shape, bool)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) if source in NARROW else x
        if source.is_float and to.is_integer:
            low, high = to.limits if to.bits >= 8 else i32.limits
            real = x.astype(np.float64)
            meant = np.isfinite(real) & (real > low - 1.0) & (real < high + 1.0)
        return wide != 0 if to.is_bool else wide.astype(to.numpy), meant


def same_bits(found, wanted):
    """Equal in each bit; every NaN alike where there are several."""
    words = np.dtype(f"u{wanted.dtype.itemsize}")
    equal = found.view(words) == wanted.view(words)
    if "float" in wanted.dtype.name:
        equal |= np.isnan(found) & np.isnan(wanted)
    return equal


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_compiled_casts_of_every_value_are_those_of_ml_dtypes(library, source):
    x = inputs(source)
    for to in (to for of, to in PAIRS if of is source):
        wanted, meant = expected(x, source, to)
        found = np.zeros(x.shape, to.numpy)
        getattr(library, name(source, to))(
            ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(found.ctypes.data), ctypes.c_int(x.size)
        )
        wrong = ~same_bits(found, wanted) & meant
        assert not wrong.any(), (to, x[wrong][:5], found[wrong][:5], wanted[wrong][:5])


@pytest.mark.parametrize("lowered", [False, True], ids=["as_written", "lowered"])
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_simulated_casts_of_every_value_are_those_of_ml_dtypes(source, lowered):
    x = inputs(source)
    for to in (to for of, to in PAIRS if of is source):
        kernel = on_gpu(source, to, lambda x, to=to: Cast(x, to), x.size)
        wanted, meant = expected(x, source, to)
        found = np.zeros(x.shape, to.numpy)
        launch(lower(kernel) if lowered else kernel, x, found, measure=False)
        wrong = ~same_bits(found, wanted) & meant
        assert not wrong.any(), (to, x[wrong][:5], found[wrong][:5], wanted[wrong][:5])


def types_in(kernel):
    nodes = [*kernel.params, *postorder(kernel.body)]
    return {each.dtype for each in nodes if not isinstance(each, Store | For | Declare)}


def test_nothing_below_knows_narrow_types():
    table = Var("table", TensorType(u4, (2,), Scope.REGISTER))
    x, y, zero = Var("x", f8e4m3fnuz[4]), Var("y", u4[4]), Const(0, i32)
    body = (
        Declare(table, Const(3, u4)),
        Store(y, (zero,), Add(Cast(Load(x, (zero,)), u4), Load(table, (zero,)))),
    )
    assert not types_in(narrow_casts(Kernel("k", (x, y), body, KernelKind.CPU))) & NARROW


def test_kernels_without_narrow_types_stay_as_they_are():
    kernel = on_gpu(f16, f32, lambda x: Cast(x, f32), THREADS)
    assert narrow_casts(kernel) is kernel


def test_cuda_keeps_what_it_has_instructions_for():
    kernel = on_gpu(f8e4m3, f32, lambda x: Cast(x, f32), THREADS)
    assert narrow_casts(kernel) is kernel
    cpu = narrow_casts(on_cpu(f8e4m3, f32, lambda x: Cast(x, f32)))
    assert cpu.params[0].dtype is u8


@pytest.mark.parametrize("of", [i4, u2, f4e2m1, f8e4m3fnuz, f8e8m0], ids=str)
def test_arithmetic_happens_in_a_wider_type(of):
    """Rounded once; integers keep their lowest bits."""
    x = inputs(of)
    for value, meaning in (
        (lambda v: Add(v, v), lambda w: w + w),
        (lambda v: call("abs", v), np.abs),
        (lambda v: Select(v < Const(1, of), v, Const(1, of)), lambda w: np.where(w < 1, w, 1)),
    ):
        found = np.zeros(x.shape, of.numpy)
        launch(lower(on_gpu(of, of, value, x.size)), x, found)
        wide = x.astype(np.int32 if of.is_integer else np.float32)
        with np.errstate(all="ignore"):
            assert same_bits(found, meaning(wide).astype(of.numpy)).all()


def test_vectors_are_computed_lane_by_lane():
    x, y = Var("x", f4e2m1[8]), Var("y", i4[8])
    four = VectorType(i4, 4)
    part = Var("part", four)
    loaded = Load(x, (Const(4, i32),), 4)
    body = (
        Declare(part, Cast(loaded, i4)),
        Store(y, (Const(0, i32),), part),
        Store(y, (Const(4, i32),), Pack(tuple(Lane(part, 3 - k) for k in range(4)))),
    )
    given = np.arange(8, dtype=np.uint8).view(f4e2m1.numpy)
    found = np.zeros(8, i4.numpy)
    launch(lower(Kernel("k", (x, y), body)), given, found)
    wanted = given[4:].astype(np.float32).astype(i4.numpy)
    assert found.tolist() == [*wanted.tolist(), *wanted[::-1].tolist()]
