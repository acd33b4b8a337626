"""In which types the panels of a contraction on the CPU hold its elements."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.schedules.contraction import Contraction
from hidet.target import Target
from hidet.types import DType, i8, i16, i32, u8

SIGN = 128
"""What makes a signed byte an unsigned one."""


@dataclass(frozen=True)
class Elements:
    """In which types panels hold elements, how many neighbours along k make a group, and the type
    by whose rate the machine multiplies them."""

    rows: DType
    lanes: DType
    sums: DType
    group: int
    rate: str


PAIRS = Elements(i16, i16, i32, 2, "int16")
BYTES = Elements(u8, i8, i32, 4, "int8")


def is_integers(p: Contraction) -> bool:
    """Whether it is of 8-bit integers, summed up in int32."""
    return p.c.dtype is i32 and {p.a.dtype, p.b.dtype} <= {i8, u8}


def elements_of(p: Contraction, flip: bool, target: Target) -> Elements:
    """How panels hold the elements of a contraction: bytes, where the machine multiplies unsigned
    ones by signed ones and the lanes are signed; other integers as 16 bits, which hold both."""
    if not is_integers(p):
        return Elements(p.wide, p.wide, p.wide, 1, p.wide.name)
    lanes = p.a if flip else p.b
    return BYTES if target.has_feature("vnni") and lanes.dtype is i8 else PAIRS
