"""The logarithm of the gamma function of float32: what `vector_math.py` is for other functions.

It is computed in float64 to about 11 digits and rounded once: left of zero it is the difference of
two numbers, which cancel near its zeros. One quotient of polynomials has the range around its two
zeros on the right, Stirling's series what lies beyond, and the reflection formula negative numbers.
"""

from __future__ import annotations

from hidet.codegen.common.prelude import Part

VECTOR_GAMMA = {
    # float64 of as many lanes, and the logarithm in it of a positive float32 that is no zero.
    "log_in_double": Part(
        """\
template <class F> struct Twice {
  typedef double type __attribute__((vector_size(2 * sizeof(F))));
};
template <> struct Twice<float> { using type = double; };
template <class F> using Double = typename Twice<F>::type;
template <class F> INLINE Double<F> in_double(F x) {
  if constexpr (sizeof(F) == sizeof(float)) return x;
  else return __builtin_convertvector(x, Double<F>);
}
template <class F> INLINE F in_float(Double<F> x) {
  if constexpr (sizeof(F) == sizeof(float)) return float(x);
  else return __builtin_convertvector(x, F);
}
template <class F> INLINE Double<F> log_in_double(F x) {
  const F scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
  const F shift = x < 1.17549435e-38f ? all<F>(-23.0f) : all<F>(0.0f);
  const Int<F> raw = bits<Int<F>>(scaled) - 0x3f3504f3;
  const F m = bits<F>((raw & 0x007fffff) + 0x3f3504f3);
  const Double<F> k = in_double<F>(bits<F>((raw >> 23) + 0x4b400000) - 12582912.0f + shift);
  const Double<F> f = in_double<F>(m - 1.0f), s = f / (f + 2.0), z = s * s;
  Double<F> p = 0.19220178461214987 * z + 0.22200855994520741;
  p = p * z + 0.28571545326453451;
  p = p * z + 0.40000000512490735;
  p = p * z + 0.66666666663575569;
  return k * 0.69314718055994531 + (p * z + 2.0) * s;
}""",
        ("same_bits",),
    ),
    "lgamma_f32": Part(
        """\
template <class F> INLINE F lgamma_f32(F x) {
  using D = Double<F>;
  const F size = absolute(x);
  const D a = in_double<F>(size), log_a = log_in_double<F>(size);
  const D u = a < 0.25 ? in_double<F>(x) : a < 0.75 ? a : a - 1.0;
  D p = 4.7994984984778255e-06 * u + 0.0018593289952892262;
  p = p * u + 0.047048199041689935;
  p = p * u + 0.35087113284558835;
  p = p * u + 1.040826498596064;
  p = p * u + 1.3052293155072072;
  p = p * u + 0.57721566490193388;
  D q = 0.00049963079295660417 * u + 0.021579701023609624;
  q = q * u + 0.2558217039530975;
  q = q * u + 1.2206840042763782;
  q = q * u + 2.6752065857571536;
  q = q * u + 2.6861375709764514;
  q = q * u + 1.0;
  const D near = u * (u - 1.0) * (p / q) + 0.0, i = 1.0 / a, z = i * i;  // no zero is -0
  D s = -0.0019175269175269176 * z + 0.00084175084175084171;
  s = s * z - 0.00059523809523809529;
  s = s * z + 0.00079365079365079365;
  s = s * z - 0.0027777777777777779;
  s = s * z + 0.083333333333333329;
  const D far = (a - 0.5) * (log_a - 1.0) + (s * i + 0.41893853320467274);
  const D right = a < 0.75 ? near - log_a : a < 4.75 ? near : far;
  // How far x is from a whole number, of which all are that large.
  const F whole = size < 8388608.0f ? (size + 8388608.0f) - 8388608.0f : size;
  const F rest = size < 8388608.0f ? absolute(size - whole) : all<F>(0.0f);
  const D r = in_double<F>(rest), w = r * r;
  D t = 0.0004471988402812704 * w - 0.0073637838061395211;
  t = t * w + 0.082144731731845014;
  t = t * w - 0.59926442568037186;
  t = t * w + 2.550164035415722;
  t = t * w - 5.1677127799772222;
  t = t * w + 3.1415926535895995;
  const D sine = t * r;
  const F rounded = in_float<F>(sine);
  const D beyond = (sine - in_double<F>(rounded)) / sine;
  const D left = 1.1447298858494002 - log_a - (log_in_double<F>(rounded) + beyond) - right;
  const F y = in_float<F>(in_double<F>(x) <= -0.25 ? left : right);
  const F pole = x <= -0.25f ? rest : x;
  return pole == 0.0f ? all<F>(__builtin_inff()) : y;
}""",
        ("same_bits", "log_in_double"),
    ),
}
