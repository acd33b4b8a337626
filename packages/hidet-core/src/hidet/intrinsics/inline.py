"""Inline PTX: text that a user writes, whose meaning for the simulator a user may give, too.

An operand is a register of 16, 32 or 64 bits: a number, a pointer, or a vector that fills one. A
number of 16 bits that is no integer, or a vector, is handed over as its bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.words import WORDS, declared, size_of
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import DType, PointerType, VectorType, f32, f64

Meaning = Callable[..., Any]
"""Takes an array for each operand that is read, a row for each thread (of a vector, of its lanes);
gives an array, or several, for the results."""
MEANINGS: dict[str, Meaning] = {}
"""What texts do, where a user said so."""
BITS = (16, 32, 64)
"""Registers that there are."""


def constraint(e: Expr) -> str:
    """The kind of register that holds a value; DtypeMismatch if there is none."""
    of = e.type
    if isinstance(of, PointerType):
        return "l"
    if of is f32 or of is f64:
        return "f" if of is f32 else "d"
    if isinstance(of, DType | VectorType) and 8 * of.nbytes in BITS:
        return WORDS[of.nbytes].constraint
    raise DtypeMismatch(
        f"inline PTX has no register for {of}",
        help="a register has 16, 32 or 64 bits: cast the value, or use a vector that fills one",
    )


def as_bits(e: Expr) -> bool:
    """Whether C has to hand over the bits of a value, as its type is none of the registers'."""
    of = e.type
    if isinstance(of, VectorType):
        return True
    return isinstance(of, DType) and not of.is_integer and of not in (f32, f64)


def check_asm(invoke: Invoke) -> None:
    """Options: the text, how many results are inputs too, whether it is volatile, whether it
    touches memory. Operands are the first values of those results, then the inputs."""
    text, both, *_ = invoke.options
    if not isinstance(text, str):
        raise BadKernel("inline PTX is a text", place=invoke.place)
    if both > len(invoke.results):
        raise BadKernel(f"{both} of {len(invoke.results)} results are inputs", place=invoke.place)
    for each in (*invoke.args, *invoke.results):
        constraint(each)


def asm_effects(invoke: Invoke) -> Effects:
    """Other accesses stay before or after what touches memory."""
    *_, memory = invoke.options
    return Effects(barrier=memory)


def asm_text(invoke: Invoke, spell: Spell) -> str:
    """An asm statement, between copies of bits where C has no registers for a type."""
    text, both, volatile, memory = invoke.options
    first = len(invoke.results) - both
    before, after, out, given = [], [], [], []
    for n, to in enumerate(invoke.results):
        value = spell(invoke.args[n - first]) if n >= first else None
        kind, name = ("+" if n >= first else "=") + constraint(to), spell(to)
        if as_bits(to):
            nbytes, word = size_of(to.type), f"hidet_out{n}"
            before.append(declared(WORDS[nbytes], word, value, nbytes))
            after.append(f"memcpy(&{name}, {word}, {nbytes}); ")
            name = f"{word}[0]"
        elif value is not None:
            before.append(f"{name} = {value}; ")
        out.append(f'"{kind}"({name})')
    for n, e in enumerate(invoke.args[both:]):
        name = spell(e)
        if as_bits(e):
            nbytes, word = size_of(e.type), f"hidet_in{n}"
            before.append(declared(WORDS[nbytes], word, name, nbytes))
            name = f"{word}[0]"
        given.append(f'"{constraint(e)}"({name})')
    keyword = "asm volatile" if volatile or memory else "asm"
    tail = ' : "memory"' if memory else ""
    line = f"{keyword}({json.dumps(text)} : {', '.join(out)} : {', '.join(given)}{tail});"
    whole = "".join(before) + line + "".join(f" {each}" for each in after).rstrip()
    return f"{{ {whole} }}" if after or any("hidet_in" in each for each in before) else whole


def simulated(context: Context, invoke: Invoke) -> None:
    """What the user said that the text does; fault if nothing was said."""
    text = invoke.options[0]
    meaning = MEANINGS.get(text)
    if meaning is None:
        context.fault(
            "the simulator does not know what this PTX does; asm(..., simulate=function) says it"
        )
    found = meaning(*map(context.value, invoke.args))
    values: tuple[Array, ...] = found if isinstance(found, tuple) else (found,)
    if len(values) != len(invoke.results) and (invoke.results or found is not None):
        context.fault(f"{len(values)} values are given for {len(invoke.results)} results")
    for to, value in zip(invoke.results, values, strict=False):
        context.assign(to, value)


INLINE = (
    Intrinsic(
        "asm",
        "Instructions written by the user. PTX ISA: any.",
        check_asm,
        asm_effects,
        asm_text,
        simulated,
    ),
)
