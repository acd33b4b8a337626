"""What generated C++ stands on; it includes no header, so that compiling stays fast."""

from __future__ import annotations

from hidet.codegen.common.prelude import (
    BITS,
    INTEGERS,
    TYPES,
    Part,
    assemble,
    float_division,
)
from hidet.codegen.common.small_floats import ENCODING
from hidet.codegen.cpu.vector_math import VECTOR_MATH
from hidet.types import DType, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

NATIVE = (f32, f64, i8, i16, i32, i64, u8, u16, u32, u64)
"""Element types of the vectors that compilers have as an extension."""

LANES = (2, 4, 8, 16, 32, 64)

# Assignments are spelled out: of one that copies a structure whole, compilers make no vectors.
# Nor do they of conversions of _Float16 on x86, whose instructions for these take whole vectors;
# on ARM GCC has none in C++ before 13. Of float16 numbers below the normal range are added to, or
# taken from, 0.5, whose last bit is theirs; masks choose, because GCC makes branches of conditions
# with arithmetic behind them, and then no vectors.
SMALL_FLOATS = {
    "f16": Part("""\
#ifdef __ARM_FP16_FORMAT_IEEE
using f16 = __fp16;
#else
struct f16 {
  unsigned short raw;
  f16() = default;
  f16(const f16 &) = default;
  INLINE f16 &operator=(const f16 &x) { raw = x.raw; return *this; }
  explicit INLINE f16(float x) {
    const unsigned all = bits<unsigned>(x), size = all & 0x7fffffff;
    const unsigned normal = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112u << 10);
    const unsigned small = bits<unsigned>(bits<float>(size) + 0.5f) - 0x3f000000;
    const unsigned is_small = 0u - (size < 0x38800000);
    const unsigned finite = (small & is_small) | ((normal > 0x7c00 ? 0x7c00 : normal) & ~is_small);
    raw = (size > 0x7f800000 ? 0x7e00 : finite) | (all >> 16 & 0x8000);
  }
  explicit INLINE operator float() const {
    const unsigned size = raw & 0x7fff, is_small = 0u - (size < 0x400);
    const unsigned normal = (size << 13) + (size < 0x7c00 ? 112u << 23 : 224u << 23);
    const unsigned small = bits<unsigned>(bits<float>(size | 0x3f000000) - 0.5f);
    const unsigned found = (small & is_small) | (normal & ~is_small);
    return bits<float>(found | (raw & 0x8000u) << 16);
  }
};
#endif""", ("bits",)),
    "bf16": Part("""\
struct bf16 {
  unsigned short raw;
  bf16() = default;
  bf16(const bf16 &) = default;
  INLINE bf16 &operator=(const bf16 &x) { raw = x.raw; return *this; }
  explicit INLINE bf16(float x) {
    const unsigned all = bits<unsigned>(x);
    raw = x != x ? 0x7fc0 | (all >> 16 & 0x8000) : (all + 0x7fff + (all >> 16 & 1)) >> 16;
  }
  explicit INLINE operator float() const { return bits<float>((unsigned)raw << 16); }
};""", ("bits",)),
    "round_tf32": Part("""\
INLINE float round_tf32(float x) {
  return x != x ? x : bits<float>((bits<unsigned>(x) + 0x1000) & 0xffffe000);
}""", ("bits",)),
}  # fmt: skip

CALLS = {
    "is_nan": Part("template <class T> INLINE bool is_nan(T x) { return x != x; }"),
    "is_inf": Part("template <class T> INLINE bool is_inf(T x) { return __builtin_isinf(x); }"),
    "is_finite": Part(
        "template <class T> INLINE bool is_finite(T x) { return __builtin_isfinite(x); }"
    ),
    # Of float16 by the bits, since to convert it takes some ten operations.
    "size_f16": Part("""\
INLINE unsigned size_f16(f16 x) {
  unsigned short raw;
  __builtin_memcpy(&raw, &x, sizeof(raw));
  return raw & 0x7fffu;
}""", ("f16",)),
    **{
        f"{name}_f16": Part(
            f"INLINE bool {name}_f16(f16 x) {{ return size_f16(x) {test} 0x7c00u; }}", ("size_f16",)
        )
        for name, test in (("is_nan", ">"), ("is_inf", "=="), ("is_finite", "<"))
    },
    # By the bits: GCC 12 fails to compile __builtin_signbit in vectorised loops.
    "sign_bit": Part("""\
INLINE bool sign_bit(float x) { return bits<int>(x) < 0; }
INLINE bool sign_bit(double x) { return bits<long long>(x) < 0; }""", ("bits",)),
    "rsqrt": Part("""\
INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }"""),
    "fail": Part("""\
extern "C" int dprintf(int file, const char *format, ...);
[[noreturn]] static void fail(const char *message) {
  dprintf(2, "%s", message);
  __builtin_trap();
}"""),
}  # fmt: skip

