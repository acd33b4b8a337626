"""Inlining: definitions in as few stages as their reductions, scans and scatters allow."""

from __future__ import annotations

from typing import TypeVar

from hidet.compute.classify import has_reduction
from hidet.compute.definition import Definition
from hidet.compute.grid import At, Computed, Grid
from hidet.ir.expr import Expr
from hidet.ir.node import Node
from hidet.ir.walk import rebuild, substitute

N = TypeVar("N", bound=Node)


def inline(definition: Definition) -> Definition:
    """The same definition with every stage that does not reduce put into those that read it.

    What is left reads operands, or stages whose values are reductions, scans or scatters; such a
    stage stays one object, shared by all results.
    """
    done: dict[Grid, Grid] = {}
    changed: dict[Node, Node] = {}

    def change(node: Node) -> Node:
        if node not in changed:
            changed[node] = inlined(node)
        return changed[node]

    for each in definition.outputs:
        done[each] = rebuild(each, change)
    return Definition(definition.inputs, tuple(done[each] for each in definition.outputs))


def inlined(node: Node) -> Node:
    """An element access replaced by the element's value, if that is not a reduction."""
    match node:
        case At(grid=Computed() as producer, index=index) if not has_reduction(producer.value):
            return element(producer, index)
    return node


def element(producer: Computed, index: tuple[Expr, ...]) -> Expr:
    """The value of a grid's element at `index`."""
    return substitute(producer.value, dict(zip(producer.vars, index, strict=True)))
