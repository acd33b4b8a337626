"""In which types the panels of a contraction on the CPU hold its elements."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.schedules.contraction import Contraction
from hidet.target import Target
from hidet.types import DType, bf16, f32, i8, i16, i32, u8

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
NARROW = Elements(bf16, bf16, f32, 2, "bfloat16")
BYTES = Elements(u8, i8, i32, 4, "int8")


def in_sums(p: Contraction) -> Elements:
    """Elements that are held in the type of the sums."""
    return Elements(p.wide, p.wide, p.wide, 1, p.wide.name)


def is_integers(p: Contraction) -> bool:
    """Whether it is of 8-bit integers, summed up in int32."""
    return p.c.dtype is i32 and {p.a.dtype, p.b.dtype} <= {i8, u8}


def elements_of(p: Contraction, flip: bool, target: Target) -> Elements:
    """How panels hold the elements of a contraction: bytes, where the machine multiplies unsigned
    ones by signed ones and the lanes are signed; other integers as 16 bits, which hold both;
    bfloat16 as it is where the machine multiplies it, other floats in the type of the sums."""
    if not is_integers(p):
        pairs = target.has_feature("bf16") and p.a.dtype is p.b.dtype is bf16
        return NARROW if pairs else in_sums(p)
    lanes = p.a if flip else p.b
    return BYTES if target.has_feature("vnni") and lanes.dtype is i8 else PAIRS