# For loops that become vectors `fmodf` has variants.
DIVISION = {
    "real": Part("\n".join(
        f"INLINE {of} real_{name}({', '.join(f'{of} {x}' for x in args)}) "
        f"{{ return __builtin_{name}{suffix}({', '.join(args)}); }}"
        for name, args in (("fmod", "ab"), ("trunc", "a"), ("floor", "a"), ("copysign", "ab"))
        for of, suffix in (("float", "f"), ("double", ""))
    ), ("fmod_f32",)),
    **{
        name: Part(part.text, ("real",))
        for name, part in float_division(
            "real_fmod", "real_trunc", "real_floor", "real_copysign"
        ).items()
    },
}  # fmt: skip

LOOPS = {
    # `runtime/team.py` sets the variable to the process's team. Without one, as in a unit that is
    # loaded by hand, the thread that meets a loop runs it.
    "parallel": Part("""\
#define NOINLINE __attribute__((noinline))
using Iterations = long long;
extern "C" {
__attribute__((visibility("default")))
void (*hidet_parallel)(
    void (*)(const void *, Iterations, Iterations), const void *, Iterations) = nullptr;
}
template <class... Extents> INLINE Iterations iterations(Extents... extents) {
  return (Iterations(1) * ... * Iterations(extents > 0 ? extents : 0));
}
template <class T, class E> INLINE bool advance(T &i, E extent) {
  if (++i < extent) return false;
  i = 0;
  return true;
}
template <class Loop, class... Values>
INLINE void parallel(Iterations count, const Loop &loop, Values &...values) {
  const auto part = [&](Iterations begin, Iterations end) { loop(begin, end, values...); };
  if (count <= 0) return;
  if (!hidet_parallel) return part(0, count);
  using Part = decltype(part);
  hidet_parallel([](const void *of, Iterations begin, Iterations end) {
    (*static_cast<Part *>(of))(begin, end);
  }, &part, count);
}"""),
}  # fmt: skip

