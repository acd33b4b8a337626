"""How much of a model is compiled, and what stays in its framework and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hidet.errors import Place


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a framework's operator in a model; `reason` says why it is not compiled.

    One that `is_lost` cannot be run by the framework either; one that `is_beside` stays in the
    framework for another operator.
    """

    operator: str
    place: Place | None = None
    reason: str = ""
    is_lost: bool = False
    is_beside: bool = False


@dataclass(frozen=True)
class Coverage:
    """Every use of an operator in a model, in the model's order."""

    uses: tuple[Use, ...]

    @staticmethod
    def together(parts: Iterable[Coverage]) -> Coverage:
        """The coverage of several graphs of one model."""
        return Coverage(tuple(use for part in parts for use in part.uses))

    @property
    def compiled(self) -> Counter[str]:
        """How often each operator is compiled."""
        return Counter(use.operator for use in self.uses if not use.reason)

    @property
    def left(self) -> dict[str, list[Use]]:
        """The uses that stay in the framework, by operator."""
        found: dict[str, list[Use]] = {}
        for use in self.uses:
            if use.reason:
                found.setdefault(use.operator, []).append(use)
        return found

    @property
    def is_complete(self) -> bool:
        """Whether nothing stays in the framework."""
        return not any(use.reason for use in self.uses)
