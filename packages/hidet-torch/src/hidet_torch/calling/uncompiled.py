"""Calls of graphs of which nothing is compiled: PyTorch runs them, at the cost of eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hidet.frontend.importing.coverage import Coverage

NO_COVERAGE = Coverage(())


def as_captured(graph_module: torch.fx.GraphModule) -> Callable[..., Any]:
    """The call of a Dynamo graph of which nothing is compiled, also where it gives nothing but
    views of arguments: PyTorch's functions, as the model calls them. The ATen operators that
    AOTAutograd makes of them take longer to call."""

    def run(*args: Any) -> Any:
        with torch.no_grad():
            return graph_module.forward(*args)

    return run


class EagerCall:
    """An fx graph as AOTAutograd calls it: a list of arguments, which it empties.

    `coverage` says why nothing is compiled. `is_plain`: arguments and results are plain tensors of
    which none shares another's memory.
    """

    _boxed_call = True

    def __init__(
        self,
        module: torch.fx.GraphModule,
        coverage: Coverage = NO_COVERAGE,
        is_plain: bool = False,
    ) -> None:
        self.forward, self.coverage, self.is_plain = module.forward, coverage, is_plain

    def __call__(self, boxed: list[Any]) -> Any:
        """The results for these arguments."""
        return self.run(boxed)

    def run(self, boxed: list[Any]) -> Any:
        """The same, as calls without AOTAutograd's wrapper make it."""
        given = list(boxed)
        boxed.clear()
        with torch.no_grad():
            return self.forward(*given)
