"""A graph as text that depends on what it computes alone: what keys and equality of graphs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph


def canonical(graph: FlowGraph) -> list[str]:
    """A graph as text that depends on what it computes, not on names or values."""
    numbers = {tensor: f"i{i}" for i, tensor in enumerate(graph.inputs)}
    numbers |= {tensor: f"c{i}" for i, tensor in enumerate(graph.constants)}
    lines = [f"{number}: {tensor.type} {tensor.device}" for tensor, number in numbers.items()]
    for node in graph.nodes:
        read = [numbers[each] for each in node.inputs]
        for each in node.outputs:
            numbers[each] = f"t{len(numbers)}"
        made = [f"{numbers[each]}: {each.type}" for each in node.outputs]
        lines.append(f"{made} = {node.op!r} {read}")
    lines.append(str([numbers[each] for each in graph.outputs]))
    for data_sizes in graph.data_sizes:
        lines.append(f"{data_sizes.size.name} in {data_sizes.limits}, {data_sizes.equals}")
        lines += [f"{one.left} {one.sign} {one.right}" for one in data_sizes.holds]
    return lines
