"""exp of float32 and its like: what `vector_math.py` is for other functions.

    e^x = 2^(n / steps) e^r                  n: the whole number nearest to x steps / log 2

A vector of 8 or 16 lanes holds 2^(j / steps) for each j below `steps`, as many as it has lanes, and
one instruction looks one up for each lane: r is so small that a polynomial of three or four terms
does. Numbers, and vectors of other lengths, have one step and six terms.
"""

from __future__ import annotations

from math import exp2

import numpy as np

from hidet.codegen.common.prelude import Part

MANTISSA = 23
"""Bits of float32 behind the exponent."""


def table(log: int) -> str:
    """The bits of 2^(j / 2^log), from which those are taken off that j itself adds when n, of which
    j are the last bits, is shifted to where the exponent is."""
    numbers = [np.float32(exp2(j / (1 << log))).view(np.int32) for j in range(1 << log)]
    return ", ".join(str(int(bits) - (j << (MANTISSA - log))) for j, bits in enumerate(numbers))


def missing(log: int) -> str:
    """How much each of these powers is larger than the table has it, in proportion."""
    exact = [exp2(j / (1 << log)) for j in range(1 << log)]
    return ", ".join(f"{each / float(np.float32(each)) - 1:.8e}f" for each in exact)


VECTOR_POWERS = {
    # e^r - 1 of what whole powers of 2 leave.
    "expm1_of_rest": Part(
        """\
template <class F> INLINE F expm1_of_rest(F r) {
  F p = 0.0013950807f * r + 0.008369073f;
  p = p * r + 0.041666202f;
  p = p * r + 0.16666517f;
  p = p * r + 0.5f;
  return p * (r * r) + r;
}"""
    ),
    # p 2^n in two factors, as n, in the last bits of `shifted`, may be beyond what one holds.
    "times_power": Part(
        """\
template <class F> INLINE F times_power(F p, F shifted) {
  const Int<F> power = bits<Int<F>>(shifted) - (0x4b400000 - 254), half = power >> 1;
  return p * bits<F>(half << 23) * bits<F>((power - half) << 23);
}""",
        ("same_bits",),
    ),
    # Assembly, since compilers differ in how they name this instruction, and GCC makes it of no
    # loop that it turns into vectors itself.
    "log_steps": Part(
        f"""\
template <class F> constexpr int log_steps() {{
#ifdef __AVX512F__
  if (sizeof(F) == 64) return 4;
#endif
#ifdef __AVX2__
  if (sizeof(F) == 32) return 3;
#endif
  return 0;
}}
template <class F> constexpr int STEPS = 1 << log_steps<F>();
template <class V> INLINE V looked_up(V table, Int<V> place) {{
  V found;
  asm("vpermd %1, %2, %0" : "=v"(found) : "v"(table), "v"(place));
  return found;
}}
// The bits of 2^(n / steps + more), with n in the last bits of `shifted`.
template <class F> INLINE Int<F> power_bits(Int<F> shifted, int more) {{
  constexpr int log = log_steps<F>();
  if constexpr (log == 4)
    return looked_up<Int<F>>(Int<F>{{{table(4)}}} + more * (1 << 23), shifted) + (shifted << 19);
  else if constexpr (log == 3)
    return looked_up<Int<F>>(Int<F>{{{table(3)}}} + more * (1 << 23), shifted) + (shifted << 20);
  else
    return (shifted + (127 + more)) << 23;
}}""",
        ("same_bits",),
    ),
    # e^r - 1 of what whole steps leave.
    "expm1_of_step": Part(
        """\
template <class F> INLINE F expm1_of_step(F r) {
  if constexpr (STEPS<F> == 16) return (0.16666718f * r + 0.50001615f) * (r * r) + r;
  else if constexpr (STEPS<F> == 8)
    return ((0.04166043f * r + 0.16668026f) * r + 0.5f) * (r * r) + r;
  else return expm1_of_rest<F>(r);
}""",
        ("log_steps", "expm1_of_rest"),
    ),
    # x = n log 2 / steps + r: e^r - 1, and n in the last bits of `shifted`. The limits of x are
    # variables: of limits that it knows GCC makes cases of their own, each with a polynomial, by
    # masks for AVX-512, and in some loops by branches for AVX2, five times as slow.
    "expm1_of_steps": Part(
        """\
__attribute__((weak, visibility("hidden"))) float exp_low = -104.5f, exp_high = 89.0f;
__attribute__((weak, visibility("hidden"))) float exp_least = -86.0f, exp_normal = -87.33654f;
template <class F> INLINE F expm1_of_steps(F x, Int<F> &place) {
  const F shifted = x * (1.44269504f * STEPS<F>) + 12582912.0f;
  const F n = shifted - 12582912.0f;
  const F r = (x - n * (0.693359375f / STEPS<F>)) - n * (-2.12194440e-4f / STEPS<F>);
  place = bits<Int<F>>(shifted);
  return expm1_of_step<F>(r);
}""",
        ("expm1_of_step",),
    ),
    # 2^n in two factors, as n may be beyond what one holds: 2^(n / 2), rounded down, is the second.
    "exp_f32": Part(
        """\
template <class F> INLINE F exp_f32(F x) {
  x = x > exp_high ? all<F>(exp_high) : x;
  x = x < exp_low ? all<F>(exp_low) : x;
  Int<F> place;
  const F less = expm1_of_steps<F>(x, place);
  const Int<F> half = place >> (log_steps<F>() + 1);
  const F first = bits<F>(power_bits<F>(place, 0) - (half << 23));
  return (less * first + first) * bits<F>((half + 127) << 23);
}""",
        ("expm1_of_steps",),
    ),
    # The same of x that is 0 at most, with 0 for what is no normal number: one factor of 2^n.
    "exp_nonpositive_f32": Part(
        """\
template <class F> INLINE F exp_nonpositive_f32(F x) {
  Int<F> place;
  const F less = expm1_of_steps<F>(x, place);
  const F power = bits<F>(power_bits<F>(place, 0));
  return x < exp_normal ? F{} : less * power + power;
}""",
        ("expm1_of_steps",),
    ),
    # 1 + e^x, as in sigmoids: small powers do not matter, and half of the largest is a number.
    "one_plus_exp_f32": Part(
        """\
template <class F> INLINE F one_plus_exp_f32(F x) {
  x = x > exp_high ? all<F>(exp_high) : x;
  x = x < exp_least ? all<F>(exp_least) : x;
  Int<F> place;
  const F less = expm1_of_steps<F>(x, place);
  const F half = bits<F>(power_bits<F>(place, -1));
  return (less * half + half) * 2.0f + 1.0f;
}""",
        ("expm1_of_steps",),
    ),
    # The same where e^x is a normal number, and for at most 26 log 2 right to the same bits: one
    # factor of 2^n, and log 2 in one part. What the table rounds is made good, since erf shows it.
    "exp_near_f32": Part(
        f"""\
template <class F> INLINE F with_missing(F r, Int<F> place) {{
  if constexpr (STEPS<F> == 16) return r + looked_up<F>(F{{{missing(4)}}}, place);
  else if constexpr (STEPS<F> == 8) return r + looked_up<F>(F{{{missing(3)}}}, place);
  else return r;
}}
template <class F> INLINE F exp_near_f32(F x) {{
  const F shifted = x * (1.44269504f * STEPS<F>) + 12582912.0f;
  const F n = shifted - 12582912.0f;
  const Int<F> place = bits<Int<F>>(shifted);
  const F r = with_missing<F>(x - n * (0.69314718f / STEPS<F>), place);
  const F less = expm1_of_step<F>(r), power = bits<F>(power_bits<F>(place, 0));
  return less * power + power;
}}""",
        ("expm1_of_step",),
    ),
}
