import numpy as np
import pytest

from hidet.codegen.cpu import emit
from hidet.ir.expr import FloorDiv, FloorMod, Load, TruncMod, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, LoopKind, Store
from hidet.types import f32, i32

NUMPY = {TruncMod: np.fmod, FloorMod: np.remainder, FloorDiv: np.floor_divide}


def applied(kind):
    a, b, y, n, i = Var("a", ~f32), Var("b", ~f32), Var("y", ~f32), Var("n", i32), Var("i", i32)
    value = kind(Load(a, (i,)), Load(b, (i,)))
    loop = For(i, n, (Store(y, (i,), value),), LoopKind.VECTOR)
    return Kernel(kind.__name__, (a, b, y, n), (loop,), KernelKind.CPU)


@pytest.fixture(scope="module")
def text():
    return emit([applied(kind) for kind in NUMPY])


def pairs():
    """Usual and whole numbers, quotients around and beyond 2^22, any bits, and special ones."""
    rng, count = np.random.default_rng(5), 100_000
    special = np.array([0, 1, 3, 0.1, np.inf, np.nan, 1e-45, 1e-38, 3e38, 2**24 - 1], np.float32)
    special = np.concatenate([special, -special])
    wide = rng.normal(size=count) * 2.0 ** rng.integers(0, 60, count)
    bits = rng.integers(0, 2**32, (2, count), dtype=np.uint64).astype(np.uint32).view(np.float32)
    whole = rng.integers(-(2**23), 2**23, (2, count)).astype(np.float32)
    whole[1] = whole[1] % 1000 - 500
    some = np.stack([wide, rng.normal(size=count)]).astype(np.float32)
    shared = np.stack([some[1] * whole[1], some[1]])
    grid = np.stack([each.ravel() for each in np.meshgrid(special, special)])
    both = np.concatenate([grid, some, bits, whole, shared], 1)
    return np.ascontiguousarray(both[0]), np.ascontiguousarray(both[1])


FLAG_SETS = [("-O3", "-march=native"), ("-O3", "-mavx2", "-mfma"), ("-O2", "-ffp-contract=off")]


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_division_of_floats_is_exact(text, compile_cpp, flags):
    library, (a, b) = compile_cpp(text, *flags), pairs()
    for kind, numpy in NUMPY.items():
        with np.errstate(all="ignore"):
            expected = numpy(a, b)
        y = np.zeros_like(a)
        library(kind.__name__, a, b, y, y.size)
        known = np.isfinite(a) & np.isfinite(b)
        wrong = known & ~((y == expected) | (np.isnan(y) & np.isnan(expected)))
        assert not wrong.any(), (kind, a[wrong][:3], b[wrong][:3], y[wrong][:3])
        assert (np.signbit(y) == np.signbit(expected))[known & ~np.isnan(expected)].all(), kind
        assert np.isnan(y[np.isnan(a) | np.isnan(b)]).all()
        assert np.isnan(y[np.isinf(a)]).all() or kind is FloorDiv


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_what_is_left_by_infinity_is_the_number(text, compile_cpp, flags):
    library = compile_cpp(text, *flags)
    a = np.array([1.5, -1.5, 0.0, -0.0] * 8, np.float32)
    y, b = np.zeros_like(a), np.full_like(a, np.inf)
    library("TruncMod", a, b, y, y.size)
    np.testing.assert_array_equal(y.view(np.int32), a.view(np.int32))


def test_loops_are_vectorised(text, check_vectors):
    check_vectors(text, len(NUMPY))
