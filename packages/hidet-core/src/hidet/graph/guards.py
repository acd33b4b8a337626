"""A graph whose sizes were taken to be equal, with the equal sizes put in and checks that say why.

An input whose axis had a symbol of its own has the size that it must have; a call with another one
is refused by its shape, with the place of the operator that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hidet.compute.guards import Guards, assuming
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph.axis_guard import AxisGuard
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import resized
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Expr, Var, wrap
from hidet.ir.walk import substitute
from hidet.runtime.plan import Limits
from hidet.types import Size


def guarded(graph: FlowGraph, guards: Guards) -> FlowGraph:
    """The graph that was made inside of `assuming()`, whose guards it keeps; inputs and outputs
    stay in their order."""
    if not guards:
        return graph
    with assuming(guards):
        sizes = {symbol: tidy(symbol) for symbol in guards}
    put_in = {symbol: wrap(size) for symbol, size in sizes.items()}
    new = changed(graph, lambda size: tidy(substitute(size, put_in)))
    return FlowGraph(
        (new.get(each, each) for each in graph.inputs),
        (new.get(each, each) for each in graph.outputs),
        graph.name,
        merged(graph.limits, {symbol.name: size for symbol, size in sizes.items()}),
        (
            *graph.guards,
            *(
                AxisGuard(new.get(each, each), axis, size.name, guards[size].place)
                for each in graph.inputs
                for axis, size in enumerate(each.shape)
                if isinstance(size, Var) and size in guards
            ),
        ),
    )


def changed(graph: FlowGraph, change: Callable[[Expr], Size]) -> dict[Tensor, Tensor]:
    """For each tensor whose sizes change, or those of what it is computed from, the new one."""
    new: dict[Tensor, Tensor] = {}
    for each in graph.inputs:
        type_ = resized(each.type, change)
        if type_ != each.type:
            new[each] = Tensor(type_, each.device, each.storage, None, each.name)
    for node in graph.nodes:
        op = node.op.with_sizes(change)
        if op == node.op and not any(each in new for each in node.inputs):
            continue
        inputs = tuple(new.get(each, each) for each in node.inputs)
        made = Node(op, inputs, node.place, node.device)
        new.update(zip(node.outputs, made.outputs, strict=True))
    return new


def merged(limits: Mapping[str, Limits], sizes: Mapping[str, Size]) -> dict[str, Limits]:
    """Limits of what is left of the symbols, which keep those of the sizes that they stand for."""
    found = {name: ends for name, ends in limits.items() if name not in sizes}
    for name in limits.keys() & sizes.keys():
        low, high = limits[name]
        match sizes[name]:
            case int(size) if size < low or (high is not None and size > high):
                raise BadArgument(f"size {name!r} is at least {low} and at most {high}, not {size}")
            case int():
                pass
            case Var(other):
                least, most = found.get(other, (0, None))
                ends = [each for each in (most, high) if each is not None]
                found[other] = max(low, least), min(ends, default=None)
            case size:
                raise NotYet(f"limits of {name!r}, which is {size}")
    return found
