"""Operands that are parts of what lies in memory: they can be copied from there as they are."""

from __future__ import annotations

from math import gcd

from hidet.compute import At, Computed, Input
from hidet.fusion.compose import compose, leading_to, operands
from hidet.fusion.group import Group
from hidet.fusion.moves import straight_reads
from hidet.graph.tensor import Tensor
from hidet.ir.bounds import range_of
from hidet.ir.expr import Expr
from hidet.ir.walk import variables


def is_part(group: Group, tensor: Tensor, run: int) -> bool:
    """Whether every element that a group computes for `tensor` is one of an input's, and neighbours
    in a row, `run` of them from a multiple of `run` on, are neighbours there, from one on too.

    Of rows that `run` does not divide, it is the largest common divisor that counts.
    """
    chain = leading_to([tensor], group.nodes)
    made = {each for node in chain for each in node.outputs}
    sources = [each for node in chain for each in node.inputs if each not in made]
    length = tensor.shape[-1] if tensor.shape else None
    if len(set(sources)) != 1 or not isinstance(length, int):
        return False
    inputs = operands(sources[:1])
    grid = compose(chain, inputs)[tensor]
    (source,) = inputs.values()
    if not isinstance(grid, Computed):
        return False
    reads = straight_reads(grid, source)
    if reads is None or len(reads) != 1 or not is_element(grid, source):
        return False
    (index,) = reads
    return keeps_runs(index, source, grid, gcd(run, length))


def is_element(grid: Computed, source: Input) -> bool:
    """Whether a grid's value is an element of `source`, unchanged, through grids between."""
    value = grid.value
    while isinstance(value, At) and isinstance(value.grid, Computed):
        value = value.grid.value
    return isinstance(value, At) and value.grid is source


def keeps_runs(index: tuple[Expr, ...], source: Input, grid: Computed, run: int) -> bool:
    """Whether the last axes run along each other, a multiple of `run` apart in whole rows."""
    *outer, last = index
    along = grid.vars[-1]
    size = source.shape[-1]
    shift = range_of(last - along)
    return (
        isinstance(size, int)
        and size % run == 0
        and shift.single is not None
        and shift.single % run == 0
        and not any(along in variables(e) for e in outer)
    )
