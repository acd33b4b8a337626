"""wgmma: c (+)= a · b for one tile by a warpgroup, in the background. PTX ISA: wgmma.mma_async.

Operands of `wgmma` are (a, b, c, scale_d): `a` a descriptor (u64) or a pointer to its fragment in
registers, `b` a descriptor, `c` a pointer to the accumulator's fragment, which is added to where
scale_d is true and overwritten else. Options: the shape, the element types of a and b by name, then
any of "negate_a", "negate_b", "transpose_a", "transpose_b", "saturate".

Until its group is waited for, a product reads its shared operands, and its registers are nobody
else's. Simulated, products and sums are exact and rounded once for each instruction, as in
`mma_sync`; the hardware rounds toward zero at least 24 bits below the largest product of a sum
(for 8-bit floats: 13 bits).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context, MatrixUnit
from hidet.intrinsics.expect import expect, expect_pointer, expect_scalar
from hidet.intrinsics.tensor_cores.fragments import table
from hidet.intrinsics.tensor_cores.mma import (
    BYTES,
    PTX_NAMES,
    SATURATE,
    SMALL_FLOATS,
    added,
    expect_room,
    places,
    registers,
    rounded,
    wide,
    words,
)
from hidet.intrinsics.tensor_maps.descriptors import decoded, lines
from hidet.ir.expr import Const, Expr
from hidet.ir.stmt import Invoke
from hidet.mapping.fragments import wgmma_a, wgmma_c
from hidet.target import WARPGROUP
from hidet.types import (
    DType,
    PointerType,
    bf16,
    boolean,
    dtype,
    f16,
    f32,
    i32,
    tf32,
    u64,
)

ROWS = 64
FLAGS = ("negate_a", "negate_b", "transpose_a", "transpose_b", SATURATE)
SHAPE = re.compile(r"m64n(\d+)k(\d+)")


@dataclass(frozen=True)
class Form:
    """One form of `wgmma`: 64 × columns × depth."""

    columns: int
    depth: int
    left: DType
    right: DType
    into: DType
    flags: frozenset[str]

    @property
    def shape(self) -> str:
        """The shape as PTX writes it."""
        return f"m64n{self.columns}k{self.depth}"

    @property
    def a_values(self) -> int:
        """Elements of A that a thread holds, if A is in registers."""
        return ROWS * self.depth // WARPGROUP

    @property
    def c_values(self) -> int:
        """Elements of the accumulator that a thread holds."""
        return ROWS * self.columns // WARPGROUP


def sums_of(left: DType, right: DType) -> tuple[DType, ...]:
    """The types that products of two types can be summed in; none if they cannot be multiplied."""
    if left in BYTES and right in BYTES:
        return (i32,)
    if left in SMALL_FLOATS and right in SMALL_FLOATS:
        return (f32, f16)
    if left is not right:
        return ()
    return {f16: (f32, f16), bf16: (f32,), tf32: (f32,)}.get(left, ())


def legal_columns(columns: int, integer: bool) -> bool:
    """Whether a product has so many columns."""
    if not 8 <= columns <= 256 or columns % 8:
        return False
    return not integer or columns <= 32 or columns % 16 == 0


def form_of(invoke: Invoke) -> Form:
    """The form that a call asks for; `BadKernel` if the hardware has none such."""
    shape, left, right = invoke.options[0], *map(dtype, invoke.options[1:3])
    found = SHAPE.fullmatch(shape)
    into, flags = expect_pointer(invoke, 2), frozenset(invoke.options[3:])
    sums = sums_of(left, right)
    if into not in sums:
        raise BadKernel(
            f"there is no wgmma of {left} and {right} into {into}",
            place=invoke.place,
            help=f"the sums are in {' or '.join(map(str, sums))}"
            if sums
            else "there are f16, bf16, tf32, f8e4m3 and f8e5m2 (mixed), i8 and u8 (mixed)",
        )
    depth = 256 // left.bits
    columns = int(found[1]) if found else 0
    if not found or int(found[2]) != depth or not legal_columns(columns, into is i32):
        every = "8, 16, 24, 32, then every 16" if into is i32 else "every 8"
        raise BadKernel(
            f"there is no wgmma {shape} of {left} and {right}",
            place=invoke.place,
            help=f"shapes are m64nNk{depth}, N {every} up to 256",
        )
    form = Form(columns, depth, left, right, into, flags)
    check_flags(invoke, form)
    return form


def check_flags(invoke: Invoke, form: Form) -> None:
    """`BadKernel` for options that the types do not have."""
    legal = {SATURATE} if form.into is i32 else {"negate_a", "negate_b"}
    if form.left.bits == 16:
        legal |= {"transpose_a", "transpose_b"}
    if in_registers(invoke.args[0]):
        legal -= {"transpose_a"}
    for flag in sorted(form.flags - legal):
        raise BadKernel(
            f"this wgmma of {form.left} has no {flag}",
            place=invoke.place,
            help="only 16-bit operands in shared memory can be transposed; integers saturate, "
            "floats are negated",
        )


def in_registers(e: Expr) -> bool:
    """Whether the operand is a fragment."""
    return isinstance(e.type, PointerType)


def check_wgmma(invoke: Invoke) -> None:
    """Operands (a, b, c, scale_d), at least three options."""
    if len(invoke.options) < 3:
        raise BadKernel("wgmma needs a shape and two types as options", place=invoke.place)
    expect(invoke, 4, 0, len(invoke.options))
    form = form_of(invoke)
    expect_room(invoke, 2, form.c_values)
    if in_registers(invoke.args[0]):
        expect_pointer(invoke, 0, form.left)
        expect_room(invoke, 0, form.a_values)
    else:
        expect_scalar(invoke, 0, u64)
    expect_scalar(invoke, 1, u64)
    expect_scalar(invoke, 3, boolean, i32)


def wgmma_effects(invoke: Invoke) -> Effects:
    """Reads a fragment of A, reads and writes the accumulator, until it is waited for."""
    pointers = tuple(arg for arg in invoke.args if in_registers(arg))
    return Effects(reads=pointers, writes=invoke.args[2:3])


# ---- text ----------------------------------------------------------------------------------------


def wgmma_text(invoke: Invoke, spell: Spell) -> str:
    """The accumulator is read and written, whatever scale_d is: it stays where it is."""
    form = form_of(invoke)
    a, b, c = map(spell, invoke.args[:3])
    sums = words(form.into, form.c_values)
    outputs = registers(c, form.into, sums, "+")
    if in_registers(invoke.args[0]):
        parts = words(form.left, form.a_values)
        left, inputs = places(sums, parts), registers(a, form.left, parts)
    else:
        left, inputs = f"%{sums}", [f'"l"({a})']
    right = sums + len(inputs)
    inputs.append(f'"l"({b})')
    scale = scale_text(invoke.args[3], right + 1)
    if not isinstance(invoke.args[3], Const):
        inputs.append(f'"r"(static_cast<int>({spell(invoke.args[3])}))')
    return (
        f'asm volatile("{{ .reg .pred p; setp.ne.b32 p, {scale}, 0; {mnemonic(form)} '
        f'{places(0, sums)}, {left}, %{right}, p{immediates(invoke, form)}; }}" '
        f": {', '.join(outputs)} : {', '.join(inputs)});"
    )


def scale_text(e: Expr, number: int) -> str:
    """Whether to add to the accumulator: a number, or the asm operand `number`."""
    return str(int(bool(e.value))) if isinstance(e, Const) else f"%{number}"


def mnemonic(form: Form) -> str:
    """The instruction's name."""
    clamp = ".satfinite" if SATURATE in form.flags else ""
    types = ".".join(PTX_NAMES[of] for of in (form.into, form.left, form.right))
    return f"wgmma.mma_async.sync.aligned.{form.shape}{clamp}.{types}"


