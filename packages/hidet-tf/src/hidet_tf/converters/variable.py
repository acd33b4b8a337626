"""A variable's handle, as converters see it."""

from __future__ import annotations

from typing import Protocol

from hidet.graph import Tensor


class Variable(Protocol):
    """Stands for the handle of a variable of the model."""

    name: str

    def tensor(self) -> Tensor:
        """What the program reads of it here."""

    def assign(self, value: Tensor) -> None:
        """From here on the program reads this value, which the variable gets after the call."""
