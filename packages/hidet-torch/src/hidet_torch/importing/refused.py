"""A graph that has to stay in PyTorch as a whole, and the operator for which it does."""

from __future__ import annotations

from dataclasses import replace

import torch

from hidet.errors import NotYet
from hidet.frontend.importing.coverage import Coverage, Use
from hidet_torch.importing.data_sizes import is_about_sizes
from hidet_torch.importing.facts import ASSERTIONS, CHECKS
from hidet_torch.importing.place import place_of


class Refused(NotYet):
    """`node` is that at which it was found out; None: at the graph's inputs or results."""

    def __init__(self, error: NotYet, node: torch.fx.Node | None) -> None:
        place = None if node is None else place_of(node)
        super().__init__(error.message, place=place, help=error.help)
        self.node = node if node is not None and node.op == "call_function" else None

    def __reduce__(self) -> tuple[object, ...]:
        return NotYet, (self.message,), {"place": self.place, "help": self.help}

    @property
    def reason(self) -> str:
        """Why, in a line."""
        return self.message + (f" ({self.help})" if self.help else "")

    def coverage(self, module: torch.fx.GraphModule) -> Coverage:
        """That of a graph of which nothing is compiled: one operator is why, the others are beside
        it."""
        operators = [each for each in module.graph.nodes if is_operator(each)]
        if self.node is None:
            return Coverage(tuple(self.use(each, self.reason) for each in operators))
        beside = f"the whole graph stays in PyTorch for {self.node.target}"
        rest = (replace(self.use(each, beside), is_beside=True) for each in operators)
        others = (use for each, use in zip(operators, rest, strict=True) if each is not self.node)
        return Coverage((self.use(self.node, self.reason), *others))

    def use(self, node: torch.fx.Node, reason: str) -> Use:
        """One operator that stays."""
        return Use(str(node.target), place_of(node), reason)


def is_operator(node: torch.fx.Node) -> bool:
    """Whether a node computes a tensor, rather than a size or a check."""
    is_size = isinstance(node.meta.get("val"), torch.SymInt | int) or is_about_sizes(node)
    is_own = isinstance(node.target, torch._ops.OperatorBase)  # none of Python's
    return is_own and not is_size and node.target not in (*CHECKS, *ASSERTIONS)
