"""erf and its like of float32: what `vector_math.py` is for other functions."""

from __future__ import annotations

from hidet.codegen.common.prelude import Part

VECTOR_ERF = {
    # erf(x) / x - 1 near 0, of the square of x.
    "erf_near_0": Part(
        """\
template <class F> INLINE F erf_near_0(F z) {
  F p = 8.397288e-05f * z - 0.0008149688f;
  p = p * z + 0.0052017057f;
  p = p * z - 0.026859699f;
  p = p * z + 0.11283702f;
  p = p * z - 0.37612635f;
  return p * z + 0.12837917f;
}"""
    ),
    # An odd polynomial near 0; beyond, 1 - exp(-P(x)) with P fitted to -log erfc.
    "erf_f32": Part(
        """\
template <class F> INLINE F erf_f32(F x) {
  const F a = absolute(x), z = a * a;
  const F near = a * erf_near_0<F>(z) + a;
  const F b = a > 4.0f ? all<F>(4.0f) : a;
  F q = 6.6282036e-07f * b + 1.23298905e-05f;
  q = q * b - 0.000384785f;
  q = q * b + 0.004013395f;
  q = q * b - 0.024812791f;
  q = q * b + 0.1079057f;
  q = q * b + 0.6336273f;
  q = q * b + 1.129397f;
  q = q * b - 0.00015338219f;
  const F far = 1.0f - exp_near_f32<F>(-q);
  return with_sign<F>(a < 0.92f ? near : far, x);
}""",
        ("same_bits", "exp_near_f32", "erf_near_0"),
    ),
    # exp(-P(|x|)) with P fitted to -log erfc is 1 + erf(x) left of 0, and what is missing from 2
    # right of it: one range, which keeps digits on the left that the sum would lose.
    "one_plus_erf_f32": Part(
        """\
template <class F> INLINE F one_plus_erf_f32(F x) {
  const F a = absolute(x);
  F p = 7.5787744e-07f * a - 1.5186734e-05f;
  p = p * a + 0.00013150394f;
  p = p * a - 0.00062797044f;
  p = p * a + 0.0015923012f;
  p = p * a - 2.4940271e-05f;
  p = p * a - 0.0192655f;
  p = p * a + 0.102824025f;
  p = p * a + 0.63661087f;
  p = p * a + 1.1283797f;
  const F missing = a > 4.25f ? all<F>(0.0f) : exp_near_f32<F>(-p * a);
  return x < 0.0f ? missing : 2.0f - missing;
}""",
        ("same_bits", "exp_near_f32"),
    ),
    # An odd polynomial near 0; beyond, exp(-x * x) by x * x in two parts, of which the first is
    # exact, times a polynomial in (|x| - 3) / (|x| + 3) over 1 + 2 |x|. Left of 0 that is missing
    # from 2.
    "erfc_f32": Part(
        """\
template <class F> INLINE F exp_of_parts(F high, F low) {
  const F shifted = (high + low) * 1.44269504f + 12582912.0f;
  const F n = shifted - 12582912.0f;
  const F r = ((high - n * 0.693359375f) - n * -2.12194440e-4f) + low;
  return times_power<F>(expm1_of_rest<F>(r) + 1.0f, shifted);
}
template <class F> INLINE F erfc_f32(F x) {
  const F z = x * x;
  const F s = erf_near_0<F>(z);
  F a = absolute(x);
  a = a > 10.5f ? all<F>(10.5f) : a;
  const F high = bits<F>(bits<Int<F>>(a) & -4096), low = a - high;
  const F power = exp_of_parts<F>(-(high * high), -(low * (a + high)));
  const F q = (a - 3.0f) / (a + 3.0f);
  F p = -0.00055548147f * q + 0.0018229691f;
  p = p * q + 0.0024100577f;
  p = p * q - 0.023756314f;
  p = p * q + 0.06833331f;
  p = p * q - 0.11927489f;
  p = p * q + 0.12964307f;
  p = p * q - 0.04756223f;
  p = p * q - 0.13562104f;
  p = p * q + 1.253008f;
  const F right = p * power / (a + a + 1.0f), far = x < 0.0f ? 2.0f - right : right;
  return a < 0.6f ? 1.0f - (x * s + x) : far;
}""",
        ("same_bits", "erf_near_0", "expm1_of_rest", "times_power"),
    ),
}
