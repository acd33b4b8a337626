"""Definitions: operands in, results out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hidet.compute.grid import Grid, Input
from hidet.ir.walk import postorder


@dataclass(frozen=True)
class Definition:
    """What each element of the results is, given the operands."""

    inputs: tuple[Input, ...]
    outputs: tuple[Grid, ...]

    def grids(self) -> Iterator[Grid]:
        """Every grid that the results mention, producers before consumers."""
        return (each for each in postorder(self.outputs) if isinstance(each, Grid))

    def __str__(self) -> str:
        operands = ", ".join(map(str, self.inputs))
        return "\n".join([f"({operands}) ->", *(f"  {grid}" for grid in self.outputs)])
