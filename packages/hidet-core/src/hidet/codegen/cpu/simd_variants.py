"""Functions of the C library for vectors, for loops that the compiler turns into vectors.

A loop of numbers has no place for a call of the library that a few of them need. GCC makes of a
call of `sinf` one of what OpenMP calls the function's SIMD variants, by the names that x86 has for
them; these are defined here, by a function for vectors.
"""

from __future__ import annotations

VARIANTS = (
    ("__SSE2__", "b", 4),
    ("__AVX__", "c", 8),
    ("__AVX2__", "d", 8),
    ("__AVX512F__", "e", 16),
)
"""By instruction set: its letter in the names of variants, and the lanes of its vectors."""


def simd_variants(name: str, by: str, operands: str = "x") -> str:
    """The declaration of a C function of floats with SIMD variants, each of which calls `by`.

    `operands` has a letter for each.
    """
    numbers = ", ".join("float" for _ in operands)
    variants = "\n".join(variant(name, by, operands, *each) for each in VARIANTS)
    return f"""\
#if defined __x86_64__ && !defined __clang__
extern "C" __attribute__((simd("notinbranch"), const)) float {name}({numbers});
{variants}
#endif"""


def variant(name: str, by: str, operands: str, needs: str, letter: str, lanes: int) -> str:
    """The definition of a function for the vectors of an instruction set."""
    vectors = ", ".join(f"Floats<{lanes}>::type {each}" for each in operands)
    mangled = f"_ZGV{letter}N{lanes}{'v' * len(operands)}_{name}"
    return f"""\
#ifdef {needs}
extern "C" __attribute__((weak, visibility("hidden"))) Floats<{lanes}>::type
{mangled}({vectors}) {{ return {by}({", ".join(operands)}); }}
#endif"""
