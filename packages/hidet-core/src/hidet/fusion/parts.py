"""Operands that are parts of what lies in memory: they can be copied from there as they are."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from hidet.compute import At, Computed, Input
from hidet.compute.sizes import possible, same
from hidet.compute.strides import StridedView, seen_through
from hidet.fusion.compose import compose, leading_to, operands
from hidet.fusion.group import Group
from hidet.fusion.moves import straight_reads
from hidet.graph.tensor import Tensor
from hidet.ir.bounds import range_of
from hidet.ir.expr import Expr
from hidet.ir.walk import substitute, variables
from hidet.types import Size, i32
from hidet.types.tensor_map import ALIGNMENT

COMPUTED = "it is computed, not read"
SCATTERED = "no strides say where its elements lie"


@dataclass(frozen=True)
class Part:
    """A tensor whose element at `grid.vars` is that of `source` at `index`, unchanged."""

    grid: Computed
    source: Input
    index: tuple[Expr, ...]

    def read(self, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The index in the source of the element at an index."""
        names = dict(zip(self.grid.vars, at, strict=True))
        return tuple(substitute(e, names) for e in self.index)


def part_of(group: Group, tensor: Tensor) -> Part | None:
    """What a group computes for a tensor as a part of one of its inputs; None if it is none."""
    chain = leading_to([tensor], group.nodes)
    made = {each for node in chain for each in node.outputs}
    sources = [each for node in chain for each in node.inputs if each not in made]
    if len(set(sources)) != 1:
        return None
    inputs = operands(sources[:1])
    grid = compose(chain, inputs)[tensor]
    (source,) = inputs.values()
    if not isinstance(grid, Computed):
        return None
    reads = straight_reads(grid, source)
    if reads is None or len(reads) != 1 or not is_element(grid, source):
        return None
    return Part(grid, source, *reads)


def is_element(grid: Computed, source: Input) -> bool:
    """Whether a grid's value is an element of `source`, unchanged, through grids between."""
    value = grid.value
    while isinstance(value, At) and isinstance(value.grid, Computed):
        value = value.grid.value
    return isinstance(value, At) and value.grid is source


def is_in_runs(group: Group, tensor: Tensor, run: int) -> bool:
    """Whether every element that a group computes for `tensor` is one of an input's, and neighbours
    in a row, `run` of them from a multiple of `run` on, are neighbours there, from one on too.

    Of rows that `run` does not divide, it is the largest common divisor that counts.
    """
    length = tensor.shape[-1] if tensor.shape else None
    found = part_of(group, tensor) if isinstance(length, int) else None
    return found is not None and isinstance(length, int) and keeps_runs(found, gcd(run, length))


def keeps_runs(part: Part, run: int) -> bool:
    """Whether the last axes run along each other, a multiple of `run` apart in whole rows."""
    *outer, last = part.index
    along = part.grid.vars[-1]
    size = part.source.shape[-1]
    shift = range_of(last - along)
    return (
        isinstance(size, int)
        and size % run == 0
        and shift.single is not None
        and shift.single % run == 0
        and not any(along in variables(e) for e in outer)
    )


def unmapped(group: Group, tensor: Tensor, view: StridedView) -> str:
    """Why no tensor map of a group's input sees what the group computes for `tensor` as `view` sees
    that in memory of its own; nothing if one does."""
    part = part_of(group, tensor)
    if part is None:
        return COMPUTED
    found = seen_through(view, part.grid.shape, part.source.shape, part.read)
    return SCATTERED if found is None else obstacle(found, tensor.type.dtype.nbytes)


def obstacle(view: StridedView, nbytes: int) -> str:
    """Why a tensor map cannot describe a view of elements of so many bytes; nothing if it can.

    Rows and boxes begin at multiples of 16 bytes. PTX ISA, "Tensors".
    """
    *outer, last = view.strides
    if not same(last, 1):
        return "its rows are not neighbours in memory"
    if any(same(stride, 0) for size, stride in zip(view.shape, outer, strict=False) if size != 1):
        return "its elements are repeated along an axis"
    if not all(is_even(stride, nbytes) for stride in outer):
        return f"its rows do not lie multiples of {ALIGNMENT} bytes apart"
    if not is_even(view.offset, nbytes):
        return f"it does not begin at a multiple of {ALIGNMENT} bytes"
    far = isinstance(view.offset, int) and view.offset > i32.limits[1]
    return "it begins farther in than positions count" if far else ""


def is_even(size: Size, nbytes: int) -> bool:
    """Whether so many elements, none or more, take a multiple of 16 bytes."""
    if isinstance(size, int):
        return size >= 0 and size * nbytes % ALIGNMENT == 0
    found = possible(size)
    return found.least >= 0 and gcd(found.divisor, found.remainder) * nbytes % ALIGNMENT == 0
