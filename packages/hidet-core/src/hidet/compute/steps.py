"""Functions of one number as data: steps such as times 0.5, the tangent, times 2."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

from hidet.ir.expr import Expr
from hidet.ir.functions import FUNCTIONS, call

Step: TypeAlias = tuple[str, float]
"""`("multiply", 0.5)`, or the name of a function of one operand, with any number."""
MULTIPLY = "multiply"


def stepped(value: Expr, steps: tuple[Step, ...]) -> Expr:
    """A value after all steps."""

    def after(value: Expr, step: Step) -> Expr:
        name, number = step
        return value * number if name == MULTIPLY else call(name, value)

    return reduce(after, steps, value)


def stepped_arrays(values: Any, steps: tuple[Step, ...]) -> Any:
    """The same of an array."""
    for name, number in steps:
        values = values * number if name == MULTIPLY else FUNCTIONS[name].numpy(values)
    return values