VECTORS = {
    "Vec": Part("template <class T, int N> struct Vec { T v[N]; };"),
    "splat": Part("""\
template <class T, class E> INLINE T splat(E x) { return x - T{}; }"""),
    "splat_vec": Part("""\
template <class V, class E> INLINE V splat_vec(E x) {
  V all;
  for (auto &each : all.v) each = x;
  return all;
}""", ("Vec",)),
    # Sums of 4 products of bytes, of 2 of 16 bits, by one instruction where there is one. Spelled
    # as assembly: compilers differ in how they name and type these instructions.
    "dot": Part("""\
template <class V, class A, class B> INLINE V dot(V total, A a, B b) {
  constexpr int lanes = sizeof(V) / sizeof(total[0]), group = sizeof(int) / sizeof(b[0]);
  constexpr int held = sizeof(A) / sizeof(a[0]);
  V all;
  if constexpr (held == group) all = bits<int>(a) - V{};
  else all = bits<V>(a);
#ifdef __AVX512VNNI__
  if constexpr (group == 4 && sizeof(V) == 64) {
    asm("vpdpbusd %2, %1, %0" : "+v"(total) : "v"(all), "v"(b));
    return total;
  }
#endif
#ifdef __AVX2__
#ifdef __AVX512BW__
  constexpr int widest = 64;
#else
  constexpr int widest = 32;
#endif
  if constexpr (group == 2 && sizeof(V) >= 16 && sizeof(V) <= widest) {
    V pairs;
    asm("vpmaddwd %2, %1, %0" : "=v"(pairs) : "v"(all), "v"(b));
    return total + pairs;
  }
#elif defined __SSE2__
  if constexpr (group == 2 && sizeof(V) == 16) {
    asm("pmaddwd %1, %0" : "+x"(all) : "x"(b));
    return total + all;
  }
#endif
  for (int i = 0; i < lanes * group; i++) total[i / group] += (int)a[i % held] * (int)b[i];
  return total;
}""", ("bits",)),
    "dot_bf16": Part("""\
template <class V, class A, class B> INLINE V dot_bf16(V total, A a, B b) {
  constexpr int lanes = sizeof(V) / sizeof(total[0]), held = sizeof(A) / sizeof(a.v[0]);
#ifdef HIDET_BF16
  if constexpr (sizeof(V) == 64) {
    V all;
    if constexpr (held == 2) all = bits<V>(bits<int>(a) - (decltype(total < total)){});
    else all = bits<V>(a);
    asm("vdpbf16ps %2, %1, %0" : "+v"(total) : "v"(all), "v"(bits<V>(b)));
    return total;
  }
#endif
  for (int i = 0; i < 2 * lanes; i++) total[i / 2] += (float)a.v[i % held] * (float)b.v[i];
  return total;
}""", ("bits", "bf16")),
    # Neighbours in memory of 16 bits each, as float32.
    "Halves": Part("""\
template <int N> struct Halves {
  typedef unsigned short type __attribute__((vector_size(N / 2)));
};"""),
    "load_bf16": Part("""\
template <class F> INLINE F load_bf16(const bf16 *from) {
  typename Halves<sizeof(F)>::type half;
  __builtin_memcpy(&half, from, sizeof(half));
  return bits<F>(__builtin_convertvector(half, decltype(F{} < F{})) << 16);
}""", ("bits", "bf16", "Halves")),
    "load_f16": Part("""\
template <class F> INLINE F load_f16(const f16 *from) {
  F y;
#ifdef __F16C__
#ifdef __AVX512F__
  constexpr int most = 64;
#else
  constexpr int most = 32;
#endif
  if constexpr (sizeof(F) >= 32 && sizeof(F) <= most) {
    typename Halves<sizeof(F)>::type half;
    __builtin_memcpy(&half, from, sizeof(half));
    asm("vcvtph2ps %1, %0" : "=v"(y) : "v"(half));
    return y;
  }
#endif
  for (int i = 0; i < int(sizeof(F) / sizeof(y[0])); i++) y[i] = (float)from[i];
  return y;
}""", ("f16", "Halves")),
    "load": Part("""\
template <class T, int N> INLINE Vec<T, N> load(const T *from) {
  Vec<T, N> value;
  __builtin_memcpy((void *)&value, from, sizeof(value));
  return value;
}""", ("Vec",)),
    "store": Part("""\
template <class T, int N> INLINE void store(T *to, Vec<T, N> value) {
  __builtin_memcpy((void *)to, &value, sizeof(value));
}""", ("Vec",)),
}  # fmt: skip

EXTREMES = {
    # Works on numbers and vectors alike. Two choices, each of which is an instruction: of one with
    # both conditions within another one, GCC makes branches. What is no number is looked for in b,
    # so that of an accumulator a nothing waits but the first choice.
    "minimum": Part("""\
template <class T> INLINE T minimum(T a, T b) {
  const T least = b < a ? b : a;
  return b == b ? least : b;
}"""),
    "maximum": Part("""\
template <class T> INLINE T maximum(T a, T b) {
  const T most = b > a ? b : a;
  return b == b ? most : b;
}"""),
}

CNAMES = {f32: "float", f64: "double", i32: "int"}


def _vector(of: DType, lanes: int) -> Part:
    name, element = f"{of.short}x{lanes}", CNAMES.get(of, of.short)
    size = f"vector_size({of.nbytes * lanes})"
    return Part(
        f"typedef {element} {name} __attribute__(({size}));\n"
        f"typedef {element} {name}_at __attribute__(({size}, aligned({of.nbytes}), may_alias));",
        (of.short,),
    )


LIMITS = {
    # By a number: one comparison, which lets what is no number through. With the two of `minimum`
    # and `maximum` GCC moves the masks of a ReLU6 through general registers, vector by vector.
    "at_most": Part("template <class T> INLINE T at_most(T a, T b) { return a >= b ? b : a; }"),
    "at_least": Part("template <class T> INLINE T at_least(T a, T b) { return a <= b ? b : a; }"),
}

PARTS: dict[str, Part] = {
    **TYPES,
    **BITS,
    **ENCODING,
    **SMALL_FLOATS,
    **INTEGERS,
    **CALLS,
    **LOOPS,
    **EXTREMES,
    **LIMITS,
    **{f"{of.short}x{lanes}": _vector(of, lanes) for of in NATIVE for lanes in LANES},
    **VECTORS,
    **VECTOR_MATH,
    **DIVISION,
}


def prelude(used: set[str]) -> str:
    """The definitions that a text with these names needs."""
    parts = assemble(PARTS, used)
    if "INLINE" not in parts:
        return parts
    return "#define INLINE inline __attribute__((always_inline))\n" + parts
