"""Inline PTX in a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hidet.errors import BadScript
from hidet.intrinsics.inline import MEANINGS
from hidet.ir.expr import Expr, Load, Var
from hidet.lang.cuda.invoke import invoke
from hidet.lang.memory import store
from hidet.lang.recorder import current
from hidet.lang.values import converted, spoken
from hidet.types import DType, VectorType


def asm(
    template: str,
    *,
    outputs: Sequence[Any] = (),
    output_inputs: Sequence[Any] = (),
    inputs: Sequence[Any] = (),
    is_volatile: bool = False,
    memory_fence: bool = False,
    simulate: Callable[..., Any] | None = None,
) -> None:
    """PTX instructions, in the form of CUDA C's `asm`: `%0` is the first operand, `%%` a percent.

    Operands count outputs, then what is both, then inputs: numbers and vectors of 16, 32 or 64
    bits. Outputs are variables or elements. `memory_fence` says that the text touches memory.
    `simulate` is what the simulator does with this text, wherever it stands: it takes an array for
    each operand that is read, those that are both first, with one row for each thread, and gives an
    array, or a tuple of them, for the results. Without it the simulator stops here.
    """
    if simulate is not None:
        MEANINGS[template] = simulate
    targets = [*outputs, *output_inputs]
    for each in targets:
        if not is_target(each):
            raise BadScript(
                f"an output of asm() is a variable or an element, not {spoken(each)}",
                help="give it a typed first value: `x: u32 = 0`",
            )
    options = (template, len(output_inputs), bool(is_volatile), bool(memory_fence))
    results = tuple(each.type for each in targets)
    found = invoke("asm", *output_inputs, *inputs, results=results, options=options)
    values = (found,) if isinstance(found, Var) else found or ()
    for each, value in zip(targets, values, strict=True):
        give(each, value)


def is_target(value: Any) -> bool:
    """Whether it can be given a value: a variable, or the element that is read."""
    element = isinstance(value, Load) and isinstance(value.type, DType)
    return element or (isinstance(value, Var) and isinstance(value.type, DType | VectorType))


def give(target: Any, value: Expr) -> None:
    """Assign a variable, or store an element."""
    if isinstance(target, Load):
        store(target.tensor, *target.index, value)
    else:
        current("asm()").assign(target, converted(value, target.type, "the output"))
