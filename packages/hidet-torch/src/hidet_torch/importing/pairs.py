"""Complex values of an fx graph: pairs in memory, numbers of two parts for converters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hidet.errors import NotYet
from hidet.frontend.importing.complex_numbers import Complex
from hidet.frontend.importing.importer import NO_CONVERTER
from hidet.graph import Tensor
from hidet_torch.converters.pairs import pairs
from hidet_torch.importing.facts import is_complex


class Pairs:
    """The complex numbers of one graph; what is known of their parts is not taken apart again."""

    def __init__(self) -> None:
        self.known: dict[Tensor, Complex] = {}

    def numbers(self, parts: Any) -> Any:
        """What converters take for pairs."""
        if not isinstance(parts, Tensor):
            return parts
        if parts not in self.known:
            self.known[parts] = Complex.of(parts)
        return self.known[parts]

    def parts(self, found: Any) -> Any:
        """The pairs of what a converter gave; anything else as it is."""
        if isinstance(found, list | tuple):
            return type(found)(map(self.parts, found))
        if not isinstance(found, Complex):
            return found
        self.known.setdefault(found.parts, found)
        return found.parts


def has_pairs(node: torch.fx.Node) -> bool:
    """Whether a node takes or gives complex numbers."""
    return any(is_complex(each) for each in (node, *node.all_input_nodes))


def converter(node: torch.fx.Node) -> Callable[..., Any]:
    """What converts a node that does; NotYet if nothing does."""
    found = pairs.find(node.target)
    if found is None:
        raise NotYet(f"{NO_CONVERTER} for complex numbers")
    return found
