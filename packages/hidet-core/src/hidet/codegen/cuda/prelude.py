"""What generated CUDA stands on: headers by element type, and small device functions."""

from __future__ import annotations

from hidet.codegen.common.prelude import (
    BITS,
    INTEGERS,
    TYPES,
    Part,
    assemble,
    float_division,
    needed,
)
from hidet.codegen.common.small_floats import ENCODING
from hidet.codegen.cuda.narrow import PARTS as NARROW_PARTS
from hidet.codegen.cuda.quotient import PARTS as QUOTIENT_PARTS
from hidet.intrinsics.builtins import BUILTINS, SPECIAL_REGISTERS
from hidet.types import u32

HEADERS = {
    "f16": "cuda_fp16.h",
    "bf16": "cuda_bf16.h",
    "f8e4m3": "cuda_fp8.h",
    "f8e5m2": "cuda_fp8.h",
}

ALIASES = {
    "f16": Part("using f16 = __half;"),
    "bf16": Part("using bf16 = __nv_bfloat16;"),
    "f8e4m3": Part("using f8e4m3 = __nv_fp8_e4m3;"),
    "f8e5m2": Part("using f8e5m2 = __nv_fp8_e5m2;"),
}


def _to_f8(short: str, format: str) -> Part:
    # Without saturation, as IEEE rounding and the frameworks have it: too large becomes NaN or inf.
    return Part(
        f"INLINE {short} to_{short}(float x) {{ {short} to; "
        f"to.__x = __nv_cvt_float_to_fp8(x, __NV_NOSAT, {format}); return to; }}",
        (short,),
    )


def _extreme(name: str) -> Part:
    return Part(
        f"INLINE float {name}_nan(float a, float b) {{ float r; "
        f'asm("{name}.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }}'
    )


CONVERSIONS = {
    "to_f8e4m3": _to_f8("f8e4m3", "__NV_E4M3"),
    "to_f8e5m2": _to_f8("f8e5m2", "__NV_E5M2"),
    "round_tf32": Part(
        'INLINE float round_tf32(float x) { unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) '
        ': "f"(x)); return __uint_as_float(r); }'
    ),
    # A byte is the last bits of a float32 above 2^23: one sum makes it a number, less a zero point.
    "byte_to_float": Part(
        """\
INLINE float byte_to_float(u8 x, float zero) {
  return bits<float>(0x4b000000u | x) - (8388608.0f + zero);
}
INLINE float byte_to_float(i8 x, float zero) {
  return bits<float>(0x4b000000u | u8(x ^ 0x80)) - (8388736.0f + zero);
}""",
        ("bits", "i8", "u8"),
    ),
    "min_nan": _extreme("min"),
    "max_nan": _extreme("max"),
}

TESTS = {
    "is_nan": Part("template <class T> INLINE bool is_nan(T x) { return x != x; }"),
    "is_inf": Part("template <class T> INLINE bool is_inf(T x) { return isinf(x); }"),
    "is_finite": Part("template <class T> INLINE bool is_finite(T x) { return isfinite(x); }"),
    "sign_bit": Part("template <class T> INLINE bool sign_bit(T x) { return signbit(x); }"),
}