def immediates(invoke: Invoke, form: Form) -> str:
    """Signs of floats, and which 16-bit operands are transposed."""
    if form.into is i32:
        return ""
    found = [-1 if f"negate_{side}" in form.flags else 1 for side in "ab"]
    if form.left.bits == 16:
        sides = "b" if in_registers(invoke.args[0]) else "ab"
        found += [int(f"transpose_{side}" in form.flags) for side in sides]
    return "".join(f", {each}" for each in found)


# ---- meaning -------------------------------------------------------------------------------------


def multiplied(context: Context, invoke: Invoke) -> None:
    """Start c (+)= a · b in each warpgroup; the registers and tiles are held until waited for."""
    form, unit = form_of(invoke), context.matrix_unit()
    scale = agreed(context, unit, invoke.args[3]) != 0
    if in_registers(invoke.args[0]):
        held = unit.fragment(invoke.args[0], form.a_values)
        a = table(wgmma_a(form.left.bits)).tile(held)
    else:
        a = operand(context, unit, invoke, 0, form, ROWS)
    b = operand(context, unit, invoke, 1, form, form.columns)
    own = table(wgmma_c(form.columns))
    c = unit.sums(invoke.args[2], form.c_values, scale, f"{form.shape} in {form.into}")
    before = np.where(scale[:, None, None], own.tile(c).astype(np.float64), 0.0)
    negative = len(form.flags & {"negate_a", "negate_b"}) == 1
    left = wide(a, form.left) * (-1.0 if negative else 1.0)
    total = added(before, left, wide(b, form.right).swapaxes(1, 2))
    sums = rounded(total, form.into, SATURATE in form.flags)
    unit.result(invoke.args[2], own.held(sums))


def operand(
    context: Context, unit: MatrixUnit, invoke: Invoke, n: int, form: Form, rows: int
) -> Array:
    """Operand `n` from shared memory, as (groups, rows, depth)."""
    of = (form.left, form.right)[n]
    transposed = f"transpose_{'ab'[n]}" in form.flags
    bits = agreed(context, unit, invoke.args[n])
    across = form.depth if transposed else rows
    out = np.zeros((len(bits), across, rows * form.depth // across), of.numpy)
    for each in np.unique(bits):
        chosen = bits == each
        at = lines(decoded(int(each)), rows, form.depth, of.nbytes, transposed)
        found = np.ascontiguousarray(unit.matrix(at.reshape(-1), chosen))
        out[chosen] = found.view(of.numpy).reshape(-1, *out.shape[1:])
    return out.swapaxes(1, 2) if transposed else out


def agreed(context: Context, unit: MatrixUnit, e: Expr) -> Array:
    """An operand that all threads of a warpgroup must agree on, one for each warpgroup."""
    values = context.value(e)[unit.groups]
    differs = values != values[:, :1]
    if differs.any():
        group, thread = (int(i) for i in np.argwhere(differs)[0])
        row = int(unit.groups[group, thread])
        context.fault(f"the threads of a warpgroup do not agree on {e}", row)
    found: Array = values[:, 0]
    return found


WGMMA = (
    Intrinsic(
        "wgmma",
        'c (+)= a · b by a warpgroup, in the background; options: the shape, as "m64n128k16", the '
        "types of a and b, and flags. PTX ISA: wgmma.mma_async.",
        check_wgmma,
        wgmma_effects,
        wgmma_text,
        multiplied,
    ),
)
