"""What leaves a graph: each tensor once, and copies of what lies in the memory of an input."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor


class Results:
    """Collects the outputs of a FlowGraph; `tensors` are those, each once."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.index: dict[Tensor, int] = {}
        self.copies: dict[Tensor, Tensor] = {}

    def add(self, tensor: Tensor) -> int:
        """The number of a tensor among the graph's outputs; of a copy, if it lies in an input."""
        if ops.updated_tensor(tensor) is not None:
            tensor = self.copies.setdefault(tensor, ops.copy(tensor))
        if tensor not in self.index:
            self.index[tensor] = len(self.tensors)
            self.tensors.append(tensor)
        return self.index[tensor]
