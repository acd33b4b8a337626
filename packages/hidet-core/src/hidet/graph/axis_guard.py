"""Why an axis of a graph's input has the size it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.errors import Place
from hidet.graph.tensor import Tensor


@dataclass(frozen=True, eq=False)
class AxisGuard:
    """An axis of an input that has the size which an operator at `place` needs: one that the
    framework called `symbol`, as if it could be any other."""

    tensor: Tensor
    axis: int
    symbol: str
    place: Place | None

    def number(self, inputs: Sequence[Tensor]) -> int:
        """Which of a graph's inputs it is."""
        return next(number for number, each in enumerate(inputs) if each is self.tensor)

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        return f"{self.symbol} = {self.tensor.shape[self.axis]}{where}"
