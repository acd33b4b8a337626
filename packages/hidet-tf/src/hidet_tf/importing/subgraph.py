"""An attribute that is a function, as converters of control flow take it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from hidet_tf.importing.induction import Induction
from hidet_tf.importing.walk import ASSIGNS, FuncGraph, mentions
from hidet_tf.variables import Variable

if TYPE_CHECKING:
    from hidet_tf.importing.importer import TfImporter


class Subgraph:
    """The graph of a function that an operator runs; it is converted when a converter asks."""

    def __init__(self, importer: TfImporter, graph: FuncGraph) -> None:
        self.importer, self.graph = importer, graph

    def inline(self, *given: Any) -> tuple[Any, ...]:
        """The results for these values, the operators taken into the graph around the operator."""
        found = self.importer.subgraph(self.graph, given)
        self.importer.require_done(found)
        return found

    def attempt(self) -> AbstractContextManager[None]:
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""
        return self.importer.attempt()

    def look(self) -> AbstractContextManager[None]:
        """In this block graphs are converted only to see what they give: nothing is left of it."""
        return self.importer.look()

    def assigned(self, *given: Any) -> list[Variable]:
        """The variables that the graph assigns, given these values."""
        if not mentions(self.graph, ASSIGNS):
            return []
        before = self.importer.assigned()
        with self.look():
            self.inline(*given)
            pairs = zip(self.importer.variables, before, strict=True)
            return [variable for variable, value in pairs if variable.after is not value]

    def induction(self, cond: Subgraph) -> Induction:
        """What iterations of this graph do with the values that they carry."""
        return Induction(cond.graph, self.graph)
