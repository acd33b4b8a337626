"""What a converter may ask about the node that it converts, beyond operands and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hidet.errors import InternalError
from hidet.frontend.running.host_values import HostFunction


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
    host: Callable[[HostFunction, bool], Sequence[Any]] | None = None

    def reads(self, number: int) -> bool:
        """Whether somebody may read the result of this number."""
        return number < self.results and self.read[number]

    def on_host(self, function: HostFunction, is_fallback: bool = True) -> Sequence[Any]:
        """Let the host run a function at each call; the results are what stands for its own.

        One that `is_fallback` is named among what is not compiled.
        """
        if self.host is None:
            raise InternalError(f"{function.name} on the host, and nothing runs there")
        return self.host(function, is_fallback)


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
