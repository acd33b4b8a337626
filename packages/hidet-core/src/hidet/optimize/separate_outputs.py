"""Every output of a graph gets memory of its own."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.indexing.in_place import updated_tensor
from hidet.ops.tensors.shape import Reshape


def separate_outputs(graph: FlowGraph) -> FlowGraph:
    """Copy what would be an output twice, or is an input or a constant itself.

    before   return x, y, y
    after    return copy(x), y, copy(y)

    A frontend that wants outputs to share memory asks for the tensor once. An update in place stays
    in the input that it changes.
    """
    taken = {memory(each) for each in graph.inputs} | {memory(each) for each in graph.constants}
    outputs = []
    for tensor in graph.outputs:
        if updated_tensor(tensor) is not None:
            outputs.append(tensor)
            continue
        if memory(tensor) in taken or tensor.storage is not None:
            tensor = copied(tensor)
        taken.add(memory(tensor))
        outputs.append(tensor)
    if all(a is b for a, b in zip(outputs, graph.outputs, strict=True)):
        return graph
    return graph.with_outputs(outputs)


def memory(tensor: Tensor) -> Tensor:
    """The tensor in whose memory this one lies: reshaping and updates in place move nothing."""
    while (base := below(tensor)) is not None:
        tensor = base
    return tensor


def below(tensor: Tensor) -> Tensor | None:
    """The tensor that this one is under a new shape, or an update of; None if it is neither."""
    if is_view(tensor):
        assert tensor.trace is not None
        return tensor.trace[0].inputs[0]
    return updated_tensor(tensor)


def is_view(tensor: Tensor) -> bool:
    """Whether the tensor is another one under a new shape."""
    if tensor.storage is not None or tensor.trace is None:
        return False
    op = tensor.trace[0].op
    return isinstance(op, Reshape) and op.types() != op.results()


def copied(tensor: Tensor) -> Tensor:
    """A node that copies: a reshape to the same shape, which is no view."""
    place = tensor.trace[0].place if tensor.trace else None
    return Node(Reshape(tensor.type, tensor.shape), (tensor,), place, tensor.device).outputs[0]
