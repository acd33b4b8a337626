"""What became of one case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """`reason` says why a case is not right; `host` names what of it is not compiled."""

    name: str
    reason: str = ""
    host: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether results are within the tolerances."""
        return not self.reason

    @property
    def is_compiled(self) -> bool:
        """Whether they are so without another runtime's help."""
        return self.is_right and not self.host
