"""A tensor in memory: an address, a shape, and who keeps it alive."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.types import dtype as dtype_of


@dataclass(slots=True, eq=False)
class View:
    """A tensor in memory without gaps: `owner` is what must not be freed while it is used."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    owner: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return prod(self.shape) * dtype_of(self.dtype).nbytes


@dataclass(slots=True, eq=False)
class Place(View):
    """Where a step of the framework's is to write a result.

    It may leave the result where it made it instead: `elsewhere` says where, aligned as memory of
    the allocator is. Nothing else may be written there before the call ends.
    """

    elsewhere: View | None = None
