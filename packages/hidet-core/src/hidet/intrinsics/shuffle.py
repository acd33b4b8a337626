"""Exchange and votes between the lanes of a warp.

Operands (mask, value, lane); the option is the width of the groups that exchange, 32 if left out.
`mask` names the lanes that take part: all of them must execute the call together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import TOUCHES_NOTHING, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_dtype, expect_option, expect_scalar
from hidet.ir.stmt import Invoke
from hidet.target import WARP
from hidet.types import DTYPES, VectorType, boolean, f32, f64, i32, i64, u32, u64

SHUFFLED = tuple(
    each for each in DTYPES if each.bits >= 16 or (each.bits == 8 and not each.is_float)
)
"""All but the 8-bit floats; bool and small integers travel as int, as C promotes them."""
WHOLE = {4: "unsigned", 8: "unsigned long long"}
"""By bytes, what a vector travels as."""


def width_of(invoke: Invoke) -> int:
    """How many neighbouring lanes exchange among themselves."""
    return int(invoke.options[0]) if invoke.options else WARP


def check_shuffle(invoke: Invoke) -> None:
    """Operands (mask: u32, value, lane: i32), one result of the value's type.

    Vectors travel whole if they have 4 or 8 bytes.
    """
    expect(invoke, 3, 1, len(invoke.options[:1]))
    expect_scalar(invoke, 0, u32, i32)
    value, result = invoke.args[1].type, invoke.results[0]
    if isinstance(value, VectorType) and value.nbytes not in WHOLE:
        raise DtypeMismatch(
            f"{invoke.name} takes vectors of 4 or 8 bytes, not {value}", place=invoke.place
        )
    if not isinstance(value, VectorType):
        expect_scalar(invoke, 1, *SHUFFLED)
    expect_scalar(invoke, 2, i32, u32)
    if result.type != value:
        raise DtypeMismatch(f"{invoke.name} of {value} gives no {result.type}", place=invoke.place)
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
        found = ((holds & active) * LANE_BITS).sum(axis=1, dtype=np.uint32)
    elif invoke.name == "any_sync":
        found = (holds & active).any(axis=1)
    elif invoke.name == "uni_sync":
        found = (holds | ~active).all(axis=1) | ~(holds & active).any(axis=1)
    else:
        found = (holds | ~active).all(axis=1)
    context.assign(invoke.results[0], np.repeat(found, WARP))


def matched(context: Context, invoke: Invoke) -> None:
    """Each lane learns which lanes have the bits of its value, or whether all have."""
    mask, value = (context.value(arg) for arg in invoke.args)
    participants(context, mask)
    active = context.mask.reshape(-1, WARP)
    bits = np.ascontiguousarray(value).view(f"u{value.itemsize}").reshape(-1, WARP)
    same = (bits[:, :, None] == bits[:, None, :]) & active[:, None, :]
    found = (same * LANE_BITS).sum(axis=2, dtype=np.uint32).reshape(-1)
    if invoke.name == "match_any_sync":
        context.assign(invoke.results[0], found)
        return
    whole = np.repeat((active * LANE_BITS).sum(axis=1, dtype=np.uint32), WARP)
    context.assign(invoke.results[0], np.where(found == whole, whole, np.uint32(0)))
    context.assign(invoke.results[1], found == whole)


LANE_BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
REDUCTIONS: dict[str, tuple[Any, Callable[[np.dtype[Any]], Any]]] = {
    "add": (np.add, lambda of: 0),
    "min": (np.minimum, lambda of: np.iinfo(of).max),
    "max": (np.maximum, lambda of: np.iinfo(of).min),
    "and": (np.bitwise_and, lambda of: np.iinfo(of).max),  # of u32 only: all bits
    "or": (np.bitwise_or, lambda of: 0),
    "xor": (np.bitwise_xor, lambda of: 0),
}
"""How values of a warp are combined, and what leaves each value as it is."""


def reduced(context: Context, invoke: Invoke) -> None:
    """All lanes learn what their values are together."""
    mask, value = (context.value(arg) for arg in invoke.args)
    participants(context, mask)
    function, neutral = REDUCTIONS[invoke.options[0]]
    given = np.where(context.mask, value, np.asarray(neutral(value.dtype)).astype(value.dtype))
    found = function.reduce(given.reshape(-1, WARP), axis=1, dtype=value.dtype)
    context.assign(invoke.results[0], np.repeat(found, WARP))


def active_lanes(context: Context, invoke: Invoke) -> None:
    """The lanes that execute the call together, here: all that could."""
    active = context.mask.reshape(-1, WARP)
    found = (active * LANE_BITS).sum(axis=1, dtype=np.uint32)
    context.assign(invoke.results[0], np.repeat(found, WARP))


def check_match(invoke: Invoke) -> None:
    """Operands (mask: u32, value); results (lanes: u32), for match_all also (whether: bool)."""
    expect(invoke, 2, 2 if invoke.name == "match_all_sync" else 1)
    expect_scalar(invoke, 0, u32, i32)
    expect_scalar(invoke, 1, i32, u32, i64, u64, f32, f64)
    expect_dtype(invoke, invoke.results[0], u32)
    if len(invoke.results) > 1:
        expect_dtype(invoke, invoke.results[1], boolean)


def check_reduce(invoke: Invoke) -> None:
    """Operands (mask: u32, value: i32 or u32), one result of that type; the option says how."""
    expect(invoke, 2, 1, 1)
    how = expect_option(invoke, 0, *REDUCTIONS)
    expect_scalar(invoke, 0, u32, i32)
    value = expect_scalar(invoke, 1, *((i32, u32) if how in ("add", "min", "max") else (u32,)))
    expect_dtype(invoke, invoke.results[0], value)


def check_active(invoke: Invoke) -> None:
    """One u32 result."""
    expect(invoke, 0, 1)
    expect_dtype(invoke, invoke.results[0], u32)


def match_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function of that name."""
    operands, lanes = ", ".join(map(spell, invoke.args)), spell(invoke.results[0])
    if invoke.name == "match_any_sync":
        return f"{lanes} = __match_any_sync({operands});"
    whether = spell(invoke.results[1])
    return (
        f"{{ int hidet_all; {lanes} = __match_all_sync({operands}, &hidet_all); "
        f"{whether} = hidet_all; }}"
    )


