"""Inline PTX: text that a user writes, which the simulator cannot know the meaning of."""

from __future__ import annotations

import json

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import Context, Effects, Intrinsic, Spell
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import DType, PointerType, f32, f64

CONSTRAINTS = {16: "h", 32: "r", 64: "l"}
"""Registers of integers, by bits."""


def constraint(e: Expr) -> str:
    """The kind of register that holds a value; DtypeMismatch if there is none."""
    of = e.type
    if isinstance(of, PointerType):
        return "l"
    if of is f32 or of is f64:
        return "f" if of is f32 else "d"
    if isinstance(of, DType) and of.is_integer and of.bits in CONSTRAINTS:
        return CONSTRAINTS[of.bits]
    raise DtypeMismatch(
        f"inline PTX has no register for {of}",
        help="reinterpret it: float16 and bfloat16 as u16, two of them as u32; or cast it",
    )


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
    """Kept where it is if it is volatile or touches memory, then also between other accesses."""
    _, _, volatile, memory = invoke.options
    return Effects(barrier=memory, lasting=volatile or memory)


def asm_text(invoke: Invoke, spell: Spell) -> str:
    """An asm statement, after the assignments of what it changes."""
    text, both, volatile, memory = invoke.options
    changed = invoke.results[len(invoke.results) - both :]
    first = "".join(
        f"{spell(to)} = {spell(value)}; "
        for to, value in zip(changed, invoke.args[:both], strict=True)
    )
    out = ", ".join(
        f'"{"+" if to in changed else "="}{constraint(to)}"({spell(to)})' for to in invoke.results
    )
    given = ", ".join(f'"{constraint(e)}"({spell(e)})' for e in invoke.args[both:])
    word = "asm volatile" if volatile or memory else "asm"
    tail = ' : "memory"' if memory else ""
    return f"{first}{word}({json.dumps(text)} : {out} : {given}{tail});"


def refuse(context: Context, invoke: Invoke) -> None:
    """The simulator runs kernels, not PTX."""
    context.fault("inline PTX runs on a GPU only; the simulator does not know what it does")


INLINE = (
    Intrinsic(
        "asm",
        "Instructions written by the user. PTX ISA: any.",
        check_asm,
        asm_effects,
        asm_text,
        refuse,
    ),
)
