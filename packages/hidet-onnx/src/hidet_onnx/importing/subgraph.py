"""An attribute that is a graph, as converters of control flow take it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from onnx import GraphProto

if TYPE_CHECKING:
    from hidet_onnx.importing.importer import OnnxImporter


class Subgraph:
    """A graph inside a node: `inputs` and `outputs` are the names it has for them.

    It is converted when a converter asks for it, and sees the names around the node.
    """

    def __init__(self, importer: OnnxImporter, graph: GraphProto) -> None:
        self.importer, self.graph, self.outer = importer, graph, importer.values
        self.inputs: Sequence[str] = [each.name for each in graph.input]
        self.outputs: Sequence[str] = [each.name for each in graph.output]

    def inline(self, *given: Any) -> tuple[Any, ...]:
        """The results for these values, the nodes taken into the graph around the node."""
        found = self.importer.inline(self.graph, given, self.outer)
        self.importer.require_done(found)
        return found

    def attempt(self) -> AbstractContextManager[None]:
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""
        return self.importer.attempt()