def reduce_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function (sm_80)."""
    operands = ", ".join(map(spell, invoke.args))
    return f"{spell(invoke.results[0])} = __reduce_{invoke.options[0]}_sync({operands});"


def shuffle_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function of that name."""
    mask, value, lane = map(spell, invoke.args)
    of, result = invoke.args[1].type, spell(invoke.results[0])
    if not isinstance(of, VectorType):
        return f"{result} = __{invoke.name}({mask}, {value}, {lane}, {width_of(invoke)});"
    return (
        f"{{ {WHOLE[of.nbytes]} hidet_bits; auto hidet_value = {value}; "
        f"memcpy(&hidet_bits, &hidet_value, {of.nbytes}); "
        f"hidet_bits = __{invoke.name}({mask}, hidet_bits, {lane}, {width_of(invoke)}); "
        f"memcpy(&{result}, &hidet_bits, {of.nbytes}); }}"
    )


def vote_text(invoke: Invoke, spell: Spell) -> str:
    """The call of the CUDA function of that name."""
    operands = ", ".join(map(spell, invoke.args))
    return f"{spell(invoke.results[0])} = __{invoke.name}({operands});"


def shuffle(name: str, doc: str) -> Intrinsic:
    """One way of exchanging."""
    doc += " PTX ISA: shfl.sync."
    return Intrinsic(name, doc, check_shuffle, TOUCHES_NOTHING, shuffle_text, shuffled)


def vote(name: str, doc: str) -> Intrinsic:
    """One way of voting."""
    doc += " PTX ISA: vote.sync."
    return Intrinsic(name, doc, check_vote, TOUCHES_NOTHING, vote_text, voted)


SHUFFLES = (
    shuffle("shfl_sync", "The value of lane `lane` of the group."),
    shuffle("shfl_up_sync", "The value of the lane `lane` below; the own one at the start."),
    shuffle("shfl_down_sync", "The value of the lane `lane` above; the own one at the end."),
    shuffle("shfl_xor_sync", "The value of the lane whose number is this one's xor `lane`."),
    vote("ballot_sync", "A bit for each lane: whether its condition holds."),
    vote("any_sync", "Whether the condition holds in any lane."),
    vote("all_sync", "Whether the condition holds in all lanes."),
    vote("uni_sync", "Whether the condition is the same in all lanes."),
    Intrinsic(
        "match_any_sync",
        "A bit for each lane that has the same value. PTX ISA: match.sync.",
        check_match,
        TOUCHES_NOTHING,
        match_text,
        matched,
    ),
    Intrinsic(
        "match_all_sync",
        "The lanes of the mask, and True, if all have one value; else 0 and False. "
        "PTX ISA: match.sync.",
        check_match,
        TOUCHES_NOTHING,
        match_text,
        matched,
    ),
    Intrinsic(
        "reduce_sync",
        "The sum, minimum, maximum, and, or, xor of the lanes' values. PTX ISA: redux.sync.",
        check_reduce,
        TOUCHES_NOTHING,
        reduce_text,
        reduced,
    ),
    Intrinsic(
        "activemask",
        "A bit for each lane that executes the call together with this one. PTX ISA: activemask.",
        check_active,
        TOUCHES_NOTHING,
        lambda invoke, spell: f"{spell(invoke.results[0])} = __activemask();",
        active_lanes,
    ),
)
