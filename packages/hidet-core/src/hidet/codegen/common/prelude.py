"""The small functions that generated code relies on; a text gets those it uses, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A definition, and the other parts it needs."""

    text: str
    needs: tuple[str, ...] = ()


def assemble(parts: Mapping[str, Part], used: Iterable[str]) -> str:
    """The parts in use and what they need, in the order of the table."""
    wanted = needed(parts, used)
    return "".join(part.text + "\n" for name, part in parts.items() if name in wanted)


def needed(parts: Mapping[str, Part], used: Iterable[str]) -> set[str]:
    """The names of parts in use and of those that these need."""
    wanted: set[str] = set()
    pending = list(used)
    while pending:
        name = pending.pop()
        if name in parts and name not in wanted:
            wanted.add(name)
            pending.extend(parts[name].needs)
    return wanted


TYPES = {
    "i8": Part("using i8 = signed char;"),
    "i16": Part("using i16 = short;"),
    "i64": Part("using i64 = long long;"),
    "u8": Part("using u8 = unsigned char;"),
    "u16": Part("using u16 = unsigned short;"),
    "u32": Part("using u32 = unsigned int;"),
    "u64": Part("using u64 = unsigned long long;"),
}

BITS = {
    "bits": Part("""\
template <class To, class From> INLINE To bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "the same width");
  To to;
  __builtin_memcpy(&to, &x, sizeof(To));
  return to;
}"""),
}

INTEGERS = {
    # Division by zero gives 0 and the smallest number by -1 itself, as in numpy: no traps.
    "trunc_div": Part("""\
template <class T> INLINE T trunc_div(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return T(0ull - (unsigned long long)a);
  return T(a / b);
}"""),
    "trunc_mod": Part("""\
template <class T> INLINE T trunc_mod(T a, T b) {
  return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}"""),
    "floor_div": Part(
        """\
template <class T> INLINE T floor_div(T a, T b) {
  if (b == 0) return 0;
  if (b == T(-1)) return T(0ull - (unsigned long long)a);
  return T(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}"""
    ),
    "floor_mod": Part("""\
template <class T> INLINE T floor_mod(T a, T b) {
  if (b == 0 || b == T(-1)) return 0;
  const T rest = T(a % b);
  return T(rest + (((rest != 0) & ((rest < 0) != (b < 0))) ? b : T(0)));
}"""),
    "abs_int": Part("""\
template <class T> INLINE T abs_int(T x) {
  return x < T(0) ? T(0ull - (unsigned long long)x) : x;
}"""),
}


def float_division(modulo: str, truncate: str, floor: str, copysign: str) -> dict[str, Part]:
    """Division of floats that rounds down, as Python's, given overloaded C functions.

    The quotient is computed from the exact remainder, so that it never disagrees with it.
    """
    return {
        "trunc_div_float": Part(
            f"template <class T> INLINE T trunc_div_float(T a, T b) {{ return {truncate}(a / b); }}"
        ),
        "trunc_mod_float": Part(
            f"template <class T> INLINE T trunc_mod_float(T a, T b) {{ return {modulo}(a, b); }}"
        ),
        "floor_mod_float": Part(f"""\
template <class T> INLINE T floor_mod_float(T a, T b) {{
  const T rest = {modulo}(a, b);
  if (rest == T(0)) return {copysign}(T(0), b);
  return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}}"""),
        "floor_div_float": Part(f"""\
template <class T> INLINE T floor_div_float(T a, T b) {{
  if (b == T(0)) return a / b;
  const T rest = {modulo}(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (rest < T(0)) != (b < T(0))) quotient -= T(1);
  if (quotient == T(0)) return {copysign}(T(0), a / b);
  const T whole = {floor}(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}}"""),
    }


VECTORS = {
    "Vec": Part("""\
template <class T, int N> struct alignas(sizeof(T) * N % 16 ? sizeof(T) : 16) Vec { T v[N]; };"""),
}
