"""Element types of less than two bytes that no compiler computes in: how their bits are read.

One element takes a whole byte, its code in the low bits and zeros above, as in `ml_dtypes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hidet.types.dtypes import (
    DType,
    Kind,
    f4e2m1,
    f6e2m3,
    f6e3m2,
    f8e4m3,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f32,
    i2,
    i4,
    i32,
    u2,
    u4,
)


@dataclass(frozen=True)
class Format:
    """A floating-point format: a sign, an exponent with a bias, a fraction, and what is special.

    Codes are without the sign, unless there is but one NaN, where minus zero would be.
    """

    exponent: int
    """Bits of the exponent."""
    fraction: int
    """Bits of the fraction."""
    bias: int
    top: int
    """The code of the largest finite number."""
    over: int
    """The code that what rounds to more than that becomes: an infinity, NaN, or `top`."""
    nan: int
    """The code that NaN becomes."""
    infinite: bool = False
    """Whether `over` is an infinity, and NaN what is beyond it."""
    unsigned_zero: bool = False
    """Whether there is no minus zero: its code is that of the only NaN."""


FORMATS: dict[DType, Format] = {
    f8e4m3: Format(4, 3, 7, top=0x7E, over=0x7F, nan=0x7F),
    f8e5m2: Format(5, 2, 15, top=0x7B, over=0x7C, nan=0x7E, infinite=True),
    f8e4m3fnuz: Format(4, 3, 8, top=0x7F, over=0x80, nan=0x80, unsigned_zero=True),
    f8e5m2fnuz: Format(5, 2, 16, top=0x7F, over=0x80, nan=0x80, unsigned_zero=True),
    f6e2m3: Format(2, 3, 1, top=0x1F, over=0x1F, nan=0x20),
    f6e3m2: Format(3, 2, 3, top=0x1F, over=0x1F, nan=0x20),
    f4e2m1: Format(2, 1, 1, top=0x7, over=0x7, nan=0x8),
}
"""The floating-point formats with a sign; f8e8m0 is an exponent alone."""

INTEGERS = (i4, u4, i2, u2)
NARROW: frozenset[DType] = frozenset((*FORMATS, f8e8m0, *INTEGERS))
"""The types that are stored only: arithmetic on them happens in a wider type."""


def computed_in(of: DType) -> DType:
    """The type that arithmetic on elements of a narrow type happens in, which holds them all."""
    if of not in NARROW:
        return of
    return f32 if of.kind is Kind.FLOAT else i32


def converted(array: Any, to: DType) -> np.ndarray[Any, Any]:
    """Numbers as a type, also from one narrow type to another, which numpy knows no way between."""
    given = np.asarray(array)
    if to in NARROW and given.dtype in STORED:
        given = given.astype(np.float32)
    return np.asarray(given.astype(to.numpy))


@cache
def keeps_codes(wide: DType, narrow: DType) -> bool:
    """Whether each number of a narrow type is one of another float type, minus zero too."""
    codes = np.arange(2**narrow.bits, dtype=np.uint8).view(narrow.numpy)
    with np.errstate(over="ignore"):
        there, own = (converted(each, f32) for each in (converted(codes, wide), codes))
    return bool(np.all((there.view(np.uint32) == own.view(np.uint32)) | (own != own)))


STORED = frozenset(each.numpy for each in NARROW if each.is_held)
"""Narrow types as numpy knows them."""
