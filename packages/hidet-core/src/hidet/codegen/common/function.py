"""A generated function as data, apart from the unit that it becomes part of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """The text of one kernel, and the prelude's names that it relies on."""

    name: str
    text: str
    used: tuple[str, ...]
