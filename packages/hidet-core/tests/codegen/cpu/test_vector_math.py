import numpy as np
import pytest

from hidet.codegen.cpu import emit
from hidet.codegen.cpu.vector_math import FAST
from hidet.ir.expr import Load, Var, select
from hidet.ir.functions import FUNCTIONS, call
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.toolchain.host import ISA_FLAGS
from hidet.types import boolean, f32, i32

BOUND = {
    "exp": 1.5, "expm1": 2.0, "log": 1.5, "log1p": 2.0, "tanh": 2.0, "erf": 2.0, "atan": 2.5,
    "erfc": 4.0,
    "sin": 2.0, "cos": 2.0, "tan": 3.5, "exp2": 2.0, "log2": 3.0, "log10": 3.0, "sinh": 4.0,
    "cosh": 4.0, "asin": 3.0, "acos": 3.0, "atanh": 4.0, "lgamma": 1.0,
}  # fmt: skip

LANES = (1, 8, 16)
"""Numbers, and vectors of which instruction sets look up powers of 2 in each lane."""

BOUND_OF_TWO = {"atan2": 2.0, "hypot": 1.0, "pow": 4.0}


def applied(name, lanes, more=None):
    operands = [Var(f"x{number}", ~f32) for number in range(FUNCTIONS[name].arity)]
    y, n, i = Var("y", ~f32), Var("n", i32), Var("i", i32)
    kind = LoopKind.VECTOR if lanes == 1 else LoopKind.SERIAL
    value = call(name, *(Load(x, (i * lanes,), lanes) for x in operands))
    value = value if more is None else value + more
    extent = n if lanes == 1 else n // lanes
    loop = For(i, extent, (Store(y, (i * lanes,), value),), kind)
    return Kernel(f"{name}_{lanes}", (*operands, y, n), (loop,), KernelKind.CPU)


@pytest.fixture(scope="module")
def text():
    return emit([applied(name, lanes) for name in FAST for lanes in LANES])


