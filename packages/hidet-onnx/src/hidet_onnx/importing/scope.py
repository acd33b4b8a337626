"""Values by name, as a graph, a function or a sub-graph sees them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from onnx import SparseTensorProto, TensorProto

from hidet.errors import BadArgument, Place

Held: TypeAlias = TensorProto | SparseTensorProto


class Names(dict[Hashable, Any]):
    """What the names of one graph stand for; initialisers become constants when first read.

    A sub-graph reads names of the graph `outer` around it; a function does not.
    """

    def __init__(
        self,
        tensors: Mapping[str, Held],
        constant: Callable[[Held], Any],
        outer: Names | None = None,
    ) -> None:
        super().__init__()
        self.tensors, self.constant, self.outer = tensors, constant, outer

    def __missing__(self, name: Hashable) -> Any:
        if isinstance(name, str) and name in self.tensors:
            made = self[name] = self.constant(self.tensors[name])
            return made
        if self.outer is not None:
            return self.outer[name]
        raise BadArgument(f"there is no value {name!r} in the model")


@dataclass(frozen=True)
class Scope:
    """Where the walk is: operator sets by domain, who called, and the functions being expanded."""

    versions: Mapping[str, int]
    called_from: Place | None = None
    chain: tuple[str, ...] = field(default=())
