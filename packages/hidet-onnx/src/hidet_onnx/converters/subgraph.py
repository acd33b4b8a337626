"""A graph that is an attribute of a node, as converters see it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Subgraph(Protocol):
    """It is converted when `inline` is called, for these values, into the graph around the node."""

    inputs: Sequence[str]
    outputs: Sequence[str]

    def inline(self, *given: Any) -> tuple[Any, ...]:
        """The results for these values of the inputs."""

    def attempt(self) -> AbstractContextManager[None]:
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""
