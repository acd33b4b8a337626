"""What depends on constants alone is computed once, before the first call."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.separate_outputs import is_view


@dataclass(frozen=True)
class Parts:
    """A graph in two: `prepare` turns constants into others, `main` reads those.

    The outputs of `prepare` are, in order, the last inputs of `main`.
    """

    prepare: FlowGraph | None
    main: FlowGraph
    derived: tuple[Tensor, ...] = ()


def split(graph: FlowGraph) -> Parts:
    """The graph with what can be folded in a part of its own; nothing is computed here."""
    folded = foldable(graph)
    kept = [node for node in graph.nodes if node not in folded]
    read = [each for node in kept for each in node.inputs] + list(graph.outputs)
    wanted = tuple(dict.fromkeys(each for each in read if made_by(each, folded)))
    if not wanted:
        return Parts(None, graph)
    prepare = FlowGraph((), wanted, "prepare", data_sizes=())
    return Parts(prepare, graph.with_outputs(graph.outputs, (*graph.inputs, *wanted)), wanted)


def foldable(graph: FlowGraph) -> set[Node]:
    """The nodes that read constants, or what comes of constants, and nothing else.

    What costs nothing where it is used (made from nothing, unless that is `costly`, or a new shape)
    is folded only together with what reads it. What makes an output is not folded: outputs are new
    memory at each call.
    """
    given = set(graph.inputs)
    found: set[Node] = set()
    for node in graph.nodes:
        known = all(
            each not in given and (each.storage is not None or made_by(each, found))
            for each in node.inputs
        )
        if known and node.op.kind == "kernels" and has_known_sizes(node):
            found.add(node)
    found -= {node for each in graph.outputs for node in making(each)}
    users = graph.users()
    for node in reversed(graph.nodes):
        free = (not node.inputs and not node.op.costly) or all(map(is_view, node.outputs))
        readers = [reader for each in node.outputs for reader in users.get(each, [])]
        if free and not all(each in found for each in readers):
            found.discard(node)
    return found


def has_known_sizes(node: Node) -> bool:
    """Whether nothing waits for the sizes of a call: what is computed before has none to read."""
    return next(node.op.symbolic_sizes(), None) is None


def making(tensor: Tensor) -> list[Node]:
    """The node that writes the tensor's memory, and those that give it another shape."""
    found = []
    while tensor.trace is not None and tensor.storage is None:
        found.append(tensor.trace[0])
        if not is_view(tensor):
            break
        (tensor,) = tensor.trace[0].inputs
    return found


def made_by(tensor: Tensor, nodes: set[Node]) -> bool:
    """Whether one of `nodes` makes the tensor."""
    return tensor.storage is None and tensor.trace is not None and tensor.trace[0] in nodes
