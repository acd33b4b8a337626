"""Atomic updates of global and shared memory. PTX ISA: atom.

Operands (pointer, value), for cas (pointer, expected, value); the old value is the result, if one
is asked for. What the hardware has no instruction for is a loop of compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import (
    Context,
    Effects,
    Intrinsic,
    Spell,
    expect_dtype,
    expect_pointer,
)
from hidet.ir.stmt import Invoke
from hidet.types import DType, bf16, f16, f32, f64, i32, i64, u32, u64

NUMBERS = (i32, u32, i64, u64, f32, f64, f16, bf16)
WORDS = {16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}

Change = Callable[[Any, Any], Any]
CHANGES: dict[str, Change] = {
    "atomic_add": lambda old, new: old + new,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_exchange": lambda old, new: new,
}


def check_atomic(invoke: Invoke) -> None:
    """A pointer and one or two values of its element type; at most one result."""
    count = 3 if invoke.name == "atomic_cas" else 2
    if len(invoke.args) != count or len(invoke.results) > 1 or invoke.options:
        raise BadKernel(
            f"{invoke.name} takes {count} operands and gives at most one result",
            place=invoke.place,
        )
    of = expect_pointer(invoke, 0, *NUMBERS)
    for value in (*invoke.args[1:], *invoke.results):
        expect_dtype(invoke, value, of)


def effects(invoke: Invoke) -> Effects:
    """Reads and writes behind its pointer."""
    return Effects(reads=invoke.args[:1], writes=invoke.args[:1], lasting=True)


def updated(context: Context, invoke: Invoke) -> None:
    """Each thread in turn changes the element; the old value is its result."""
    values = context.value(invoke.args[1])
    change = CHANGES[invoke.name]
    old = context.update(invoke.args[0], lambda seen, row: change(seen, values[row]))
    give(context, invoke, old)


def swapped(context: Context, invoke: Invoke) -> None:
    """Each thread in turn writes its value if it finds the bits it expects."""
    expected, values = (context.value(arg) for arg in invoke.args[1:])
    raw = expected.dtype.kind == "V" or expected.dtype.kind == "f"

    def change(seen: Any, row: int) -> Any:
        same = seen.tobytes() == expected[row].tobytes() if raw else seen == expected[row]
        return values[row] if same else seen

    give(context, invoke, context.update(invoke.args[0], change))


def give(context: Context, invoke: Invoke, old: Any) -> None:
    """Assign the old value, if the call has a result."""
    if invoke.results:
        context.assign(invoke.results[0], old)


NATIVE: dict[str, tuple[str, tuple[DType, ...]]] = {
    "atomic_add": ("atomicAdd", (i32, u32, u64, f32, f64, f16, bf16)),
    "atomic_min": ("atomicMin", (i32, u32, i64, u64)),
    "atomic_max": ("atomicMax", (i32, u32, i64, u64)),
    "atomic_exchange": ("atomicExch", (i32, u32, u64, f32)),
    "atomic_cas": ("atomicCAS", (i32, u32, u64)),
}
POINTED = {i64: "long long", u64: "unsigned long long"}
LOOPED = {
    "atomic_add": "{old} + {new}",
    "atomic_min": "({old} != {old} || {old} < {new}) ? {old} : {new}",
    "atomic_max": "({old} != {old} || {old} > {new}) ? {old} : {new}",
    "atomic_exchange": "{new}",
}


def text(invoke: Invoke, spell: Spell) -> str:
    """The CUDA function of that name, or a loop of compare-and-swap."""
    function, native = NATIVE[invoke.name]
    of = invoke.args[0].dtype
    pointer, *values = map(spell, invoke.args)
    result = f"{spell(invoke.results[0])} = " if invoke.results else ""
    if of in native:
        cast = f"reinterpret_cast<{POINTED[of]}*>({pointer})" if of in POINTED else pointer
        return f"{result}{function}({cast}, {', '.join(values)});"
    if invoke.name == "atomic_cas":
        return swap_text(of, pointer, values, result)
    return loop_text(of, pointer, values[0], result, LOOPED[invoke.name])


def swap_text(of: DType, pointer: str, values: list[str], result: str) -> str:
    """Compare-and-swap of what is no unsigned word, by its bits."""
    word, name = WORDS[of.bits], "hidet_value"
    copies = "".join(
        f"auto {name}{n} = {value}; {word} {name}_bits{n}; "
        f"memcpy(&{name}_bits{n}, &{name}{n}, {of.nbytes}); "
        for n, value in enumerate(values)
    )
    swap = (
        f"{name}_bits0 = atomicCAS(reinterpret_cast<{word}*>({pointer}), "
        f"{name}_bits0, {name}_bits1); "
    )
    back = f"memcpy(&{name}0, &{name}_bits0, {of.nbytes}); {result}{name}0; " if result else ""
    return f"{{ {copies}{swap}{back}}}"


def loop_text(of: DType, pointer: str, value: str, result: str, change: str) -> str:
    """Read, change, compare-and-swap, until nobody came between."""
    word = WORDS[of.bits]
    new = change.format(old="hidet_old", new="hidet_new")
    back = f"{result}hidet_old; " if result else ""
    return (
        f"{{ auto* hidet_at = {pointer}; auto hidet_new = {value}; "
        f"{word}* hidet_word = reinterpret_cast<{word}*>(hidet_at); "
        f"{word} hidet_bits = *hidet_word, hidet_seen; auto hidet_old = *hidet_at; "
        f"do {{ hidet_seen = hidet_bits; memcpy(&hidet_old, &hidet_seen, {of.nbytes}); "
        f"auto hidet_next = hidet_old; hidet_next = {new}; {word} hidet_wanted; "
        f"memcpy(&hidet_wanted, &hidet_next, {of.nbytes}); "
        f"hidet_bits = atomicCAS(hidet_word, hidet_seen, hidet_wanted); }} "
        f"while (hidet_bits != hidet_seen); {back}}}"
    )


ATOMICS = tuple(
    Intrinsic(name, doc + " PTX ISA: atom.", check_atomic, effects, text, meaning)
    for name, doc, meaning in (
        ("atomic_add", "Add to the element.", updated),
        ("atomic_min", "Lower the element to the value; NaN if either is.", updated),
        ("atomic_max", "Raise the element to the value; NaN if either is.", updated),
        ("atomic_exchange", "Replace the element.", updated),
        ("atomic_cas", "Replace the element if it has the expected bits.", swapped),
    )
)
