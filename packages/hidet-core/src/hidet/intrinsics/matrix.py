"""Tensor-core products and the loads and stores of their operands, by whole warps.

Fragments are pointers into register arrays, rows pointers into shared memory.
PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import (
    WARP,
    Array,
    Context,
    Effects,
    Intrinsic,
    Spell,
    expect,
    expect_option,
    expect_pointer,
)
from hidet.intrinsics.fragments import Table, accumulator, eight_by_eight, operand_a, operand_b
from hidet.ir.stmt import Invoke
from hidet.types import DType, bf16, f16, f32, i16, tf32, u16

HALVES = (f16, bf16, i16, u16)
PTX_NAMES = {f16: "f16", bf16: "bf16", f32: "f32", tf32: "tf32"}


@dataclass(frozen=True)
class Product:
    """One shape of `mma.sync`: 16 × 8 × `depth`, of elements `of`, summed in `into`."""

    depth: int
    of: DType
    into: DType

    @cached_property
    def a(self) -> Table:
        """Who holds the left operand."""
        return operand_a(self.depth, self.of.bits)

    @cached_property
    def b(self) -> Table:
        """Who holds the right operand."""
        return operand_b(self.depth, self.of.bits)

    @cached_property
    def c(self) -> Table:
        """Who holds the sum."""
        return accumulator()


PRODUCTS = {
    (f"m16n8k{depth}", of, into): Product(depth, of, into)
    for depth, of, into in (
        (16, f16, f32),
        (16, bf16, f32),
        (16, f16, f16),
        (8, f16, f32),
        (8, bf16, f32),
        (8, f16, f16),
        (8, tf32, f32),
    )
}


def product_of(invoke: Invoke) -> Product:
    """The product that a call asks for; `BadKernel` if the hardware has none such."""
    a, b, c = (expect_pointer(invoke, n) for n in range(3))
    found = PRODUCTS.get((invoke.options[0], a, c))
    if found is None or a is not b:
        known = ", ".join(f"{shape} {of} -> {into}" for shape, of, into in PRODUCTS)
        raise BadKernel(
            f"there is no mma_sync {invoke.options[0]} of {a} and {b} into {c}",
            place=invoke.place,
            help=f"there are {known}",
        )
    return found


def check_product(invoke: Invoke) -> None:
    """Operands (a, b, c), the shape as option."""
    expect(invoke, 3, 0, 1)
    product_of(invoke)


def product_effects(invoke: Invoke) -> Effects:
    """Reads all three fragments, writes the third."""
    return Effects(reads=invoke.args, writes=invoke.args[2:], convergent=True)


def product_text(invoke: Invoke, spell: Spell) -> str:
    """Fragments as 32-bit registers; c is read and written."""
    product = product_of(invoke)
    a, b, c = map(spell, invoke.args)
    sums = 4 if product.into is f32 else 2
    kind = "float" if product.into is f32 else "unsigned"
    code = "f" if product.into is f32 else "r"
    counts = [product.a.values * product.of.bits // 32, product.b.values * product.of.bits // 32]
    names = [PTX_NAMES[t] for t in (product.into, product.of, product.of, product.into)]
    outputs = registers(c, kind, f"+{code}", sums)
    inputs = registers(a, "unsigned", "r", counts[0]) + registers(b, "unsigned", "r", counts[1])
    d, left, right = places(0, sums), places(sums, counts[0]), places(sums + counts[0], counts[1])
    return (
        f'asm volatile("mma.sync.aligned.{invoke.options[0]}.row.col.{".".join(names)} '
        f'{d}, {left}, {right}, {d};" : {", ".join(outputs)} : {", ".join(inputs)});'
    )


def registers(pointer: str, kind: str, constraint: str, count: int) -> list[str]:
    """Operands of an asm statement: consecutive registers behind a pointer."""
    cast = f"reinterpret_cast<{kind}*>({pointer})"
    return [f'"{constraint}"({cast}[{n}])' for n in range(count)]


def places(first: int, count: int) -> str:
    """The numbers of consecutive operands in braces."""
    return "{" + ", ".join(f"%{first + n}" for n in range(count)) + "}"


def multiplied(context: Context, invoke: Invoke) -> None:
    """c += a · b; products are exact, the sum is in float32 and then rounded to c's type."""
    context.whole_warps()
    found = product_of(invoke)
    active = context.mask.reshape(-1, WARP)[:, 0]
    a = found.a.tile(fragment(context, invoke, 0, found.a.values)[active])
    b = found.b.tile(fragment(context, invoke, 1, found.b.values)[active])
    c = fragment(context, invoke, 2, found.c.values)
    sums = found.c.tile(c[active]).astype(np.float32) + wide(a, found.of) @ wide(b, found.of)
    out = np.zeros(c.shape, c.dtype)
    out[active] = found.c.held(sums).astype(c.dtype)
    context.write(invoke.args[2], out.reshape(-1, found.c.values), align=4)


