"""mma.sync: c += a · b for one tile by one warp. PTX ISA: "Multiply-and-Accumulate: mma".

Operands are pointers into register arrays: (a, b, c). Options: the shape, and for integers perhaps
"saturate". Simulated, products are exact and their sum is exact; with c it is rounded once to c's
type. The hardware rounds more often, and toward zero: its sums of half-precision and tf32 products
keep at least 24 bits of the largest one, those of 8-bit floats at least 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_pointer
from hidet.intrinsics.tensor_cores.fragments import Table, table
from hidet.ir.expr import Address, Const
from hidet.ir.stmt import Invoke
from hidet.mapping.fragments import mma_a, mma_b, mma_c
from hidet.target import WARP
from hidet.types import (
    DType,
    Scope,
    TensorType,
    bf16,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i32,
    tf32,
    u8,
)

PTX_NAMES = {
    f16: "f16", bf16: "bf16", f32: "f32", tf32: "tf32", f64: "f64",
    i8: "s8", u8: "u8", i32: "s32", f8e4m3: "e4m3", f8e5m2: "e5m2",
}  # fmt: skip
BYTES, SMALL_FLOATS = (i8, u8), (f8e4m3, f8e5m2)
SATURATE = "saturate"


@dataclass(frozen=True)
class Product:
    """One form of `mma.sync`: rows × 8 × depth, of elements `left` and `right`, summed `into`."""

    rows: int
    depth: int
    left: DType
    right: DType
    into: DType

    @cached_property
    def a(self) -> Table:
        """Who holds the left operand."""
        return table(mma_a(self.left.bits, self.depth, self.rows))

    @cached_property
    def b(self) -> Table:
        """Who holds the right operand."""
        return table(mma_b(self.right.bits, self.depth))

    @cached_property
    def c(self) -> Table:
        """Who holds the sum."""
        return table(mma_c(self.rows))

    @property
    def shape(self) -> str:
        """The shape as PTX writes it."""
        return f"m{self.rows}n8k{self.depth}"


def all_products() -> list[Product]:
    """What the hardware multiplies, up to sm_90."""
    found = [Product(16, k, of, of, f32) for of in (f16, bf16) for k in (16, 8)]
    found += [Product(16, k, f16, f16, f16) for k in (16, 8)]
    found += [Product(16, k, tf32, tf32, f32) for k in (8, 4)]
    found.append(Product(8, 4, f64, f64, f64))
    found += [Product(16, k, f64, f64, f64) for k in (4, 8, 16)]
    for m, k in ((8, 16), (16, 16), (16, 32)):
        found += [Product(m, k, a, b, i32) for a in BYTES for b in BYTES]
    for into in (f32, f16):
        found += [
            Product(16, k, a, b, into) for k in (32, 16) for a in SMALL_FLOATS for b in SMALL_FLOATS
        ]
    return found


Key = tuple[str, DType, DType, DType]
PRODUCTS: dict[Key, Product] = {(p.shape, p.left, p.right, p.into): p for p in all_products()}
"""Every product by its shape and the types of a, b and c."""


def product_of(invoke: Invoke) -> Product:
    """The product that a call asks for; `BadKernel` if the hardware has none such."""
    a, b, c = (expect_pointer(invoke, n) for n in range(3))
    shape = invoke.options[0]
    found = PRODUCTS.get((shape, a, b, c))
    if found is None:
        near = [key for key in PRODUCTS if key[1] is a or key[0] == shape]
        known = ", ".join(f"{s} {x} x {y} -> {z}" for s, x, y, z in near or PRODUCTS)
        raise BadKernel(
            f"there is no mma_sync {shape} of {a} and {b} into {c}",
            place=invoke.place,
            help=f"there are {known}",
        )
    return found


def check_product(invoke: Invoke) -> None:
    """Operands (a, b, c); the shape, and perhaps "saturate", as options."""
    expect(invoke, 3, 0, 2 if len(invoke.options) == 2 else 1)
    found = product_of(invoke)
    for index, own in enumerate((found.a, found.b, found.c)):
        expect_room(invoke, index, own.values)
    clamp = invoke.options[1:]
    if clamp and (clamp != (SATURATE,) or found.into is not i32):
        raise BadKernel(
            f"mma_sync has no option {invoke.options[1]!r} for sums in {found.into}",
            place=invoke.place,
            help=f'"{SATURATE}" is for integers',
        )


def expect_room(invoke: Invoke, index: int, count: int) -> None:
    """`BadKernel` if operand `index` is in a register array with fewer than `count` elements left.

    Nobody else would notice: the instruction would take whatever registers come next.
    """
    arg = invoke.args[index]
    of = arg.tensor.type if isinstance(arg, Address) else None
    if not isinstance(of, TensorType) or of.scope is not Scope.REGISTER or of.layout is not None:
        return
    first = 0
    for place, size in zip(arg.index, of.shape, strict=True):  # type: ignore[attr-defined]
        if not isinstance(size, int) or not isinstance(place, Const):
            return
        first = first * size + int(place.value)
    there = prod(size for size in of.shape if isinstance(size, int)) - first
    if there < count:
        raise BadKernel(
            f"operand {index} of {invoke.name} is {count} elements of each thread; {arg} has "
            f"{max(there, 0)}",
            place=invoke.place,
        )


def product_effects(invoke: Invoke) -> Effects:
    """Reads all three fragments, writes the third."""
    return Effects(reads=invoke.args, writes=invoke.args[2:])


# ---- text ----------------------------------------------------------------------------------------


def product_text(invoke: Invoke, spell: Spell) -> str:
    """Fragments as registers; c is read and written."""
    product = product_of(invoke)
    a, b, c = map(spell, invoke.args)
    types = (product.left, product.right, product.into)
    tables = (product.a, product.b, product.c)
    counts = [words(t, table.values) for t, table in zip(types, tables, strict=True)]
    names = [PTX_NAMES[t] for t in (product.into, product.left, product.right, product.into)]
    outputs = registers(c, product.into, counts[2], "+")
    inputs = registers(a, product.left, counts[0]) + registers(b, product.right, counts[1])
    d, left = places(0, counts[2]), places(counts[2], counts[0])
    right = places(counts[2] + counts[0], counts[1])
    clamp = ".satfinite" if invoke.options[1:] else ""
    return (
        f'asm volatile("mma.sync.aligned.{product.shape}.row.col{clamp}.{".".join(names)} '
        f'{d}, {left}, {right}, {d};" : {", ".join(outputs)} : {", ".join(inputs)});'
    )


REGISTERS = {f32: ("float", "f"), f64: ("double", "d"), i32: ("int", "r")}
"""The C type and the constraint of a register; of all other types, 32 bits are packed into one."""


def words(of: DType, values: int) -> int:
    """How many registers hold so many elements."""
    return values * of.bits // 32 if of.bits < 64 else values


def registers(pointer: str, of: DType, count: int, mode: str = "") -> list[str]:
    """Operands of an asm statement: consecutive registers behind a pointer to elements `of`."""
    kind, constraint = REGISTERS.get(of, ("unsigned", "r"))
    cast = f"reinterpret_cast<{kind}*>({pointer})"
    return [f'"{mode}{constraint}"({cast}[{n}])' for n in range(count)]


def places(first: int, count: int) -> str:
    """The numbers of consecutive operands in braces."""
    return "{" + ", ".join(f"%{first + n}" for n in range(count)) + "}"


# ---- meaning -------------------------------------------------------------------------------------


def multiplied(context: Context, invoke: Invoke) -> None:
    """c += a · b, rounded once."""
    context.whole_warps()
    found = product_of(invoke)
    active = context.mask.reshape(-1, WARP)[:, 0]
    a = found.a.tile(fragment(context, invoke, 0, found.left, found.a.values)[active])
    b = found.b.tile(fragment(context, invoke, 1, found.right, found.b.values)[active])
    c = fragment(context, invoke, 2, found.into, found.c.values)
    sums = added(found.c.tile(c[active]), wide(a, found.left), wide(b, found.right))
    out = np.zeros(c.shape, c.dtype)
    out[active] = found.c.held(rounded(sums, found.into, bool(invoke.options[1:])))
    values = out.reshape(-1, found.c.values)
    context.write(invoke.args[2], values, align=register_bytes(found.into))


def fragment(context: Context, invoke: Invoke, n: int, of: DType, values: int) -> Array:
    """Operand `n` as (warps, 32, values)."""
    found = context.read(invoke.args[n], values, align=register_bytes(of))
    return found.reshape(-1, WARP, values)


def register_bytes(of: DType) -> int:
    """How fragments of such elements are aligned."""
    return max(4, of.nbytes)


def added(c: Array, a: Array, b: Array) -> Array:
    """c + a · b in float64: no product or sum of the types here loses a bit that matters."""
    total: Array = c.astype(np.float64) + a @ b
    return total


def wide(tile: Array, of: DType) -> Array:
    """Elements as float64; tfloat32 operands lose their last 13 bits."""
    if of is tf32:
        tile = (tile.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return tile.astype(np.float64)


def rounded(sums: Array, into: DType, saturate: bool = False) -> Array:
    """Sums as the accumulator's type: integers wrap around, or stop at the limits."""
    if not into.is_integer:
        # Twice for f16: the sum is a float32 before it is stored.
        return sums.astype(np.float32).astype(into.numpy) if into.bits < 64 else sums
    whole = sums.astype(np.int64)
    low, high = into.limits
    return (np.clip(whole, low, high) if saturate else whole).astype(into.numpy)


MMA = (
    Intrinsic(
        "mma_sync",
        'c += a · b for one tile by one warp; options: the shape, as "m16n8k16", and perhaps '
        '"saturate". PTX ISA: mma.',
        check_product,
        product_effects,
        product_text,
        multiplied,
    ),
)
