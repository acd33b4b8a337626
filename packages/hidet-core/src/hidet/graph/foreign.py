"""What stays in the framework: an operator that only the framework can compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

from hidet.compute import Grid
from hidet.errors import UnsupportedOp
from hidet.graph.operator import Op, OpKind, operator
from hidet.types import TensorType, f32


class ResultTypes(tuple[TensorType, ...]):
    """The types of a region's results: an attribute, so that they are not taken for operands."""


@operator("foreign")
class Foreign(Op):
    """A region that runs in the framework; `key` tells the frontend which. It has no definition."""

    kind: ClassVar[OpKind] = "framework"
    given: tuple[TensorType, ...]
    key: str
    gives: ResultTypes

    def infer(self) -> tuple[TensorType, ...]:
        return tuple(self.gives)

    def define(self, *operands: object) -> Grid:
        raise UnsupportedOp(f"{self.key!r} runs in the framework and has no definition")

    def reference(self, *operands: object) -> object:
        raise UnsupportedOp(f"{self.key!r} runs in the framework and has no meaning here")

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls((f32[2, 3],), "aten.example", ResultTypes((f32[2, 3],)))
