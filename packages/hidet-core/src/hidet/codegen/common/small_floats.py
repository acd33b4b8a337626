"""Small floating-point formats in C++: codes of a number of bits, read and written as float32."""

from __future__ import annotations

from hidet.codegen.common.prelude import Part
from hidet.types import DType
from hidet.types.narrow import FORMATS, Format

ENCODING = {
    # Rounds to the nearest, ties to even, to a format of M fraction bits; codes beyond `top` become
    # `over`. Subnormal results are multiples of the smallest one: adding 2^23 * 1.5 rounds to them.
    "encode": Part("""\
template <int M, int BIAS>
INLINE unsigned encode(float x, unsigned top, unsigned over, unsigned nan) {
  const unsigned raw = bits<unsigned>(x), size = raw & 0x7fffffff;
  const unsigned normal = ((size + (1u << (22 - M)) - 1 + (size >> (23 - M) & 1)) >> (23 - M)) -
                          ((127u - BIAS) << M);
  const float scaled = bits<float>(size) * bits<float>((unsigned)(127 + BIAS - 1 + M) << 23);
  const unsigned subnormal = bits<unsigned>(scaled + 12582912.0f) - 0x4b400000;
  const unsigned finite = size < ((128u - BIAS) << 23) ? subnormal : normal;
  return size > 0x7f800000 ? nan : size == 0x7f800000 || finite > top ? over : finite;
}""", ("bits",)),
    "decode": Part("""\
template <int M, int BIAS> INLINE float decode(unsigned code) {
  const float normal = bits<float>((code << (23 - M)) + ((127u - BIAS) << 23));
  const float subnormal = (float)(int)code * bits<float>((unsigned)(128 - BIAS - M) << 23);
  return code >> M ? normal : subnormal;
}""", ("bits",)),
    # An exponent alone: the nearest power of two, the upper one of two, and from 2^-127 upwards the
    # next one, as ml_dtypes has it. NaN is what has none: zero, negative numbers, infinities.
    "encode_f8e8m0": Part("""\
INLINE u8 encode_f8e8m0(float x) {
  const unsigned raw = bits<unsigned>(x);
  const unsigned code = raw < 0x800000 ? raw > 0x400000 : (raw + 0x400000) >> 23;
  return raw == 0 || raw >= 0x7f800000 ? 0xff : code;
}""", ("bits", "u8")),
    "decode_f8e8m0": Part("""\
INLINE float decode_f8e8m0(u8 code) {
  const unsigned size = code == 0 ? 0x400000u : (unsigned)code << 23;
  return bits<float>(code == 0xff ? 0x7fc00000u : size);
}""", ("bits", "u8")),
}  # fmt: skip


def encoding(of: DType, form: Format) -> Part:
    """The function that rounds a float32 to a format, and gives its code."""
    width = form.exponent + form.fraction
    signed = "code == 0 ? 0 : code | sign" if form.unsigned_zero else "code ^ sign"
    return Part(
        f"""\
INLINE u8 encode_{of}(float x) {{
  const unsigned sign = bits<unsigned>(x) >> 31 << {width};
  const unsigned code =
      encode<{form.fraction}, {form.bias}>(x, {form.top:#x}, {form.over:#x}, {form.nan:#x});
  return {signed};
}}""",
        ("encode", "u8"),
    )


def decoding(of: DType, form: Format) -> Part:
    """The function that gives the number, as float32, that a code of a format means."""
    width, value = form.exponent + form.fraction, "bits<unsigned>(finite)"
    if form.infinite:
        beyond = f"0x7f800000 | (size - {form.over:#x}) << {23 - form.fraction}"
        value = f"size >= {form.over:#x} ? {beyond} : {value}"
    elif form.over == form.nan:
        what = "code" if form.unsigned_zero else "size"
        value = f"{what} == {form.nan:#x} ? 0x7fc00000 : {value}"
    return Part(
        f"""\
INLINE float decode_{of}(u8 code) {{
  const unsigned size = code & {(1 << width) - 1:#x};
  const float finite = decode<{form.fraction}, {form.bias}>(size);
  const unsigned value = {value};
  return bits<float>(value | (unsigned)code >> {width} << 31);
}}""",
        ("decode", "u8"),
    )


ENCODING |= {f"encode_{of}": encoding(of, form) for of, form in FORMATS.items()}
ENCODING |= {f"decode_{of}": decoding(of, form) for of, form in FORMATS.items()}
