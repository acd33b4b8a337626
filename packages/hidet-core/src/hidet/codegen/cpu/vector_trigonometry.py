"""sin, cos and tan of float32 for vectors: what `vector_math.py` is for other functions.

Up to 8192 in size an argument is brought to within an eighth of a turn by quarter turns in five
parts, whose products with their number are exact; a polynomial does the rest, right to 2 units in
the last place. Vectors with a larger argument, which takes more digits of pi, call the C library
for it; loops of numbers do by `simd_variants.py`.
"""

from __future__ import annotations

from hidet.codegen.common.prelude import Part
from hidet.codegen.cpu.simd_variants import simd_variants

FUNCTIONS = {"sin": "sine", "cos": "cosine", "tan": "tangent"}
"""How each is called in the text below."""


def function(name: str, wave: str) -> Part:
    """A function for numbers and vectors alike."""
    return Part(
        f"""\
{simd_variants(f"{name}f", f"wave<{wave}>")}
template <class F> INLINE F {name}_f32(F x) {{
  if constexpr (sizeof(F) == sizeof(float)) return __builtin_{name}f(x);
  else return wave<{wave}>(x);
}}""",
        ("wave",),
    )


VECTOR_TRIGONOMETRY = {
    "wave": Part(
        """\
enum Wave { sine, cosine, tangent };
template <Wave of> __attribute__((noinline)) float by_library(float x) {
  return of == sine ? __builtin_sinf(x) : of == cosine ? __builtin_cosf(x) : __builtin_tanf(x);
}
template <Wave of, class V> INLINE V wave(V x) {
  const V turns = x * 0.636619772f + 12582912.0f, n = turns - 12582912.0f;
  V r = x - n * 1.5703125f;
  r = r - n * 0.0004837512969970703f;
  r = r - n * 7.549533620476723e-08f;
  r = r - n * 2.5632829192545614e-12f;
  r = r - n * 6.123234e-17f;
  const V z = r * r;
  V p = 2.72500013e-06f * z - 1.98400874e-04f;
  p = p * z + 8.33333188e-03f;
  p = p * z - 1.66666667e-01f;
  V q = 2.45480401e-05f * z - 1.38883036e-03f;
  q = q * z + 4.16666647e-02f;
  const Int<V> quarter = bits<Int<V>>(turns) + (of == cosine);
  const V s = p * (z * r) + r, c = q * (z * z) + (1.0f - z * 0.5f);
  V y = (quarter & 1) != 0 ? c : s;
  if (of == tangent) y = y / ((quarter & 1) != 0 ? -s : c);
  else y = bits<V>(bits<Int<V>>(y) ^ ((quarter & 2) << 30));
  if (of != cosine) y = x == 0.0f ? x : y;
  const Int<V> small = absolute(x) < 8192.0f;
  int all_small = -1;
  for (int i = 0; i < int(sizeof(V) / sizeof(x[0])); i++) all_small &= small[i];
  if (__builtin_expect(!all_small, 0))
    for (int i = 0; i < int(sizeof(V) / sizeof(x[0])); i++)
      if (!small[i]) y[i] = by_library<of>(x[i]);
  return y;
}""",
        ("same_bits", "floats"),
    ),
    **{f"{name}_f32": function(name, wave) for name, wave in FUNCTIONS.items()},
}