def fragment(context: Context, invoke: Invoke, n: int, values: int) -> Array:
    """Operand `n` as (warps, 32, values)."""
    return context.read(invoke.args[n], values, align=4).reshape(-1, WARP, values)


def wide(tile: Array, of: DType) -> Array:
    """Elements as float32; tfloat32 operands lose their last 13 bits."""
    found = tile.astype(np.float32)
    if of is tf32:
        found = (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return found


# ---- ldmatrix, stmatrix --------------------------------------------------------------------------


def check_move(invoke: Invoke) -> None:
    """Two pointers to 16-bit elements; options: how many matrices, and whether transposed."""
    expect(invoke, 2, 0, 2)
    if expect_pointer(invoke, 0, *HALVES) is not expect_pointer(invoke, 1, *HALVES):
        raise BadKernel(f"{invoke.name} moves elements of one type", place=invoke.place)
    expect_option(invoke, 0, 1, 2, 4)
    expect_option(invoke, 1, False, True)


def move_effects(invoke: Invoke) -> Effects:
    """Writes its first operand, reads its second."""
    return Effects(reads=invoke.args[1:], writes=invoke.args[:1], convergent=True)


def matrices(invoke: Invoke) -> str:
    """The shape part of the instruction's name."""
    count, transposed = invoke.options
    return f"m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Registers from rows of shared memory."""
    count = invoke.options[0]
    target, source = map(spell, invoke.args)
    outputs = ", ".join(registers(target, "unsigned", "=r", count))
    return (
        f'asm volatile("ldmatrix.sync.aligned.{matrices(invoke)} '
        f'{places(0, count)}, [%{count}];" : {outputs} '
        f': "r"(static_cast<unsigned>(__cvta_generic_to_shared({source}))) : "memory");'
    )


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Rows of shared memory from registers."""
    count = invoke.options[0]
    target, source = map(spell, invoke.args)
    inputs = ", ".join(registers(source, "unsigned", "r", count))
    return (
        f'asm volatile("stmatrix.sync.aligned.{matrices(invoke)} [%0], {places(1, count)};" '
        f':: "r"(static_cast<unsigned>(__cvta_generic_to_shared({target}))), {inputs} '
        f': "memory");'
    )


EIGHT = eight_by_eight()


def row_lanes(context: Context, count: int) -> Array:
    """The lanes whose addresses count: eight for each matrix."""
    return np.arange(len(context.mask)) % WARP < 8 * count


def loaded(context: Context, invoke: Invoke) -> None:
    """Lane 8·i + r gives the address of row r of matrix i; each lane gets two of its elements."""
    context.whole_warps()
    count, transposed = invoke.options
    rows = context.read(invoke.args[1], 8, where=row_lanes(context, count))
    tiles = rows.reshape(-1, 4, 8, 8)[:, :count]
    tiles = tiles.swapaxes(2, 3) if transposed else tiles
    warps = len(tiles)
    held = EIGHT.held(tiles.reshape(-1, 8, 8)).reshape(warps, count, WARP, 2)
    context.write(invoke.args[0], held.transpose(0, 2, 1, 3).reshape(-1, 2 * count), align=4)


def stored(context: Context, invoke: Invoke) -> None:
    """The reverse of ldmatrix."""
    context.whole_warps()
    count, transposed = invoke.options
    held = context.read(invoke.args[1], 2 * count, align=4).reshape(-1, WARP, count, 2)
    warps = len(held)
    tiles = EIGHT.tile(held.transpose(0, 2, 1, 3).reshape(-1, WARP, 2))
    tiles = tiles.swapaxes(1, 2) if transposed else tiles
    rows = np.zeros((warps, 4, 8, 8), tiles.dtype)
    rows[:, :count] = tiles.reshape(warps, count, 8, 8)
    context.write(invoke.args[0], rows.reshape(-1, 8), where=row_lanes(context, count))


MATRIX = (
    Intrinsic(
        "mma_sync",
        'c += a · b for one tile by one warp; option: "m16n8k16" or "m16n8k8". PTX ISA: mma.',
        check_product,
        product_effects,
        product_text,
        multiplied,
    ),
    Intrinsic(
        "ldmatrix",
        "Operands (registers, row); options (1, 2 or 4 matrices, transposed). PTX ISA: ldmatrix.",
        check_move,
        move_effects,
        load_text,
        loaded,
    ),
    Intrinsic(
        "stmatrix",
        "Operands (row, registers); options (1, 2 or 4 matrices, transposed). PTX ISA: stmatrix.",
        check_move,
        move_effects,
        store_text,
        stored,
    ),
)
