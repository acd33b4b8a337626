"""Control flow that is known before it runs: branches nobody takes, loops of few iterations, and
what a loop carries without need."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.graph.apply import placed, types_of
from hidet.graph.body import Body, Region
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import flattened
from hidet.graph.rewrite import reading, rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.flow.control import ITERATION, If, Loop
from hidet.ops.tensors.create import Full

MOST_NODES = 256
"""How many operators a loop may become when it is written out iteration by iteration."""


def settle_control(graph: FlowGraph) -> FlowGraph:
    """Write out branches that are always taken, and loops of few iterations whose number is known;
    let go of what loops carry and nobody reads. Bodies come first, so that inner loops are written
    out in outer ones.
    """
    readers = {*graph.users(), *graph.outputs}

    def change(original: Node, node: Node) -> Sequence[Tensor] | None:
        if not isinstance(node.op, Region):
            return None
        op = node.op.with_bodies(settled)
        kept = Node(op, node.inputs, node.place, node.device)
        with placed(node.place):
            if isinstance(op, If):
                return branch(op, node.inputs) or kept.outputs
            assert isinstance(op, Loop)
            read = [each in readers for each in original.outputs]
            return iterations(op, node.inputs, node.device) or lighter(kept, read) or kept.outputs

    return rewrite_from(graph, change)


def settled(body: Body) -> Body:
    """A body without control flow that is known before it runs."""
    made = settle_control(body.graph)
    return body if made is body.graph else Body(made)


def inlined(body: Body, inputs: Sequence[Tensor]) -> list[Tensor]:
    """What a body gives of these tensors, by its operators here."""
    new = dict(zip(body.graph.inputs, inputs, strict=True))
    for node in body.graph.nodes:
        made = reading(node, tuple(new.get(each, each) for each in node.inputs))
        new.update(zip(node.outputs, made.outputs, strict=True))
    return [new.get(each, each) for each in body.graph.outputs]


def constant(tensor: Tensor) -> int | float | bool | None:
    """The number that a tensor of one element is, if a node spells it out."""
    op = tensor.trace[0].op if tensor.trace is not None and tensor.storage is None else None
    return op.value if isinstance(op, Full) else None


def branch(op: If, inputs: Sequence[Tensor]) -> list[Tensor] | None:
    """What a choice gives whose condition is known, or whose branches are alike."""
    if op.shapes:
        return None  # they are the results', whichever branch is taken
    chosen = constant(inputs[0])
    if chosen is None and op.branches[0] != op.branches[1]:
        return None
    if any(each.graph.data_sizes for each in op.branches):
        return None  # their sizes have names for the inside of a body
    return inlined(op.branches[0 if chosen is None or chosen else 1], inputs[1:])


def iterations(op: Loop, inputs: Sequence[Tensor], device: str) -> list[Tensor] | None:
    """What a loop gives that has few iterations, written out; None if it has many, or nobody
    knows."""
    go_on, trips, carried, captured = op.arrange(list(inputs))
    known = [op.count] if isinstance(op.count, int) else []
    known += [] if trips is None or constant(trips) is None else [int(constant(trips) or 0)]
    if op.count is not None and not isinstance(op.count, int):
        return None
    if trips is not None and constant(trips) is None and 0 not in known:
        return None
    if go_on is not None and (constant(go_on) is not False):
        return None
    if op.body.graph.data_sizes:
        return None  # as of branches
    count = 0 if go_on is not None else max(min(known), 0)
    if count * len(op.body.graph.nodes) > MOST_NODES:
        return None
    now = list(carried)
    for iteration in range(count):
        now = inlined(op.body, [number(iteration, device), *now, *captured])
    return [*now, number(count, device)]


def number(value: int, device: str) -> Tensor:
    """A number of iterations as a tensor."""
    return Node(Full((), value, ITERATION.dtype), (), None, device).outputs[0]


def lighter(node: Node, read: Sequence[bool]) -> list[Tensor] | None:
    """The results of a loop that carries less: nothing that iterations do not change, and nothing
    that neither results nor other tensors need; None if all that it carries has to be carried."""
    op = node.op
    assert isinstance(op, Loop)
    go_on, trips, carried, captured = op.arrange(list(node.inputs))
    graph, flags = op.body.graph, 0 if go_on is None else 1
    same = [graph.outputs[flags + i] is graph.inputs[1 + i] for i in range(len(carried))]
    needed = wanted(op, flags, read)
    kept = [i for i in range(len(carried)) if needed[i] and not same[i]]
    if len(kept) == len(carried):
        return None
    constant_ = [i for i in range(len(carried)) if same[i]]
    inner, inputs = graph.inputs, carried
    stay = [inner[0], *(inner[1 + i] for i in kept), *inner[1 + len(carried) :]]
    stay += [inner[1 + i] for i in constant_]
    outputs = [*graph.outputs[:flags], *(graph.outputs[flags + i] for i in kept)]
    outputs += graph.size_sources.values()
    body = Body(graph.with_outputs(outputs, stay))
    operands = (
        go_on,
        trips,
        tuple(inputs[i] for i in kept),
        (*captured, *(inputs[i] for i in constant_)),
    )
    first, second, now, others = map(types_of, operands)
    made = Loop(first, second, now, others, body, op.count)
    flat = tuple(flattened(operands))
    *found, count = Node(made, flat, node.place, node.device).outputs
    results = dict(zip(kept, found, strict=True))
    return [*(results.get(i, inputs[i]) for i in range(len(carried))), count]


def wanted(op: Loop, flags: int, read: Sequence[bool]) -> list[bool]:
    """Which of the carried tensors results need, or the condition, or others that are needed."""
    graph, count = op.body.graph, len(op.carried)
    found = list(read[:count])
    while True:
        needed = (graph.outputs[flags + i] for i in range(count) if found[i])
        outputs = [*graph.outputs[:flags], *needed, *graph.size_sources.values()]
        part = graph.with_outputs(outputs)
        used = {each for node in part.nodes for each in node.inputs} | set(outputs)
        more = [found[i] or graph.inputs[1 + i] in used for i in range(count)]
        if more == found:
            return found
        found = more
