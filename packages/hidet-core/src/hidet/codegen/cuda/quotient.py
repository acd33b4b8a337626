"""Quotients as whole numbers within bounds, without a division or a conversion for each.

A scale serves many elements: what depends on it alone the compiler keeps in registers, or as
constants. An element then takes two bounds, three products and a sum at the full rate, where a
division, `rint` and a conversion take some thirty instructions, three of them of the slow unit.

The result is that of IEEE division in every case:

- Scales far from one are brought near to it by a power of two, together with what they divide; of
  0, infinity and NaN the reciprocal takes the place of that power.
- The bounds come first: dividing and rounding change no order, so that they may.
- `high + low` is the reciprocal to some 46 bits, so that the quotient is rounded to float32 as
  division rounds it, but where it nearly is between two of them; and that matters next to ties
  only. For all scales between 1 and 2 and all ties up to 290 all such quotients were compared
  (beyond, at 291.5, one differs). Other scales are these times powers of two.
- A scale of 1 divides nothing: of a quotient only the bounds and the last sum are left.
- Adding 1.5 * 2^23 rounds to a whole number, which is what the last bits of the sum are.
"""

from __future__ import annotations

from collections.abc import Sequence

from hidet.codegen.common.prelude import Part
from hidet.ir.expr import Const, Expr
from hidet.types import f32

MAGIC = "12582912.0f"
"""1.5 * 2^23: the float32 near it are the whole numbers."""
MAGIC_BITS = "0x4b400000"

ONE = Const(1.0, f32)
"""The scale of values that are quotients already."""


def spelled(args: Sequence[Expr], suffix: str = "") -> tuple[str, Sequence[Expr]]:
    """The name and the operands of what computes a rounded quotient: by 1 nothing is divided."""
    x, scale, *bounds = args
    if scale is ONE:
        return f"rounded_value{suffix}", (x, *bounds)
    return f"rounded_quotient{suffix}", args


def ends(what: str, params: str, args: str) -> dict[str, Part]:
    """What is left of a shifted number once the shift is taken off."""
    whole = f"shifted_{what}({args}, low, high)"
    return {
        f"rounded_{what}": Part(
            f"""\
INLINE int rounded_{what}({params}, float low, float high) {{
  return bits<int>({whole}) - {MAGIC_BITS};
}}""",
            ("bits", f"shifted_{what}"),
        ),
        f"rounded_{what}_float": Part(
            f"""\
INLINE float rounded_{what}_float({params}, float low, float high) {{
  return {whole} - {MAGIC};
}}""",
            (f"shifted_{what}",),
        ),
    }


PARTS: dict[str, Part] = {
    "shifted_quotient": Part(
        f"""\
INLINE float shifted_quotient(float x, float scale, float least, float most) {{
  const float size = fabsf(scale);
  const float near = size < 0x1p-60f ? 0x1p100f : size > 0x1p60f ? 0x1p-100f : 1.0f;
  const bool plain = size * near > 0.0f && size * near < 0x1p100f;
  const float by = plain ? size * near : 1.0f;
  const float power = plain ? copysignf(near, scale) : 1.0f / scale;
  const float high = 1.0f / by, rest = fmaf(-by, high, 1.0f);
  const float low = high * fmaf(rest, rest, rest);
  const float within = fmaxf(fminf(x * power, most * by), least * by);
  return fmaf(within, high, within * low) + {MAGIC};
}}"""
    ),
    "shifted_value": Part(
        f"""\
INLINE float shifted_value(float x, float least, float most) {{
  return fmaxf(fminf(x, most), least) + {MAGIC};
}}"""
    ),
    **ends("quotient", "float x, float scale", "x, scale"),
    **ends("value", "float x", "x"),
}
"""A quotient, or a value as it is, plus 1.5 * 2^23; as an int, and as the float32 that it is."""
