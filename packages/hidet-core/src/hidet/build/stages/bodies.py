"""Bodies of control flow as plans of the archive: what they are called, and the steps that run
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hidet.fusion.group import Group
from hidet.graph.body import Body, Region
from hidet.graph.tensor import Tensor
from hidet.ops.indexing.in_place import origin
from hidet.optimize.separate_outputs import memory


def regions(part: str, groups: Sequence[Group]) -> Iterator[tuple[Group, dict[str, Body]]]:
    """The groups of a plan that are control flow, and their bodies by the names of the plans that
    these become: `main.if3.then`."""
    for number, group in enumerate(groups):
        op = group.last.op
        if isinstance(op, Region):
            yield group, {f"{part}.{op.name}{number}.{k}": b for k, b in op.bodies().items()}


def updated(body: Body) -> list[Tensor | None]:
    """For each output of a body the input that it updates in place; None if it is a new tensor."""
    inputs = set(body.graph.inputs)
    found = [origin(memory(each)) for each in body.graph.results]
    return [each if each in inputs else None for each in found]
