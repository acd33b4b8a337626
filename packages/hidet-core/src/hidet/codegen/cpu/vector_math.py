"""exp, log and their like of float32 that compilers can vectorise, for numbers and vectors alike.

Calls of the C library keep a loop scalar, so these are spelled out: reduction of the argument, then
a polynomial. The coefficients are least-maximum fits on Chebyshev nodes, made for this file in
double precision and rounded. Error bounds (tested on dense grids against double precision, with
and without fused multiply-add): exp 1.5, log 1.5, expm1, log1p, exp2, tanh, erf and atan2 2, hypot
and lgamma 1, the others 4 units in the last place, 1 + erf 1.5 units of float32's last place at 1.
NaN, infinities, signed zeros and subnormal numbers come out as in the C library, but for
`exp_nonpositive`.
"""

from __future__ import annotations

from hidet.codegen.common.prelude import Part
from hidet.codegen.cpu.vector_erf import VECTOR_ERF
from hidet.codegen.cpu.vector_gamma import VECTOR_GAMMA
from hidet.codegen.cpu.vector_pairs import VECTOR_PAIRS
from hidet.codegen.cpu.vector_powers import VECTOR_POWERS
from hidet.codegen.cpu.vector_trigonometry import FUNCTIONS, VECTOR_TRIGONOMETRY

OWN = (
    "exp", "exp_nonpositive", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh",
    "tanh", "erf", "erfc", "asin", "acos", "atan", "atanh", "atan2", "hypot", "pow", "lgamma",
)  # fmt: skip
FAST = {name: f"{name}_f32" for name in (*OWN, *FUNCTIONS)}
"""The functions that have a definition, here or in a file that is imported above."""

