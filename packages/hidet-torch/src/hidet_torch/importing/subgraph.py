"""A graph that is an argument of a higher-order operator, as converters of control flow take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch


class Subgraph:
    """It is converted when `inline` is called, for these values, into the graph around the node."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        convert: Callable[[torch.fx.GraphModule, Sequence[Any]], list[Any]],
        attempt: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.module, self.convert = module, convert
        self.attempt = attempt
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""

    def inline(self, *given: Any) -> list[Any]:
        """The results for these values of the inputs."""
        return self.convert(self.module, given)