VECTORS = {
    "Vec": Part("""\
INLINE constexpr int vector_alignment(int bytes, int element) {
  return bytes % 16 == 0 ? 16 : bytes & (bytes - 1) ? element : bytes;
}
template <class T, int N> struct alignas(vector_alignment(sizeof(T) * N, sizeof(T))) Vec {
  T v[N];
};"""),
    "Word": Part("""\
template <int bytes> struct Word { using type = uint4; };
template <> struct Word<1> { using type = unsigned char; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned int; };
template <> struct Word<8> { using type = uint2; };"""),
    "splat": Part(
        """\
template <class V, class T> INLINE V splat(T x) {
  V all;
  for (T &each : all.v) each = x;
  return all;
}""",
        ("Vec",),
    ),
    # Whole words move, whatever the elements are: one instruction for each 16 bytes.
    "load": Part(
        """\
template <class T, int N> INLINE Vec<T, N> load(const T *from) {
  Vec<T, N> value;
  if constexpr (sizeof(value) <= 8 ? (sizeof(value) & (sizeof(value) - 1)) : sizeof(value) % 16) {
    for (int i = 0; i < N; ++i) value.v[i] = from[i];
  } else {
    using Piece = typename Word<sizeof(value)>::type;
    for (int i = 0; i < int(sizeof(value) / sizeof(Piece)); ++i) {
      const Piece piece = reinterpret_cast<const Piece *>(from)[i];
      memcpy(reinterpret_cast<char *>(&value) + i * sizeof(Piece), &piece, sizeof(Piece));
    }
  }
  return value;
}""",
        ("Vec", "Word"),
    ),
    "load_once": Part(
        """\
template <class T, int N> INLINE Vec<T, N> load_once(const T *from) {
  Vec<T, N> value;
  uint4 word;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(from));
  memcpy(&value, &word, sizeof(word));
  return value;
}""",
        ("Vec",),
    ),
    "load_lasting": Part(
        """\
template <class T, int N> INLINE Vec<T, N> load_lasting(const T *from) {
  Vec<T, N> value;
  uint4 word;
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(from), "l"(policy));
  memcpy(&value, &word, sizeof(word));
  return value;
}""",
        ("Vec",),
    ),
    # What is zero or loaded stays in words until then: else each half of one is chosen by itself.
    "load_or_zero": Part(
        """\
INLINE void whole(uint4 &word) {
  asm("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
}
INLINE void whole(uint2 &word) { asm("" : "+r"(word.x), "+r"(word.y)); }
INLINE void whole(unsigned int &word) { asm("" : "+r"(word)); }
template <class T, int N> INLINE Vec<T, N> load_or_zero(const T *from, bool there) {
  Vec<T, N> value;
  using Piece = typename Word<sizeof(value)>::type;
  for (int i = 0; i < int(sizeof(value) / sizeof(Piece)); ++i) {
    Piece piece = {};
    if (there) piece = reinterpret_cast<const Piece *>(from)[i];
    whole(piece);
    memcpy(reinterpret_cast<char *>(&value) + i * sizeof(Piece), &piece, sizeof(Piece));
  }
  return value;
}""",
        ("Vec", "Word"),
    ),
    "store": Part(
        """\
template <class T, int N> INLINE void store(T *to, Vec<T, N> value) {
  if constexpr (sizeof(value) <= 8 ? (sizeof(value) & (sizeof(value) - 1)) : sizeof(value) % 16) {
    for (int i = 0; i < N; ++i) to[i] = value.v[i];
  } else {
    using Piece = typename Word<sizeof(value)>::type;
    for (int i = 0; i < int(sizeof(value) / sizeof(Piece)); ++i) {
      Piece piece;
      memcpy(&piece, reinterpret_cast<const char *>(&value) + i * sizeof(Piece), sizeof(Piece));
      reinterpret_cast<Piece *>(to)[i] = piece;
    }
  }
}""",
        ("Vec", "Word"),
    ),
}


def reader(register: str) -> str:
    """The name of the function that reads a special register."""
    return f"read_{register.replace('.', '_')}"


READERS = {
    reader(name): Part(
        f"INLINE {kind} {reader(name)}() {{ {kind} r; "
        f'asm("mov.u32 %0, %%{name};" : "=r"(r)); return r; }}'
    )
    for builtin, name in SPECIAL_REGISTERS.items()
    for kind in ("unsigned" if BUILTINS[builtin] is u32 else "int",)
}

MAPS = {
    # NVRTC has no <cuda.h>; only the size and the alignment of its CUtensorMap matter.
    "TensorMap": Part("struct alignas(64) TensorMap { unsigned long long opaque[16]; };"),
}

EXTREMES = {
    "minimum": Part("""\
template <class T> INLINE T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }"""),
    "maximum": Part("""\
template <class T> INLINE T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }"""),
}

PARTS: dict[str, Part] = {
    **TYPES,
    **ALIASES,
    **{"bits": Part(BITS["bits"].text.replace("__builtin_memcpy", "memcpy"))},
    **ENCODING,
    **INTEGERS,
    **float_division("fmod", "trunc", "floor", "copysign"),
    **EXTREMES,
    **CONVERSIONS,
    **TESTS,
    **VECTORS,
    **READERS,
    **MAPS,
    **NARROW_PARTS,
    **QUOTIENT_PARTS,
}


def prelude(used: set[str]) -> str:
    """The headers and definitions that a text with these names needs."""
    wanted = needed(PARTS, used)
    headers = dict.fromkeys(header for name, header in HEADERS.items() if name in wanted)
    lines = [f"#include <{header}>\n" for header in headers]
    parts = assemble(PARTS, used)
    inline = "#define INLINE static __device__ __forceinline__\n" if "INLINE" in parts else ""
    return "".join([*lines, inline, parts])
