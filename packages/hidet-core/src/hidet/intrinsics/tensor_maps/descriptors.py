"""Shared-memory matrix descriptors: 64 bits that tell wgmma where an operand lies.

PTX ISA: "Matrix Descriptor Format" and "Shared Memory Matrix Layout" of wgmma. An operand is made
of lines of 16 bytes. Along its rows (of A, m; of B, n; both counted by `row` here) or, transposed,
along k, elements of a line are neighbours. Distances between lines, in bytes; W is swizzle / 16:

                 a line further on      8 rows further on     a row within 8
    no swizzle   leading                stride                16                  (along k)
    swizzled     16                     stride                16 · W              (along k)

                 a line (8 rows) on     8 k further on        a k within 8
    no swizzle   stride                 leading               16                  (transposed)
    swizzled     16, after W: leading   stride                16 · W              (transposed)

A swizzle exchanges the 16-byte pieces of an address by the number of its 128-byte line: bits 4..
are xor-ed with bits 7.. of the address.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import Effects, Intrinsic, Spell, fixed
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_dtype, expect_option, expect_pointer
from hidet.ir.stmt import Invoke
from hidet.types import u64

SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}
"""Bits 62 and 63 by the bytes of a swizzle."""
SPANS = {code: span for span, code in SWIZZLES.items()}
UNIT, LINE = 16, 128
FIELD = 0x3FFF
"""Addresses and distances are stored in 14 bits, in units of 16 bytes."""


@dataclass(frozen=True)
class Descriptor:
    """What a descriptor says: bytes, but `base_offset`, which counts 128-byte lines."""

    start: int
    leading: int
    stride: int
    swizzle: int
    base_offset: int = 0

    @property
    def bits(self) -> int:
        """The 64 bits."""
        fields = self.start // UNIT & FIELD, self.leading // UNIT, self.stride // UNIT
        start, leading, stride = fields
        last = self.base_offset << 49 | SWIZZLES[self.swizzle] << 62
        return start | leading << 16 | stride << 32 | last


def decoded(bits: int) -> Descriptor:
    """What 64 bits say."""
    start, leading, stride = ((bits >> place & FIELD) * UNIT for place in (0, 16, 32))
    return Descriptor(start, leading, stride, SPANS[bits >> 62 & 3], bits >> 49 & 7)


def lines(d: Descriptor, rows: int, depth: int, nbytes: int, transposed: bool) -> Array:
    """The addresses of the lines of an operand: as (rows, line), transposed as (depth, line)."""
    found = d.start + offsets(d.leading, d.stride, d.swizzle, rows, depth, nbytes, transposed)
    if d.swizzle:
        number = found // LINE - d.base_offset
        found = found ^ ((number % (d.swizzle // UNIT)) * UNIT)
    return found


@lru_cache(maxsize=64)
def offsets(
    leading: int, stride: int, swizzle: int, rows: int, depth: int, nbytes: int, transposed: bool
) -> Array:
    """Where lines begin after the start, before the swizzle."""
    across, along = (depth, rows) if transposed else (rows, depth)
    line = np.arange(along * nbytes // UNIT)[None, :]
    eight, one = np.arange(across)[:, None] // 8, np.arange(across)[:, None] % 8
    wide = swizzle // UNIT
    if not swizzle:
        step, jump = (stride, leading) if transposed else (leading, stride)
        return np.asarray(line * step + eight * jump + one * UNIT)
    inside = eight * stride + one * swizzle
    if transposed:
        return np.asarray(inside + line % wide * UNIT + line // wide * leading)
    return np.asarray(inside + line * UNIT)


# ---- the intrinsic -------------------------------------------------------------------------------


def check_descriptor(invoke: Invoke) -> None:
    """A pointer to shared memory, a u64 result; options as of `Descriptor` after the start."""
    expect(invoke, 1, 1, 4)
    expect_pointer(invoke, 0)
    expect_dtype(invoke, invoke.results[0], u64)
    for what, nbytes in zip(("leading", "stride"), invoke.options, strict=False):
        if not isinstance(nbytes, int) or nbytes % UNIT or not 0 <= nbytes <= FIELD * UNIT:
            raise BadKernel(
                f"the {what} distance of a descriptor is a multiple of 16 bytes below 256 KiB, "
                f"not {nbytes!r}",
                place=invoke.place,
            )
    expect_option(invoke, 2, *SWIZZLES)
    expect_option(invoke, 3, *range(8))


def descriptor_text(invoke: Invoke, spell: Spell) -> str:
    """The start in the low bits; the rest is known."""
    rest = Descriptor(0, *invoke.options).bits
    start = f"static_cast<unsigned>(__cvta_generic_to_shared({spell(invoke.args[0])}))"
    return (
        f"{spell(invoke.results[0])} = 0x{rest:x}ull | "
        f"static_cast<unsigned long long>(({start} & 0x3ffffu) >> 4);"
    )


def described(context: Context, invoke: Invoke) -> None:
    """The same bits, of addresses as the simulator gives them to shared tensors."""
    swizzle = invoke.options[2]
    start = context.shared_address(invoke.args[0], 8 * swizzle or UNIT)
    wrong = context.mask & (start % UNIT != 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        context.fault(f"a matrix begins at a multiple of 16 bytes, not at {int(start[row])}", row)
    rest = np.uint64(Descriptor(0, *invoke.options).bits)
    context.assign(invoke.results[0], rest | (start.astype(np.uint64) // np.uint64(UNIT)))


DESCRIPTORS = (
    Intrinsic(
        "wgmma_descriptor",
        "A matrix in shared memory as 64 bits; options (leading and stride bytes, swizzle bytes, "
        "base offset). PTX ISA: wgmma, Matrix Descriptor Format.",
        check_descriptor,
        fixed(Effects()),
        descriptor_text,
        described,
    ),
)
