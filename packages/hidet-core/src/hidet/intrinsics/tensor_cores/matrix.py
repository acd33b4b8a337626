"""ldmatrix and stmatrix: matrices of 8 rows of 16 bytes between shared memory and registers.

Operands are (target, source): a pointer into a register array, and in each lane a pointer to a row
in shared memory. Options: how many matrices, and whether transposed. Rows hold 16 bytes of any
element type; only 16-bit elements can be transposed. (Forms with other matrices are of later
devices than sm_90.) PTX ISA: "Warp-level matrix load instruction: ldmatrix", "... stmatrix".
"""

from __future__ import annotations

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_option, expect_pointer
from hidet.intrinsics.tensor_cores.fragments import Table, table
from hidet.intrinsics.tensor_cores.mma import expect_room, places
from hidet.ir.stmt import Invoke
from hidet.mapping import fragments
from hidet.target import WARP
from hidet.types import DTYPES

MOVED = tuple(of for of in DTYPES if of.bits in (8, 16, 32) and not of.is_bool)
ROW = 16
"""Bytes of a row."""


def check_move(invoke: Invoke) -> None:
    """Two pointers to one type; options: how many matrices, and whether transposed."""
    expect(invoke, 2, 0, 2)
    of = expect_pointer(invoke, 0, *MOVED)
    if of is not expect_pointer(invoke, 1, *MOVED):
        raise BadKernel(f"{invoke.name} moves elements of one type", place=invoke.place)
    count = expect_option(invoke, 0, 1, 2, 4)
    expect_room(invoke, 0 if invoke.name == "ldmatrix" else 1, count * 32 // of.bits)
    if expect_option(invoke, 1, False, True) and of.bits != 16:
        raise BadKernel(
            f"{invoke.name} transposes 16-bit elements only, not {of}", place=invoke.place
        )


def move_effects(invoke: Invoke) -> Effects:
    """Writes its first operand, reads its second."""
    return Effects(reads=invoke.args[1:], writes=invoke.args[:1])


def matrices(invoke: Invoke) -> str:
    """The shape part of the instruction's name."""
    count, transposed = invoke.options
    return f"m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Registers from rows of shared memory."""
    count = invoke.options[0]
    target, source = map(spell, invoke.args)
    outputs = ", ".join(words(target, "=r", count))
    return (
        f'asm volatile("ldmatrix.sync.aligned.{matrices(invoke)} '
        f'{places(0, count)}, [%{count}];" : {outputs} '
        f': "r"(static_cast<unsigned>(__cvta_generic_to_shared({source}))) : "memory");'
    )


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Rows of shared memory from registers."""
    count = invoke.options[0]
    target, source = map(spell, invoke.args)
    inputs = ", ".join(words(source, "r", count))
    return (
        f'asm volatile("stmatrix.sync.aligned.{matrices(invoke)} [%0], {places(1, count)};" '
        f':: "r"(static_cast<unsigned>(__cvta_generic_to_shared({target}))), {inputs} '
        f': "memory");'
    )


def words(pointer: str, constraint: str, count: int) -> list[str]:
    """Operands of an asm statement: consecutive 32-bit registers behind a pointer."""
    return [f'"{constraint}"(reinterpret_cast<unsigned*>({pointer})[{n}])' for n in range(count)]


def row_lanes(context: Context, count: int) -> Array:
    """The lanes whose addresses count: eight for each matrix."""
    return np.arange(len(context.mask)) % WARP < 8 * count


def loaded(context: Context, invoke: Invoke) -> None:
    """Lane 8·i + r gives the address of row r of matrix i; each lane gets a word of each matrix."""
    context.whole_warps()
    count, own = invoke.options[0], held_by_lanes(invoke)
    where = row_lanes(context, count)
    rows = context.read(invoke.args[1], own.shape[2], where=where, align=ROW)
    tiles = rows.reshape(-1, 4, 8, own.shape[2])[:, :count]
    given = own.held(tiles).reshape(-1, own.values)
    context.write(invoke.args[0], given, align=4)


def stored(context: Context, invoke: Invoke) -> None:
    """The reverse of ldmatrix."""
    context.whole_warps()
    count, own = invoke.options[0], held_by_lanes(invoke)
    held = context.read(invoke.args[1], own.values, align=4)
    tiles = own.tile(held.reshape(-1, WARP, own.values))
    rows = np.zeros((len(tiles), 4, *own.shape[1:]), tiles.dtype)
    rows[:, :count] = tiles
    where = row_lanes(context, count)
    context.write(invoke.args[0], rows.reshape(-1, own.shape[2]), where=where, align=ROW)


def held_by_lanes(invoke: Invoke) -> Table:
    """Who holds which element of the rows of (matrix, row, column)."""
    count, transposed = invoke.options
    return table(fragments.ldmatrix(count, transposed=transposed, bits=invoke.args[0].dtype.bits))


MATRIX = (
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
