"""An order in which things can be made that others are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from hidet.errors import InternalError

T = TypeVar("T", bound=Hashable)


def producers_first(wanted: Iterable[T], producers: Callable[[T], Sequence[T]]) -> list[T]:
    """What is wanted and all that it needs, each once, behind its producers, without recursion.

    The order is fixed: producers come in their own order, as far as they do not need each other.
    Raises InternalError where something needs itself.
    """
    done: dict[T, None] = {}
    begun: set[T] = set()
    pending = [(each, False) for each in reversed([*wanted])]
    while pending:
        current, ready = pending.pop()
        if ready:
            done[current] = None
        elif current not in done:
            if current in begun:
                raise InternalError(f"{current!r} is made of itself")
            begun.add(current)
            pending.append((current, True))
            pending += [(each, False) for each in reversed(producers(current))]
    return list(done)