def grid():
    """About a million floats of every size, denser where the functions bend."""
    bits = np.arange(0, 2**32, 5003, dtype=np.uint64).astype(np.uint32).view(np.float32)
    dense = np.linspace(-12, 12, 200_001).astype(np.float32)
    steep = np.linspace(-105, 90, 100_001).astype(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, 0.6, 0.92, 4, 1e-45, 88.72284],
                       np.float32)  # fmt: skip
    x = np.concatenate([bits, dense, steep, special, np.nextafter(special, np.float32(0))])
    return np.resize(x, (x.size + 15) // 16 * 16)


def pairs():
    """Two numbers each: all pairs of special ones, and any, near, whole and uneven ones."""
    special = np.array(
        [0.0, 1, 2, 3, 0.5, 1.5, np.inf, np.nan, 1e-45, 1e-38, 3e38, 2**23, 2**23 + 1, 2**24 - 1,
         2**24, 127, 128, 149, 150, 1 - 2**-24, 1 + 2**-23], np.float32)  # fmt: skip
    special = np.concatenate([special, -special])
    firsts, seconds = (each.ravel() for each in np.meshgrid(special, special))
    rng, count = np.random.default_rng(3), 200_000
    any_bits = rng.integers(0, 2**32, (2, count), dtype=np.uint64).astype(np.uint32)
    near = rng.normal(size=(2, count)) * np.array([[1e-3], [3e4]]) + np.array([[1], [0]])
    usual = rng.normal(size=(2, count)) * np.array([[2], [20]])
    whole = np.stack([rng.normal(size=count) * 3, rng.integers(-40, 40, count)])
    x = np.concatenate([firsts, *(e[0].astype(np.float32) for e in (near, usual, whole)),
                        any_bits[0].view(np.float32)])  # fmt: skip
    y = np.concatenate([seconds, *(e[1].astype(np.float32) for e in (near, usual, whole)),
                        any_bits[1].view(np.float32)])  # fmt: skip
    return x[: x.size // 16 * 16], y[: y.size // 16 * 16]


FLAG_SETS = [
    ("-O3", "-mavx2", "-mfma"),
    ("-O2", "-ffp-contract=off"),
    ("-O3", *ISA_FLAGS["avx512"]),
]


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_error_stays_within_the_bound(text, compile_cpp, flags):
    library = compile_cpp(text, *flags)
    for name, bound in BOUND.items():
        check(library, name, (grid(),), bound)
    for name, bound in BOUND_OF_TWO.items():
        check(library, name, pairs(), bound)


def check(library, name, operands, bound):
    """What is special as it is in double precision, signs too, and the error of all else."""
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name].numpy(*(each.astype(np.float64) for each in operands))
        rounded = exact.astype(np.float32)
        ulp = np.spacing(np.abs(rounded)).astype(np.float64)
    special, y = ~np.isfinite(rounded), np.zeros_like(rounded)
    for lanes in LANES:
        library(f"{name}_{lanes}", *operands, y, y.size)
        with np.errstate(all="ignore"):
            error = np.where(special, 0, np.abs(y.astype(np.float64) - exact) / ulp)
        assert np.array_equal(y[special], rounded[special], equal_nan=True), (name, lanes)
        assert (np.signbit(y) == np.signbit(rounded))[~np.isnan(rounded)].all(), (name, lanes)
        worst = np.argmax(error)
        at = [each[worst] for each in operands]
        assert error[worst] <= bound, (name, lanes, at, y[worst], exact[worst])


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_one_plus_erf_keeps_what_is_left_of_one(compile_cpp, flags):
    """A unit and a half of a number from 1 to 2, and left of 0 digits that the sum would lose."""
    text, x = emit([applied("erf", lanes, 1.0) for lanes in LANES]), grid()
    assert "one_plus_erf_f32" in text
    library, left = compile_cpp(text, *flags), (x > -3) & (x < 0)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS["erfc"].numpy(-x.astype(np.float64))
    for lanes in LANES:
        y = np.zeros_like(x)
        library(f"erf_{lanes}", x, y, x.size)
        np.testing.assert_allclose(y, exact, rtol=0, atol=1.5 * 2.0**-23)
        np.testing.assert_allclose(y[left], exact[left], rtol=4e-6)
        np.testing.assert_allclose(y[x < 0], exact[x < 0], rtol=0, atol=1.25 * 2.0**-24)


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_powers_below_one_are_right_or_zero(text, compile_cpp, flags):
    """Those of a softmax: NaN stays, and what is no normal number is 0."""
    library, x = compile_cpp(text, *flags), grid()
    x = -np.abs(x)
    least = np.finfo(np.float32).tiny
    with np.errstate(invalid="ignore"):
        exact = np.exp(x.astype(np.float64))
    normal = exact >= least
    for lanes in LANES:
        y = np.zeros_like(x)
        library(f"exp_nonpositive_{lanes}", x, y, x.size)
        ulp = np.spacing(exact[normal].astype(np.float32)).astype(np.float64)
        assert (np.abs(y[normal] - exact[normal]) <= BOUND["exp"] * ulp).all()
        assert (y[exact < least] <= least).all()
        assert (y[exact < least * 0.999] == 0).all()
        assert np.isnan(y[np.isnan(x)]).all()
        assert not np.signbit(y[~np.isnan(x)]).any()


@pytest.mark.parametrize("flags", FLAG_SETS, ids=str)
def test_one_plus_exp_is_as_exact_as_both(compile_cpp, flags):
    text, x = emit([applied("exp", lanes, 1.0) for lanes in LANES]), grid()
    assert "one_plus_exp_f32" in text
    library = compile_cpp(text, *flags)
    with np.errstate(all="ignore"):
        exact = 1 + np.exp(x.astype(np.float64))
        rounded = exact.astype(np.float32)
    for lanes in LANES:
        y = np.zeros_like(x)
        library(f"exp_{lanes}", x, y, x.size)
        special = ~np.isfinite(rounded)
        assert np.array_equal(y[special], rounded[special], equal_nan=True)
        ulp = np.spacing(rounded[~special]).astype(np.float64)
        assert (np.abs(y[~special] - exact[~special]) <= 2 * ulp).all()


def limited(name):
    """A function of odds, of numbers within bounds: GCC knows what it is at each."""
    x, y, n, i, p = Var("x", ~f32), Var("y", ~f32), Var("n", i32), Var("i", i32), Var("p", f32)
    within = select(Load(x, (i,)) < -1.0, -1.0, select(Load(x, (i,)) > 2.0, 2.0, Load(x, (i,))))
    body = (Declare(p, within), Store(y, (i,), call(name, p / (1.0 - p))))
    return Kernel(name, (x, y, n), (For(i, n, body, LoopKind.VECTOR),), KernelKind.CPU)


@pytest.mark.parametrize("name", ["log", "log2", "exp", "exp2"])
def test_loops_over_what_is_limited_are_vectorised(check_vectors, name):
    check_vectors(emit([limited(name)]), 1)


def test_choices_by_bools_in_memory_are_vectorised(check_vectors):
    m, x, y, n, i = Var("m", ~boolean), Var("x", ~f32), Var("y", ~f32), Var("n", i32), Var("i", i32)
    p = Var("p", f32)
    body = (Declare(p, Load(x, (i,))), Store(y, (i,), select(Load(m, (i,)), 1.5, p)))
    loop = For(i, n, body, LoopKind.VECTOR)
    check_vectors(emit([Kernel("masked", (m, x, y, n), (loop,), KernelKind.CPU)]), 1)


def test_loops_are_vectorised(text, check_vectors):
    check_vectors(text, len(FAST))
