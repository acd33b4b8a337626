"""Which tensors are known before any call, and which have one reader."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ir.order import producers_first


class Constants:
    """The tensors of a graph, and those made of them, that depend on constants alone."""

    def __init__(self, graph: FlowGraph) -> None:
        self.known: dict[Tensor, bool] = dict.fromkeys(graph.inputs, False)

    def __contains__(self, tensor: Tensor) -> bool:
        for each in producers_first([tensor], self.open):
            if each not in self.known:
                self.known[each] = each.storage is not None or self.is_made(each)
        return self.known[tensor]

    def open(self, tensor: Tensor) -> list[Tensor]:
        """What has to be known before it is known of a tensor: chains may be long."""
        if tensor in self.known or tensor.storage is not None or tensor.trace is None:
            return []
        return [each for each in tensor.trace[0].inputs if each not in self.known]

    def is_made(self, tensor: Tensor) -> bool:
        """Whether a node makes the tensor from constants, or from nothing."""
        if tensor.trace is None or not all(isinstance(size, int) for size in tensor.shape):
            return False
        node = tensor.trace[0]
        return node.op.kind == "kernels" and all(self.known[each] for each in node.inputs)


class Readers:
    """Who reads the tensors of a graph; the caller reads its outputs."""

    def __init__(self, graph: FlowGraph) -> None:
        self.users = graph.users()
        self.kept = set(graph.outputs)

    def of(self, tensor: Tensor) -> list[Node]:
        """The nodes that read the tensor; none if the caller gets it."""
        return [] if tensor in self.kept else self.users.get(tensor, [])

    def only(self, tensor: Tensor) -> Node | None:
        """The one node that reads the tensor, if there is one, and nobody else does."""
        found = self.of(tensor)
        return found[0] if len(found) == 1 else None
