"""Writing the call of an intrinsic: operands made expressions, results made variables."""

from __future__ import annotations

from typing import Any

from hidet.errors import NotYet, at
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.lang.memory import Distributed, address
from hidet.lang.recorder import current
from hidet.lang.values import expression, is_tensor
from hidet.types import Type


def invoke(
    name: str, *args: Any, results: tuple[Type, ...] = (), options: tuple[Any, ...] = ()
) -> Any:
    """Write the call of intrinsic `name`; its results are new variables.

    A tensor as operand is the address of its first element. One result is returned as itself,
    several as a tuple, none as None.
    """
    recorder = current(f"{name}()")
    if name not in INTRINSICS:
        raise NotYet(f"the intrinsic {name} is announced but not there yet")
    place = recorder.place
    with at(place):
        operands = tuple(map(operand, args))
        variables = tuple(recorder.declare(of) for of in results)
        call = Invoke(name, operands, variables, options, place)
        INTRINSICS[name].check(call)
        recorder.emit(call)
    recorder.results.update(variables)
    if not variables:
        return None
    return variables if len(variables) != 1 else variables[0]


def operand(value: Any) -> Expr:
    """An operand: a number, a pointer, or a tensor by its address."""
    if isinstance(value, Distributed):
        return address(value.local)
    return address(value) if is_tensor(value) else expression(value)
