"""Flow graphs as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidet.graph.body import bodies_of
from hidet.graph.operator import spelled
from hidet.graph.tensor import Tensor

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph


def show(graph: FlowGraph) -> str:
    """The graph as a little program: constants, a line for each node, the results."""
    names = name_tensors(graph)
    head = ", ".join(f"{names[each]}: {typed(each)}" for each in graph.inputs)
    lines = [f"Graph({head}){{"]
    lines += [f"  {names[each]} = Constant({typed(each)})" for each in graph.constants]
    lines += [
        f"  # {each.symbol} = {each.tensor.shape[each.axis]}"
        + (f" at {each.place}" * bool(each.place))
        for each in graph.guards
    ]
    told: dict[Tensor, list[str]] = {}
    for size, tensor in zip(graph.told, graph.tellers.values(), strict=True):
        equals = "" if size.equals is None else f" = {size.equals}"
        told.setdefault(tensor, []).append(f"{size.size.name}{equals}")
    for node in graph.nodes:
        results = ", ".join(f"{names[each]}: {typed(each)}" for each in node.outputs)
        given = [names[each] for each in node.inputs]
        given += [f"{key}={spelled(value)}" for key, value in node.op.attributes().items()]
        lines.append(f"  {results} = {type(node.op).__name__}({', '.join(given)})")
        for each in node.outputs:
            lines += [f"  # {name} = {names[each]}" for name in told.get(each, ())]
        for body in bodies_of(node.op):
            lines += [f"    {line}" for line in f"{body!r}: {show(body.graph)}".splitlines()]
    lines.append(f"  return {', '.join(names[each] for each in graph.results)}")
    return "\n".join([*lines, "}"])


def name_tensors(graph: FlowGraph) -> dict[Tensor, str]:
    """A name for each tensor: its own, or x and c counted up."""
    names: dict[Tensor, str] = {}
    count: dict[str, int] = {}

    def name(tensor: Tensor, default: str) -> None:
        if tensor in names:
            return
        base = tensor.name or default
        number = count.get(base, 0)
        count[base] = number + 1
        names[tensor] = base if number == 0 else f"{base}_{number}"

    for each in graph.inputs:
        name(each, "x")
    for each in graph.constants:
        name(each, "c")
    for node in graph.nodes:
        for each in node.outputs:
            name(each, "x")
    return names


def typed(tensor: Tensor) -> str:
    """A tensor's type and device: `float32[2, 3][cuda]`."""
    sizes = ", ".join(map(str, tensor.shape))
    return f"{tensor.dtype.name}[{sizes}][{tensor.device.removesuffix(':0')}]"
