"""Sizes that a graph takes to be equal, though no file says so.

A framework's exporter may give one length several names. In the block of `assuming()` sizes whose
equality is unknown are taken to be equal where an operator needs it, one of their symbols standing
for the other from then on. What is assumed has to be checked in each call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from hidet.errors import Place
from hidet.errors.place import here
from hidet.ir.expr import Expr, Var
from hidet.types import Size


@dataclass(frozen=True)
class Guard:
    """`symbol` is taken to be `size`, which an operator at `place` needs."""

    symbol: Var
    size: Size
    place: Place | None


class Guards(dict[Var, Guard]):
    """What was assumed so far, by the symbol that is replaced; `most` says how large symbols are
    taken to be at most, `naturals` which sums of products of sizes are at least 0."""

    def __init__(self) -> None:
        super().__init__()
        self.most: dict[Var, int] = {}
        self.naturals: list[dict[tuple[Expr, ...], int]] = []
        self.terms: dict[Size, Any] = {}
        """What `sizes.terms` found out under what is assumed so far."""

    def __bool__(self) -> bool:
        """Whether anything is assumed."""
        return len(self) > 0 or len(self.most) > 0 or len(self.naturals) > 0

    def limit(self, symbol: Var, most: int) -> None:
        """Assume that a symbol is no larger than a number."""
        self.most[symbol] = min(most, self.most.get(symbol, most))
        self.terms.clear()

    def know(self, naturals: list[dict[tuple[Expr, ...], int]]) -> None:
        """Assume that these sums are at least 0."""
        self.naturals = naturals
        self.terms.clear()

    def add(self, symbol: Var, size: Size) -> None:
        """Assume that a symbol, of which nothing was assumed yet, is `size`."""
        self[symbol] = Guard(symbol, size, here())
        self.terms.clear()


DATA_SIZES: WeakSet[Var] = WeakSet()
"""The data-dependent sizes. Others stand for them, since each call checks what it reads."""

_numbers = count(1)
_late: WeakKeyDictionary[Var, int] = WeakKeyDictionary()
"""The sizes that are known in the midst of a call, numbered as they come to be known."""

_guards: ContextVar[Guards | None] = ContextVar("guards", default=None)


@contextmanager
def assuming(guards: Guards | None = None) -> Iterator[Guards]:
    """In this block sizes may be taken to be equal; gives what is assumed, beginning with `guards`.

    A graph that is made in it is finished by `graph.guards.guarded`, which puts the sizes in.
    """
    made = Guards() if guards is None else guards
    token = _guards.set(made)
    try:
        yield made
    finally:
        _guards.reset(token)


def known_late(symbol: Var) -> Var:
    """The symbol, of a size that is known in the midst of a call: after those of its inputs, and
    after all that were said to be so before. Of two sizes that are equal the later one goes."""
    _late[symbol] = next(_numbers)
    return symbol


def lateness(symbol: Var) -> int:
    """When a size is known; 0 for one of a call's inputs."""
    return _late.get(symbol, 0)


def assumptions() -> Guards | None:
    """What is assumed in this block; None where nothing may be."""
    return _guards.get()
