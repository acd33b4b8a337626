"""Flow graphs as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hidet.graph.body import bodies_of
from hidet.graph.operator import spelled
from hidet.graph.tensor import Node, Tensor

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph

NAMED = 6
"""How many operators the name of a fused operator tells; all of them come behind it."""


@dataclass(frozen=True)
class Fused:
    """Operators that share a kernel, in an order in which they can run; `anchor` is the one whose
    schedule they follow, if one has a schedule of its own."""

    nodes: tuple[Node, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    anchor: Node | None = None


def show(graph: FlowGraph, fused: Sequence[Fused] | None = None) -> str:
    """The graph as a little program: constants, a line for each operator, the results.

    `fused` are its operators as they share kernels: each has one line then, and the names of the
    operators that it computes.
    """
    lines = [single(node) for node in graph.nodes] if fused is None else list(fused)
    names = name_tensors(graph, [each for line in lines for each in line.outputs])
    head = ", ".join(f"{names[each]}: {typed(each)}" for each in graph.inputs)
    text = [f"Graph({head}){{"]
    text += [f"  {names[each]} = Constant({typed(each)})" for each in graph.constants]
    text += [
        f"  # {each.symbol} = {each.tensor.shape[each.axis]}"
        + (f" at {each.place}" * bool(each.place))
        for each in graph.guards
    ]
    data_sizes: dict[Tensor, list[str]] = {}
    for size, tensor in zip(graph.data_sizes, graph.size_sources.values(), strict=True):
        equals = "" if size.equals is None else f" = {size.equals}"
        data_sizes.setdefault(tensor, []).append(f"{size.size.name}{equals}")
    for line in lines:
        text.append(f"  {described(line, names)}")
        for each in line.outputs:
            text += [f"  # {name} = {names[each]}" for name in data_sizes.get(each, ())]
        for node in line.nodes:
            text += bodies(node)
    text.append(f"  return {', '.join(names[each] for each in graph.results)}")
    return "\n".join([*text, "}"])


def single(node: Node) -> Fused:
    """An operator by itself."""
    return Fused((node,), node.inputs, node.outputs)


def described(line: Fused, names: dict[Tensor, str]) -> str:
    """An operator with its operands and attributes, or a fused one with those it computes."""
    results = ", ".join(f"{names[each]}: {typed(each)}" for each in line.outputs)
    given = [names[each] for each in line.inputs]
    if len(line.nodes) == 1:
        (node,) = line.nodes
        given = [names[each] for each in node.inputs]
        given += [f"{key}={spelled(value)}" for key, value in node.op.attributes().items()]
        return f"{results} = {type(node.op).__name__}({', '.join(given)})"
    kinds = [type(node.op).__name__ for node in line.nodes]
    given.append(f"fused_graph=FlowGraph({', '.join(kinds)})")
    if line.anchor is not None:
        given.append(f"anchor={line.nodes.index(line.anchor)}")
    return f"{results} = Fused{''.join(kinds[:NAMED])}({', '.join(given)})"


def bodies(node: Node) -> Iterator[str]:
    """The graphs that control flow runs."""
    for body in bodies_of(node.op):
        yield from (f"    {line}" for line in f"{body!r}: {show(body.graph)}".splitlines())


def name_tensors(graph: FlowGraph, made: Iterable[Tensor] | None = None) -> dict[Tensor, str]:
    """A name for each tensor: its own, or x and c counted up. `made` are those that operators give,
    if not all of them are meant."""
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
    for each in (t for node in graph.nodes for t in node.outputs) if made is None else made:
        name(each, "x")
    return names


def typed(tensor: Tensor) -> str:
    """A tensor's type and device: `float32[2, 3][cuda]`."""
    sizes = ", ".join(map(str, tensor.shape))
    return f"{tensor.dtype.name}[{sizes}][{tensor.device.removesuffix(':0')}]"
