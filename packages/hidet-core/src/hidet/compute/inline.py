"""Inlining: definitions in as few stages as their reductions, scans and scatters allow."""

from __future__ import annotations

from typing import Any

from hidet.compute.classify import has_reduction
from hidet.compute.definition import Definition
from hidet.compute.grid import At, Computed
from hidet.ir.expr import Expr
from hidet.ir.node import Node
from hidet.ir.walk import postorder, substitute


def inline(definition: Definition) -> Definition:
    """The same definition with every stage that does not reduce put into those that read it.

    What is left reads operands, or stages whose values are reductions, scans or scatters; such a
    stage stays one object, shared by all results.
    """
    done: dict[Node, Any] = {}
    for node in postorder(definition.outputs):
        done[node] = inlined(node.map_children(done.__getitem__))
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
