"""How much a model file may ask for before it is refused: what keeps hostile files harmless."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.errors import BadArgument


@dataclass(frozen=True)
class Limits:
    """What an import may take.

    `nodes` counts nodes after functions were expanded, `calls` the depth to which functions call
    functions, `bodies` that of control flow in control flow. `elements` is the most that one tensor
    may have, `axis` the largest size, `constant_bytes` what is made of constants while importing.
    """

    nodes: int = 1_000_000
    calls: int = 64
    bodies: int = 32
    elements: int = 2**40
    axis: int = 2**31 - 1
    constant_bytes: int = 2**28

    def require(self, what: str, count: int) -> None:
        """Raise BadArgument if `count` is beyond the limit of that name."""
        most = getattr(self, what)
        if count > most:
            raise BadArgument(
                f"the model asks for {count} {what}; at most {most} are accepted",
                help=f"options={{'import_{what}': {count}}} accepts it, if the file is trusted",
            )
