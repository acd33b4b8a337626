"""What an intrinsic is: its type rule, its effects, its CUDA text and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hidet.intrinsics.context import Context
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke

Spell: TypeAlias = Callable[[Expr], str]
"""Gives the C text of an expression; a pointer is a typed C pointer, a variable its name."""


@dataclass(frozen=True)
class Effects:
    """What passes must know of a call: which memory it touches, and whether it orders others."""

    reads: tuple[Expr, ...] = ()
    """Pointers among the operands that are read through."""
    writes: tuple[Expr, ...] = ()
    """Pointers among the operands that are written through."""
    barrier: bool = False
    """Whether it orders the memory accesses of several threads."""


@dataclass(frozen=True)
class Intrinsic:
    """A device function. `doc` is one sentence with the section of the PTX ISA."""

    name: str
    doc: str
    check: Callable[[Invoke], None]
    effects: Callable[[Invoke], Effects]
    cuda: Callable[[Invoke, Spell], str]
    simulate: Callable[[Context, Invoke], Iterator[None] | None]
    cpu: Callable[[Invoke, Spell], str] | None = None
    """The C++ text of what CPU kernels may call too."""


def fixed(effects: Effects) -> Callable[[Invoke], Effects]:
    """Effects that do not depend on the operands."""
    return lambda invoke: effects


TOUCHES_NOTHING = fixed(Effects())
"""The effects of calls that neither touch memory nor order what others do there."""
ORDERS = fixed(Effects(barrier=True))
"""The effects of calls that touch no memory, but order accesses of several threads."""


def nothing(context: Context, invoke: Invoke) -> None:
    """The simulated meaning of what only concerns speed."""