VECTOR_MATH = {
    # The integers that lie in the same bits, and one number in every lane.
    "same_bits": Part(
        """\
template <class F> struct SameBits { using type = decltype(F{} < F{}); };
template <> struct SameBits<float> { using type = int; };
template <class F> using Int = typename SameBits<F>::type;
template <class F> INLINE F all(float x) { return x - F{}; }
template <class F> INLINE F absolute(F x) { return bits<F>(bits<Int<F>>(x) & 0x7fffffff); }
template <class F> INLINE F with_sign(F x, F of) {
  return bits<F>(bits<Int<F>>(x) | (bits<Int<F>>(of) & (Int<F>{} - 0x7fffffff - 1)));
}""",
        ("bits",),
    ),
    "floats": Part(
        """\
template <int N> struct Floats { typedef float type __attribute__((vector_size(4 * N))); };"""
    ),
    **VECTOR_POWERS,
    # A variable, as the limits of exp: of logits that are limited GCC makes cases otherwise.
    "log_zero": Part("""__attribute__((weak, visibility("hidden"))) float log_zero = 0.0f;"""),
    # x = 2^k m with m around 1; log m by the series of the inverse hyperbolic tangent.
    "log_f32": Part(
        """\
template <class F> INLINE F log_f32(F x) {
  const F infinity = all<F>(__builtin_inff()), nan = all<F>(__builtin_nanf(""));
  const F scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
  const F shift = x < 1.17549435e-38f ? all<F>(-23.0f) : all<F>(0.0f);
  const Int<F> raw = bits<Int<F>>(scaled) - 0x3f3504f3;
  const Int<F> exponent = raw >> 23;
  const F m = bits<F>((raw & 0x007fffff) + 0x3f3504f3);
  const F k = bits<F>(exponent + 0x4b400000) - 12582912.0f + shift;
  const F f = m - 1.0f, s = f / (f + 2.0f), z = s * s, h = f * f * 0.5f;
  F p = 0.23582768f * z + 0.2853728f;
  p = p * z + 0.40000334f;
  p = p * z + 0.6666666f;
  F y = k * 0.693359375f + (f - (h - (s * (h + p * z) + k * -2.12194440e-4f)));
  y = x == infinity ? x : y;
  y = x == 0.0f ? -infinity : y;
  return x >= log_zero ? y : nan;
}""",
        ("same_bits", "log_zero"),
    ),
    # e^r - 1 by a polynomial, to which 1 - 2^-n is added before all is multiplied by 2^n.
    "expm1_f32": Part(
        """\
template <class F> INLINE F expm1_f32(F x) {
  F limited = x > exp_high ? all<F>(exp_high) : x;
  limited = limited < -25.0f ? all<F>(-25.0f) : limited;
  const F shifted = limited * 1.44269504f + 12582912.0f;
  const F n = shifted - 12582912.0f;
  const F r = (limited - n * 0.693359375f) - n * -2.12194440e-4f;
  F p = expm1_of_rest<F>(r);
  const Int<F> power = bits<Int<F>>(shifted) - 0x4b400000, half = power >> 1;
  const F least = n > 30.0f ? all<F>(0.0f) : bits<F>((127 - power) << 23);
  p = p + (1.0f - least);
  p = p * bits<F>((half + 127) << 23) * bits<F>((power - half + 127) << 23);
  return x == 0.0f ? x : p;
}""",
        ("same_bits", "exp_f32", "expm1_of_rest"),
    ),
    "exp2_of_rest": Part(
        """\
template <class F> INLINE F exp2_of_rest(F r) {
  F p = 1.5469757e-04f * r + 1.339089e-03f;
  p = p * r + 9.6180307e-03f;
  p = p * r + 5.5503571e-02f;
  p = p * r + 2.4022651e-01f;
  p = p * r + 6.9314719e-01f;
  return p * r + 1.0f;
}"""
    ),
    # 2^r by a polynomial, times 2^n in two factors; the limits of x are variables as those of exp.
    "exp2_f32": Part(
        """\
__attribute__((weak, visibility("hidden"))) float exp2_low = -151.0f, exp2_high = 129.0f;
template <class F> INLINE F exp2_f32(F x) {
  x = x > exp2_high ? all<F>(exp2_high) : x;
  x = x < exp2_low ? all<F>(exp2_low) : x;
  const F shifted = x + 12582912.0f;
  const F r = x - (shifted - 12582912.0f);
  return times_power<F>(exp2_of_rest<F>(r), shifted);
}""",
        ("same_bits", "exp2_of_rest", "times_power"),
    ),
    # As log_f32, to another base: `whole` and `rest` are the logarithm of 2, `of_e` is that of e.
    "log_to_base": Part(
        """\
template <class F> INLINE F log_to_base(F x, float whole, float rest, float of_e) {
  const F infinity = all<F>(__builtin_inff()), nan = all<F>(__builtin_nanf(""));
  const F scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
  const F shift = x < 1.17549435e-38f ? all<F>(-23.0f) : all<F>(0.0f);
  const Int<F> raw = bits<Int<F>>(scaled) - 0x3f3504f3;
  const F m = bits<F>((raw & 0x007fffff) + 0x3f3504f3);
  const F k = bits<F>((raw >> 23) + 0x4b400000) - 12582912.0f + shift;
  const F f = m - 1.0f, s = f / (f + 2.0f), z = s * s, h = f * f * 0.5f;
  F p = 0.23582768f * z + 0.2853728f;
  p = p * z + 0.40000334f;
  p = p * z + 0.6666666f;
  F y = k * whole + ((f - (h - s * (h + p * z))) * of_e + k * rest);
  y = x == infinity ? x : y;
  y = x == 0.0f ? -infinity : y;
  return x >= log_zero ? y : nan;
}""",
        ("same_bits", "log_zero"),
    ),
    "log2_f32": Part(
        """\
template <class F> INLINE F log2_f32(F x) {
  return log_to_base<F>(x, 1.0f, 0.0f, 1.44269504f);
}""",
        ("log_to_base",),
    ),
    "log10_f32": Part(
        """\
template <class F> INLINE F log10_f32(F x) {
  return log_to_base<F>(x, 0.301025391f, 4.6050390e-6f, 0.434294482f);
}""",
        ("log_to_base",),
    ),
    # The logarithm of 1 + x as it is rounded, and what the rounding took in proportion.
    "log1p_f32": Part(
        """\
template <class F> INLINE F log1p_f32(F x) {
  const F u = x + 1.0f;
  const F lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
  const F more = (u > 0.0f) & (u < __builtin_inff()) ? lost / u : all<F>(0.0f);
  return x == 0.0f ? x : log_f32<F>(u) + more;
}""",
        ("log_f32",),
    ),
    # Half the logarithm of (1 + x) / (1 - x).
    "atanh_f32": Part(
        """\
template <class F> INLINE F atanh_f32(F x) {
  const F a = absolute(x);
  return with_sign<F>(log1p_f32<F>((a + a) / (1.0f - a)) * 0.5f, x);
}""",
        ("log1p_f32",),
    ),
    # Half of e^a, by the square of e^(a / 2) where e^a is no number, and half of e^-a.
    "half_exp": Part(
        """\
template <class F> INLINE F half_exp(F a) {
  const F root = exp_f32<F>(a > 88.0f ? a * 0.5f : a), half = root * 0.5f;
  return a > 88.0f ? half * root : half;
}""",
        ("exp_f32",),
    ),
    "cosh_f32": Part(
        """\
template <class F> INLINE F cosh_f32(F x) {
  const F half = half_exp<F>(absolute(x));
  return half + 0.25f / half;
}""",
        ("half_exp",),
    ),
    "sinh_f32": Part(
        """\
template <class F> INLINE F sinh_f32(F x) {
  const F a = absolute(x), z = a * a, half = half_exp<F>(a);
  F p = 2.8063006e-06f * z + 1.9838099e-04f;
  p = p * z + 8.3333397e-03f;
  p = p * z + 1.6666667e-01f;
  return with_sign<F>(a < 1.0f ? p * (z * a) + a : half - 0.25f / half, x);
}""",
        ("half_exp",),
    ),
    # The angle whose sine is x up to 1/2; beyond, half of that whose cosine is x.
    "arc": Part(
        """\
template <class F> INLINE F root(F x) {
  if constexpr (sizeof(F) == sizeof(float)) return __builtin_sqrtf(x);
  else {
    for (int i = 0; i < int(sizeof(F) / sizeof(x[0])); i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
  }
}
template <class F> INLINE F arc(F a) {
  const F rest = (1.0f - a) * 0.5f, z = a > 0.5f ? rest : a * a;
  const F s = a > 0.5f ? root<F>(rest) : a;
  F p = 0.03832824f * z + 0.0264334f;
  p = p * z + 0.04502021f;
  p = p * z + 0.07498762f;
  p = p * z + 0.16666673f;
  return p * (z * s) + s;
}""",
        ("same_bits",),
    ),
    "asin_f32": Part(
        """\
template <class F> INLINE F asin_f32(F x) {
  const F a = absolute(x), t = arc<F>(a);
  return with_sign<F>(a > 0.5f ? 1.57079637f - ((t + t) + 4.37113883e-8f) : t, x);
}""",
        ("arc",),
    ),
    "acos_f32": Part(
        """\
template <class F> INLINE F acos_f32(F x) {
  const F t = arc<F>(absolute(x)), both = t + t;
  const F near = 1.57079637f - (with_sign<F>(t, x) + 4.37113883e-8f);
  const F left = 3.14159274f - (both + 8.74227766e-8f);
  return x > 0.5f ? both : x < -0.5f ? left : near;
}""",
        ("arc",),
    ),
    # Of what lies beyond 1 / 8 of a half turn the rest of 1 / 4, or of 1 / 2, of one is taken.
    "atan_f32": Part(
        """\
template <class F> INLINE F atan_f32(F x) {
  const F a = absolute(x);
  const F over = a > 2.41421356f ? all<F>(-1.0f) : a > 0.414213562f ? a - 1.0f : a;
  const F under = a > 2.41421356f ? a : a > 0.414213562f ? a + 1.0f : all<F>(1.0f);
  const F t = over / under, z = t * t;
  F p = -0.06466622f * z + 0.10748794f;
  p = p * z - 0.14264501f;
  p = p * z + 0.19999559f;
  p = p * z - 0.33333332f;
  const F far = a > 2.41421356f ? all<F>(1.57079637f) : all<F>(0.785398185f);
  const F rest = a > 2.41421356f ? all<F>(-4.37113883e-8f) : all<F>(-2.18556941e-8f);
  const F near = p * (z * t) + t;
  return with_sign<F>(a > 0.414213562f ? far + (near + rest) : near, x);
}""",
        ("same_bits",),
    ),
    # An odd polynomial near 0, where 1 - 2 / (e^2x + 1) would lose digits.
    "tanh_f32": Part(
        """\
template <class F> INLINE F tanh_f32(F x) {
  const F a = absolute(x), z = a * a;
  F p = 0.0021492024f * z - 0.008184425f;
  p = p * z + 0.021703646f;
  p = p * z - 0.053947322f;
  p = p * z + 0.1333321f;
  p = p * z - 0.3333333f;
  const F near = a * (z * p) + a;
  const F b = a > 9.1f ? all<F>(9.1f) : a;
  const F far = 1.0f - 2.0f / (exp_near_f32<F>(b + b) + 1.0f);
  return with_sign<F>(a < 0.6f ? near : far, x);
}""",
        ("same_bits", "exp_near_f32"),
    ),
    **VECTOR_ERF,
    **VECTOR_GAMMA,
    **VECTOR_TRIGONOMETRY,
    **VECTOR_PAIRS,
}
