"""Functions of two float32 for vectors: what `vector_math.py` is for those of one.

atan2 is right to 2 units in the last place, pow to 4, hypot to 1, and fmod is exact. What takes
more digits than float32 has is done in float64, in few steps.
"""

from __future__ import annotations

from hidet.codegen.common.prelude import Part
from hidet.codegen.cpu.simd_variants import simd_variants

VECTOR_PAIRS = {
    "doubled": Part(
        """\
template <class F> struct Doubled {
  typedef double type __attribute__((vector_size(2 * sizeof(F))));
};
template <> struct Doubled<float> { using type = double; };
template <class F> INLINE typename Doubled<F>::type doubled(F x) {
  if constexpr (sizeof(F) == sizeof(float)) return x;
  else return __builtin_convertvector(x, typename Doubled<F>::type);
}
template <class F> INLINE F single(typename Doubled<F>::type x) {
  if constexpr (sizeof(F) == sizeof(float)) return (float)x;
  else return __builtin_convertvector(x, F);
}"""
    ),
    # The angle of the smaller to the larger, which is at most an eighth of a turn.
    "atan2_f32": Part(
        """\
template <class F> INLINE F atan2_f32(F y, F x) {
  const F a = absolute(y), b = absolute(x), most = a > b ? a : b, least = a > b ? b : a;
  F t = least / most;
  t = most == 0.0f ? F{} : least == __builtin_inff() ? all<F>(1.0f) : t;
  const F z = t * t;
  F p = -0.0017935939f * z + 0.01091448f;
  p = p * z - 0.031177613f;
  p = p * z + 0.05795736f;
  p = p * z - 0.08403437f;
  p = p * z + 0.10952181f;
  p = p * z - 0.14264241f;
  p = p * z + 0.19998548f;
  p = p * z - 0.333333f;
  F r = p * (z * t) + t;
  r = a > b ? 1.57079637f - (r + 4.37113883e-8f) : r;
  r = bits<Int<F>>(x) < 0 ? 3.14159274f - (r + 8.74227766e-8f) : r;
  return (x != x) | (y != y) ? x + y : with_sign<F>(r, y);
}""",
        ("same_bits",),
    ),
    "hypot_f32": Part(
        """\
INLINE double root_of_sum(double x, double y) { return __builtin_sqrt(x * x + y * y); }
template <class D> INLINE D root_of_sum(D x, D y) {
  D z = x * x + y * y;
  for (int i = 0; i < int(sizeof(D) / sizeof(x[0])); i++) z[i] = __builtin_sqrt(z[i]);
  return z;
}
template <class F> INLINE F hypot_f32(F x, F y) {
  const F infinity = all<F>(__builtin_inff());
  const F r = single<F>(root_of_sum(doubled<F>(x), doubled<F>(y)));
  return (absolute(x) == infinity) | (absolute(y) == infinity) ? infinity : r;
}""",
        ("same_bits", "doubled"),
    ),
    # 2^(y log2 x), of |x|. The logarithm is that of `log_f32` but for what rounding took from s,
    # and is in float64; so is its product with y, whose fraction is a float32 again. 0, infinity
    # and NaN have themselves or their negative for a logarithm. Of y it matters whether it is
    # whole, and odd: with 2^23 added, the last bit tells.
    "pow_f32": Part(
        """\
template <class F> INLINE F pow_f32(F x, F y) {
  using D = typename Doubled<F>::type;
  const F infinity = all<F>(__builtin_inff()), nan = all<F>(__builtin_nanf(""));
  const F a = absolute(x), b = absolute(y), one = all<F>(1.0f);
  const F scaled = a < 1.17549435e-38f ? a * 8388608.0f : a;
  const F shift = a < 1.17549435e-38f ? all<F>(-23.0f) : F{};
  const Int<F> raw = bits<Int<F>>(scaled) - 0x3f3504f3;
  const F m = bits<F>((raw & 0x007fffff) + 0x3f3504f3);
  F k = bits<F>((raw >> 23) + 0x4b400000) - 12582912.0f + shift;
  k = a == 0.0f ? -infinity : a < infinity ? k : a;
  const F f = m - 1.0f, over = 1.0f / (f + 2.0f), s = f * over, z = s * s;
  F q = 0.11791077f * z + 0.14268654f;
  q = q * z + 0.20000167f;
  q = q * z + 0.33333334f;
  const D wide = doubled<F>(s), wide_f = doubled<F>(f);
  const F lost = single<F>(wide_f - wide * (wide_f + 2.0));
  const F more = (q * z * s + lost * over) * 2.88539008f;
  const D log = wide * 2.8853900817779268 + (doubled<F>(k) + doubled<F>(more));
  D t = log * doubled<F>(y);
  t = t > 160.0 ? 160.0 - D{} : t;
  t = t < -160.0 ? -160.0 - D{} : t;
  const D n = (t + 6755399441055744.0) - 6755399441055744.0;
  const F r = single<F>(t - n);
  F p = times_power<F>(exp2_of_rest<F>(r), single<F>(n) + 12582912.0f);
  const F whole = b < 8388608.0f ? b + 8388608.0f : b;
  const F back = b < 8388608.0f ? whole - 8388608.0f : b;
  const Int<F> sign = bits<Int<F>>(x) & (bits<Int<F>>(whole) << 31);
  const F turned = bits<F>(bits<Int<F>>(p) | sign);
  p = (back == b) & (b < 16777216.0f) ? turned : p;
  p = (x < 0.0f) & (x > -infinity) & (back != b) ? nan : p;
  return (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (b == infinity)) ? one : p;
}""",
        ("same_bits", "doubled", "exp2_of_rest", "times_power"),
    ),
    # Of a quotient of up to 2^22 the nearest whole number is known, but for one that is as near;
    # what its product, exact in float64, leaves is at most one divisor away. Others, and what is no
    # number, are the C library's.
    "fmod_f32": Part(
        f"""\
template <int of> __attribute__((noinline)) float fmod_by_library(float x, float y) {{
  return __builtin_fmodf(x, y);
}}
template <class V> INLINE V vector_fmod(V x, V y) {{
  const V a = absolute(x), b = absolute(y), n = a / b + 8388608.0f - 8388608.0f;
  const V rest = single<V>(doubled<V>(a) - doubled<V>(n) * doubled<V>(b));
  V r = with_sign<V>(rest < 0.0f ? rest + b : rest, x);
  const Int<V> small = (a < b * 4194304.0f) & (b < __builtin_inff());
  int all_small = -1;
  for (int i = 0; i < int(sizeof(V) / sizeof(x[0])); i++) all_small &= small[i];
  if (__builtin_expect(!all_small, 0))
    for (int i = 0; i < int(sizeof(V) / sizeof(x[0])); i++)
      if (!small[i]) r[i] = fmod_by_library<0>(x[i], y[i]);
  return r;
}}
{simd_variants("fmodf", "vector_fmod", "xy")}""",
        ("same_bits", "doubled", "floats"),
    ),
}
