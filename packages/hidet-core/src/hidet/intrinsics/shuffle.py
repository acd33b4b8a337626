"""Exchange and votes between the lanes of a warp.

Operands (mask, value, lane); the option is the width of the groups that exchange, 32 if left out.
`mask` names the lanes that take part: all of them must execute the call together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    expect_dtype,
    expect_scalar,
    fixed,
)
from hidet.ir.stmt import Invoke
from hidet.types import DTYPES, boolean, i32, u32

SHUFFLED = tuple(each for each in DTYPES if each.bits >= 16 or not each.is_float)
"""All but the 8-bit floats; bool and small integers travel as int, as C promotes them."""
COLLECTIVE = Effects(convergent=True, lasting=True)


def width_of(invoke: Invoke) -> int:
    """How many neighbouring lanes exchange among themselves."""
    return int(invoke.options[0]) if invoke.options else WARP


def check_shuffle(invoke: Invoke) -> None:
    """Operands (mask: u32, value, lane: i32), one result of the value's type."""
    expect(invoke, 3, 1, len(invoke.options[:1]))
    expect_scalar(invoke, 0, u32, i32)
    value = expect_scalar(invoke, 1, *SHUFFLED)
    expect_scalar(invoke, 2, i32, u32)
    expect_dtype(invoke, invoke.results[0], value)
    if width_of(invoke) not in (2, 4, 8, 16, 32):
        raise BadKernel(
            f"{invoke.name} exchanges among 2, 4, 8, 16 or 32 lanes, not {width_of(invoke)}",
            place=invoke.place,
        )


def check_vote(invoke: Invoke) -> None:
    """Operands (mask: u32, condition), one result."""
    expect(invoke, 2, 1)
    expect_scalar(invoke, 0, u32, i32)
    expect_scalar(invoke, 1, boolean, i32, u32)
    expect_dtype(invoke, invoke.results[0], boolean, i32, u32)


# From which lane (lane, operand, first lane of the group, width), and whether there is one.
Source = Callable[[Array, Array, Array, int], tuple[Array, Any]]
SOURCES: dict[str, Source] = {
    "shfl_sync": lambda lane, b, first, width: (first + b % width, True),
    "shfl_up_sync": lambda lane, b, first, width: (lane - b, lane - b >= first),
    "shfl_down_sync": lambda lane, b, first, width: (lane + b, lane + b < first + width),
    "shfl_xor_sync": lambda lane, b, first, width: (lane ^ b, (lane ^ b) < first + width),
}


def shuffled(context: Context, invoke: Invoke) -> None:
    """Each lane gets the value of another one; its own where there is no such lane."""
    mask, value, operand = (context.value(arg) for arg in invoke.args)
    named = participants(context, mask)
    width, count = width_of(invoke), len(value)
    lane = np.arange(count) % WARP
    found = SOURCES[invoke.name](lane, operand.astype(np.int64) & 31, lane - lane % width, width)
    there = np.broadcast_to(found[1], (count,))
    source = np.where(there, np.arange(count) - lane + found[0], np.arange(count))
    absent = context.mask & ~named[np.clip(source, 0, count - 1)]
    if absent.any():
        row = int(np.argmax(absent))
        other = int(source[row] % WARP)
        context.inactive(f"{invoke.name} reads lane {other}, which does not take part", row)
    context.assign(invoke.results[0], value[np.clip(source, 0, count - 1)])


def participants(context: Context, mask: Array) -> Array:
    """The rows that execute the call, checked against the masks they give."""
    lane = (np.arange(len(mask)) % WARP).astype(np.uint64)
    bits = mask.astype(np.int64).astype(np.uint64)
    unnamed = context.mask & ((bits >> lane) & np.uint64(1) == 0)
    if unnamed.any():
        context.fault("a lane calls a warp operation whose mask does not name it", first(unnamed))
    active = context.mask.reshape(-1, WARP)
    wanted = np.where(active, bits.reshape(-1, WARP), np.uint64(0))
    union = np.bitwise_or.reduce(wanted, axis=1)
    missing = ((union[:, None] >> lane[:WARP]) & np.uint64(1) == 1) & ~active
    missing &= context.present().reshape(-1, WARP)
    if missing.any():
        context.inactive(
            "a warp operation names a lane in its mask that does not execute it:",
            first(missing.reshape(-1)),
        )
    return context.mask


def first(rows: Array) -> int:
    """The first row that is set."""
    return int(np.argmax(rows))


def voted(context: Context, invoke: Invoke) -> None:
    """All lanes of a warp learn of each other's conditions."""
    mask, condition = (context.value(arg) for arg in invoke.args)
    participants(context, mask)
    holds = (condition != 0).reshape(-1, WARP)
    active = context.mask.reshape(-1, WARP)
    if invoke.name == "ballot_sync":
        weights = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
        found = np.where(holds & active, weights, np.uint32(0)).sum(axis=1, dtype=np.uint32)
    elif invoke.name == "any_sync":
        found = (holds & active).any(axis=1)
    else:
        found = (holds | ~active).all(axis=1)
    context.assign(invoke.results[0], np.repeat(found, WARP))


def shuffle_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function of that name."""
    operands = ", ".join(map(spell, invoke.args))
    return f"{spell(invoke.results[0])} = __{invoke.name}({operands}, {width_of(invoke)});"


def vote_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function of that name."""
    operands = ", ".join(map(spell, invoke.args))
    return f"{spell(invoke.results[0])} = __{invoke.name}({operands});"


def shuffle(name: str, doc: str) -> Intrinsic:
    """One way of exchanging."""
    doc += " PTX ISA: shfl.sync."
    return Intrinsic(name, doc, check_shuffle, fixed(COLLECTIVE), shuffle_text, shuffled)


def vote(name: str, doc: str) -> Intrinsic:
    """One way of voting."""
    doc += " PTX ISA: vote.sync."
    return Intrinsic(name, doc, check_vote, fixed(COLLECTIVE), vote_text, voted)


SHUFFLES = (
    shuffle("shfl_sync", "The value of lane `lane` of the group."),
    shuffle("shfl_up_sync", "The value of the lane `lane` below; the own one at the start."),
    shuffle("shfl_down_sync", "The value of the lane `lane` above; the own one at the end."),
    shuffle("shfl_xor_sync", "The value of the lane whose number is this one's xor `lane`."),
    vote("ballot_sync", "A bit for each lane: whether its condition holds."),
    vote("any_sync", "Whether the condition holds in any lane."),
    vote("all_sync", "Whether the condition holds in all lanes."),
)
