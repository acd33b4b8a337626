"""What a converter may ask about the node that it converts, beyond operands and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hidet.frontend.host_values import HostFunction


@dataclass(frozen=True)
class Here:
    """The node being converted.

    `device` is where results without operands have to be, `version` the operator set's of the
    node's domain, `results` how many results the node names (also by the empty name), and `read`
    which of them have a name.
    """

    device: str
    version: int
    results: int = 1
    read: tuple[bool, ...] = (True,)
    on_host: Callable[[HostFunction], Sequence[Any]] | None = None
    """Lets the host run a function when the model runs, and gives its results."""


_here: ContextVar[Here] = ContextVar("here")


def here() -> Here:
    """The node being converted."""
    return _here.get()


@contextmanager
def standing(place: Here) -> Iterator[None]:
    """In this block `here()` is `place`."""
    token = _here.set(place)
    try:
        yield
    finally:
        _here.reset(token)
