"""What type rules ask of a call; they raise what its author sees."""

from __future__ import annotations

from typing import Any

from hidet.errors import BadKernel, DtypeMismatch
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import DType, PointerType


def expect(invoke: Invoke, args: int, results: int = 0, options: int = 0) -> None:
    """`BadKernel` unless the call has this many operands, results and options."""
    found = (len(invoke.args), len(invoke.results), len(invoke.options))
    if found != (args, results, options):
        raise BadKernel(
            f"{invoke.name} takes {args} operands, {results} results and {options} options, "
            f"not {found[0]}, {found[1]} and {found[2]}",
            place=invoke.place,
        )


def expect_pointer(invoke: Invoke, index: int, *allowed: DType) -> DType:
    """The element type behind operand `index`; `DtypeMismatch` if it is not one of `allowed`."""
    arg = invoke.args[index]
    if not isinstance(arg.type, PointerType):
        raise DtypeMismatch(
            f"operand {index} of {invoke.name} is {arg.type}, not a pointer",
            place=invoke.place,
            help="take the address of an element",
        )
    return expect_dtype(invoke, arg, *allowed)


def expect_dtype(invoke: Invoke, e: Expr, *allowed: DType) -> DType:
    """The element type of `e`; `DtypeMismatch` if it is not one of `allowed` (none: any)."""
    if allowed and e.dtype not in allowed:
        names = ", ".join(map(str, allowed))
        raise DtypeMismatch(f"{invoke.name} takes {names}, not {e.dtype}", place=invoke.place)
    return e.dtype


def expect_scalar(invoke: Invoke, index: int, *allowed: DType) -> DType:
    """The type of scalar operand `index`; `DtypeMismatch` if it is not one of `allowed`."""
    arg = invoke.args[index]
    if not isinstance(arg.type, DType):
        raise DtypeMismatch(
            f"operand {index} of {invoke.name} is {arg.type}, not a number", place=invoke.place
        )
    return expect_dtype(invoke, arg, *allowed)


def expect_option(invoke: Invoke, index: int, *allowed: Any) -> Any:
    """Option `index`; `BadKernel` if it is not one of `allowed`."""
    found = invoke.options[index]
    if found not in allowed:
        names = ", ".join(map(repr, allowed))
        raise BadKernel(f"{invoke.name} has options {names}, not {found!r}", place=invoke.place)
    return found
