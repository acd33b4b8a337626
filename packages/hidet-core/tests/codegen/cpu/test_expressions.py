"""Every operation on edge values, compiled and compared with numpy."""

import ml_dtypes
import numpy as np
import pytest

from hidet.codegen.cpu import emit
from hidet.ir.expr import (
    Add,
    BitAnd,
    BitOr,
    BitXor,
    Div,
    Equal,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    NotEqual,
    Sub,
    TruncMod,
)
from hidet.ir.functions import FUNCTIONS
from hidet.ir.kernel import KernelKind
from hidet.types import (
    DTYPES,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from hidet.types.narrow import NARROW

FLOATS = (f64, f32, f16, bf16)
INTEGERS = (i8, i16, i32, i64, u8, u16, u32, u64)
ARITHMETIC = (Add, Sub, Mul, Minimum, Maximum)
COMPARISONS = (Less, LessEqual, Equal, NotEqual)
BITS = (BitAnd, BitOr, BitXor)


@pytest.fixture(scope="module")
def library(compile_cpp, operations):
    return compile_cpp(emit(operations(KernelKind.CPU)), "-O1")


def edges(of):
    if of.is_bool:
        return np.array([False, True])
    low, high = of.limits
    if of.is_integer:
        near = [low, low + 1, high, high - 1, high // 2 + 1]
        small = [v for v in (-9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 9, 100) if v >= low]
        return np.array([*near, *small], dtype=object).astype(of.numpy)
    tiny = float(ml_dtypes.finfo(of.numpy).smallest_subnormal)
    values = [0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 100.0, 250.0, high, tiny, tiny * 5]
    values += [np.inf, np.nan, 1 + 2.0**-9, 5.5, 0.3, 1e-3]
    return np.array([*values, *(-v for v in values)]).astype(of.numpy)


def pairs(of):
    a, b = np.meshgrid(edges(of), edges(of))
    return np.ascontiguousarray(a.ravel()), np.ascontiguousarray(b.ravel())


def ran(library, name, result, *arrays):
    out = np.zeros(arrays[0].shape, result.numpy)
    library(name, *arrays, out, arrays[0].size)
    return out


def same_bits(found, expected):
    """Equal, zeros by sign, every NaN alike."""
    assert found.dtype == expected.dtype
    both_nan = np.zeros(found.shape, bool)
    if found.dtype.kind in "fV" or "float" in found.dtype.name:
        with np.errstate(invalid="ignore"):
            both_nan = np.isnan(found) & np.isnan(expected)
    words = np.dtype(f"u{found.dtype.itemsize}")
    return both_nan | (found.view(words) == expected.view(words))


WIDE = {f16: np.float32, bf16: np.float32}
NUMPY = {
    Add: np.add, Sub: np.subtract, Mul: np.multiply, Div: np.divide,
    Less: np.less, LessEqual: np.less_equal, Equal: np.equal, NotEqual: np.not_equal,
    BitAnd: np.bitwise_and, BitOr: np.bitwise_or, BitXor: np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("of", [*FLOATS, *INTEGERS], ids=str)
def test_arithmetic_and_comparisons(library, of):
    a, b = pairs(of)
    kinds = [k for k in NUMPY if k in ARITHMETIC or k in COMPARISONS]
    kinds += [Div] if of.is_float else list(BITS)
    for kind in kinds:
        result = boolean if kind in COMPARISONS else of
        wide = WIDE.get(of, of.numpy)
        with np.errstate(all="ignore"):
            expected = NUMPY[kind](a.astype(wide), b.astype(wide)).astype(result.numpy)
        found = ran(library, f"{kind.__name__}_{of}", result, a, b)
        assert same_bits(found, expected).all(), kind


@pytest.mark.parametrize("of", [*FLOATS, *INTEGERS], ids=str)
def test_extremes_propagate_nan(library, of):
    a, b = pairs(of)
    for kind, function in ((Minimum, np.minimum), (Maximum, np.maximum)):
        found = ran(library, f"{kind.__name__}_{of}", of, a, b)
        with np.errstate(invalid="ignore"):
            expected = function(a, b)
        equal = same_bits(found, expected) | (found == expected)  # either zero will do
        assert equal.all(), kind


@pytest.mark.parametrize("of", [f32, f64], ids=str)
def test_limits_that_are_numbers_propagate_nan(library, of):
    x = edges(of)
    low, high = np.array([0, 6], of.numpy)
    found = ran(library, f"clamp_{of}", of, x)
    with np.errstate(invalid="ignore"):
        expected = np.minimum(np.maximum(x, low), high)
    assert (same_bits(found, expected) | (found == expected)).all()  # either zero will do
    assert np.isnan(ran(library, f"at_nan_{of}", of, x)).all()


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_integer_division_rounds_as_named_and_never_traps(library, of):
    a, b = pairs(of)
    with np.errstate(all="ignore"):
        floor = np.floor_divide(a, b)
        rest = np.remainder(a, b)
        fmod = np.fmod(a, b)
    truncated = np.array(
        [
            0 if y == 0 else abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1)
            for x, y in zip(a, b, strict=True)
        ],
        dtype=object,
    )
    wrapped = np.array([int(v) % 2**of.bits for v in truncated], np.uint64).astype(of.numpy)
    for kind, expected in ((FloorDiv, floor), (FloorMod, rest), (TruncMod, fmod)):
        assert same_bits(ran(library, f"{kind.__name__}_{of}", of, a, b), expected).all(), kind
    assert same_bits(ran(library, f"TruncDiv_{of}", of, a, b), wrapped).all()


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_division_of_what_is_never_negative_by_zero(library, of):
    a, b = (each & of.numpy.type(7) for each in pairs(of))
    with np.errstate(all="ignore"):
        expected = {"FloorDiv": a // b, "TruncDiv": a // b, "FloorMod": a % b, "TruncMod": a % b}
    for kind, values in expected.items():
        found = ran(library, f"{kind}_low_{of}", of, a, b)
        assert same_bits(found, np.where(b == 0, 0, values).astype(of.numpy)).all(), kind


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_division_by_constants(library, of):
    a = edges(of)
    for by in (7, 8):
        b = of.numpy.type(by)
        expected = {"FloorDiv": a // b, "FloorMod": a % b, "TruncMod": np.fmod(a, b)}
        for kind, values in expected.items():
            assert same_bits(ran(library, f"{kind}{by}_{of}", of, a), values).all(), kind


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_float_division_rounds_down_as_python(library, of):
    a, b = pairs(of)
    wide = WIDE.get(of, of.numpy)
    with np.errstate(all="ignore"):
        expected = np.floor_divide(a.astype(wide), b.astype(wide)).astype(of.numpy)
        rest = np.remainder(a.astype(wide), b.astype(wide)).astype(of.numpy)
        fmod = np.fmod(a.astype(wide), b.astype(wide)).astype(of.numpy)
    finite = np.isfinite(a.astype(wide)) & np.isfinite(b.astype(wide))
    for name, values in (("FloorDiv", expected), ("FloorMod", rest), ("TruncMod", fmod)):
        found = ran(library, f"{name}_{of}", of, a, b)
        assert same_bits(found, values)[finite].all(), name


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_integer_unary(library, of):
    x = edges(of)
    with np.errstate(all="ignore"):
        expected = {
            "Negate": np.negative(x), "BitNot": np.invert(x), "abs": np.abs(x),
            "left": x << of.numpy.type(3), "right": x >> of.numpy.type(3),
        }  # fmt: skip
    for name, values in expected.items():
        assert same_bits(ran(library, f"{name}_{of}", of, x), values).all(), name


@pytest.mark.parametrize("source", [each for each in DTYPES if each not in NARROW], ids=str)
def test_casts(library, source):
    x = edges(source)
    for to in DTYPES:
        if to is source or to in NARROW:  # those are tests/passes/test_narrow_casts.py's
            continue
        with np.errstate(all="ignore"):
            wide = x.astype(np.float32) if source in (f16, bf16) else x
            fits = np.ones(x.shape, bool)
            if source.is_float and to.is_integer:
                low, high = to.limits
                fits = np.isfinite(wide) & (wide > low - 1.0) & (wide < high)
                wide = np.where(fits, wide, 0)
            if to.is_float and to.bits < 32:
                wide = wide.astype(np.float32) if to is not f16 or source is not f64 else wide
            expected = wide.astype(to.numpy)
            if to is tf32:
                raw = expected.view(np.uint32) + np.uint32(0x1000)
                rounded = (raw & np.uint32(0xFFFFE000)).view(np.float32)
                expected = np.where(np.isnan(expected), expected, rounded)
        found = ran(library, f"{source}_to_{to}", to, x)
        assert same_bits(found, expected)[fits].all(), (to, x, found, expected)


def test_every_small_float_is_read_and_written_exactly(library):
    for of in (f16, bf16):
        codes = np.arange(2**of.bits, dtype=np.uint32).astype(f"u{of.nbytes}").view(of.numpy)
        wide = ran(library, f"{of}_to_f32", f32, codes)
        assert same_bits(wide, codes.astype(np.float32)).all(), of
        assert same_bits(ran(library, f"f32_to_{of}", of, wide), codes).all(), of


def test_rounding_to_small_floats_is_to_nearest_even(library):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    x = np.concatenate([x, rng.normal(size=50_000).astype(np.float32) * 2.0**-9])
    x = np.concatenate([x, np.arange(-600, 600, dtype=np.float32)]).astype(np.float32)
    # Halfway between float16 numbers below the normal range, and where that begins and ends.
    x = np.concatenate([x, np.arange(-2100, 2100, dtype=np.float32) * np.float32(2.0**-25)])
    x = np.concatenate([x, np.float32([65504, 65519, 65520, 65536, 2.0**-14, 2.0**-14 - 2.0**-26])])
    for of in (f16, bf16):
        with np.errstate(all="ignore"):
            expected = x.astype(of.numpy)
        assert same_bits(ran(library, f"f32_to_{of}", of, x), expected).all(), of


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(library, name):
    function = FUNCTIONS[name]
    for of in FLOATS:
        arrays = pairs(of) if function.arity >= 2 else (edges(of),)
        if function.arity == 3:
            arrays = (*arrays, np.ascontiguousarray(arrays[0][::-1]))
        if name == "exp_nonpositive":
            arrays = (-np.abs(arrays[0]),)
        result = function.result or of
        wide = np.float64 if of is not f64 else np.longdouble
        if name in ("erf", "erfc"):
            wide = np.float64
        found = ran(library, f"{name}_{of}", result, *arrays)
        with np.errstate(all="ignore"):
            exact = np.asarray(function.numpy(*(x.astype(wide) for x in arrays)))
            expected = exact.astype(result.numpy)
        if result is boolean:
            assert (found == expected).all(), of
            continue
        with np.errstate(all="ignore"):
            # Python's own lgamma is a sum of terms around 1: the exact one by mpmath is up to three
            # of float64's units there away from it, and the C library's is not.
            least = 2.0 if name == "lgamma" else float(ml_dtypes.finfo(of.numpy).tiny)
            scale = np.maximum(np.abs(exact), least)
            ulp = scale.astype(np.longdouble) * float(ml_dtypes.finfo(of.numpy).eps)
            close = np.abs(found.astype(wide) - exact) <= 2 * ulp
        if name == "exp_nonpositive":
            close |= (found == 0) & (exact < np.finfo(np.float32).tiny)
        assert (same_bits(found, expected) | (found == expected) | close).all(), of
