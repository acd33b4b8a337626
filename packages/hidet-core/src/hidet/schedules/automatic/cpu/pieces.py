"""Softmax of long rows on CPU, in pieces that a cache holds: each power is computed once.

A piece sees its values from its own maximum a and keeps exp(x - a). Once the greatest b of the row
is known, all of a piece moves there by one factor, exp(a - b) over the sum (see `pivot.py`). So x
is read from memory once, and the pieces of one row are work for several threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Div, Expr, Get, Math, Sub, Var, constant
from hidet.ir.stmt import Body, Declare, Put, Stmt
from hidet.ir.walk import find, replaced, substitute
from hidet.schedules.automatic.access import constant_size
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import greater, join_of, lanes_of
from hidet.schedules.automatic.cpu.rows import row_reduce
from hidet.schedules.automatic.emit import free
from hidet.schedules.automatic.pivot import Powers, pivot_of
from hidet.schedules.automatic.plan import MapStage, PieceStage, Plan, Stage, reductions, tensors_of
from hidet.types import Size, TensorType, i32

PIECE = 1 << 13
"""Elements of a piece: what a cache holds twice."""
MOST = 1 << 19
"""Powers that are kept: more go through memory, which takes as long as computing them again."""
ROUND = 64
"""What the length of a piece is a multiple of: whole vectors of accumulators."""


def in_pieces(plan: Plan) -> Plan:
    """The plan with every such softmax in three stages."""
    stages: list[Stage] = []
    workspaces = list(plan.workspaces)
    for stage in plan.stages:
        found = softmax_of(stage, plan) if isinstance(stage, MapStage) else None
        if found is None:
            stages.append(stage)
            continue
        made = found.stages()
        workspaces += [*made[0].outs, made[1].out]
        stages += made
    return plan if len(stages) == len(plan.stages) else without_unread(plan, workspaces, stages)


def pieces(stage: PieceStage) -> Body:
    """Whole pieces of all rows over the threads, and what is left of each row."""
    whole, left = divmod(constant_size(stage.total.extents[0]) or 0, stage.length)
    made = [some_pieces(stage, 0, whole, stage.length)] if whole else []
    return (*made, some_pieces(stage, whole, 1, left)) if left else tuple(made)


def some_pieces(stage: PieceStage, number: int, count: int, length: int) -> Stmt:
    """So many pieces of each row, of `length` elements each, from one `number` on."""
    iteration, centre = Var("piece", i32), Var("centre", stage.first.dtype)
    *row, last = unravel(iteration, (*stage.sizes, count))
    piece = last + number
    start = piece * stage.length
    index: dict[Var, Expr] = dict(zip(stage.vars, row, strict=True))
    pivot = pivot_of(stage.total)
    assert pivot is not None

    def of_piece(reduce: Reduce, value: Expr) -> Reduce:
        (var,) = reduce.vars
        return replace(reduce, extents=(length,), value=substitute(value, {var: start + var}))

    def keep(place: Expr, element: Expr) -> Stmt:
        return Put(stage.summed, (*row, start + place), element)

    first = of_piece(stage.first, stage.first.value)
    greatest, found = row_reduce(first, index, {}, "0", greater)
    total = of_piece(stage.total, pivot.flushed(pivot.about(centre)))
    added, result = row_reduce(total, index, {}, "1", join_of(total), keep)
    body = (
        *greatest,
        Declare(centre, pivot.usable(found)),
        *added,
        Put(stage.centres, (*row, piece), found),
        Put(stage.totals, (*row, piece), result),
    )
    return loop(iteration, product((*stage.sizes, count)), 2 * length, body)


@dataclass(frozen=True)
class Softmax:
    """A stage that is `value`, in which `quotient` is a power over the sum that `pivot` is of."""

    stage: MapStage
    value: Expr
    quotient: Div
    pivot: Powers

    def is_long(self) -> bool:
        """Whether rows are longer than a piece, and all powers are few enough to be kept."""
        total, shape = self.pivot.total, [constant_size(each) or 0 for each in self.stage.shape]
        rows = total.extents == self.stage.shape[-1:] and lanes_of(total) is not None
        return rows and shape[-1] > PIECE and 0 < prod(shape) <= MOST

    def is_all(self) -> bool:
        """Whether the rows' last axis is what is summed, and nothing else of a row is asked for."""
        total, last = self.pivot.total, self.stage.vars[-1]
        power = substitute(total.value, {total.vars[0]: last})
        rest = replaced(self.value, {self.quotient: constant(1, total.dtype)})
        plain = next(reductions(rest), None) is None
        return plain and power is self.quotient.a and last not in free(total)

    def stages(self) -> tuple[PieceStage, MapStage, MapStage]:
        """What pieces come to, the factor of each, and the elements."""
        *rows, last = self.stage.vars
        *sizes, size = self.stage.shape
        extent = constant_size(size) or 0
        count = -(-extent // PIECE)
        length = -(-extent // (count * ROUND)) * ROUND
        shape = (*sizes, -(-extent // length))
        of = self.pivot.total.dtype
        centres, totals, factors = (
            Var(name, TensorType(of, shape)) for name in ("centres", "totals", "factors")
        )
        powers = Var("powers", TensorType(of, self.stage.shape))
        piece, inside = Var("piece", i32), Var("inside", i32)
        place = piece * length + inside
        moved = Get(powers, (*rows, last)) * Get(factors, (*rows, piece))
        value = substitute(replaced(self.value, {self.quotient: moved}), {last: place})
        return (
            PieceStage(tuple(rows), tuple(sizes), length, self.pivot.first, self.pivot.total,
                       centres, totals, powers),
            MapStage(factors, (*rows, piece), factor(self.pivot, centres, totals, (*rows, piece))),
            MapStage(self.stage.out, (*rows, piece, inside), value,
                     sizes=(*shape, length), place=(*rows, place)),
        )  # fmt: skip


def factor(pivot: Powers, centres: Var, totals: Var, index: tuple[Expr, ...]) -> Expr:
    """What moves powers of one piece to the centre of all, over the sum of all."""
    *row, _ = index
    assert isinstance(centres.of, TensorType)
    extents: tuple[Size, ...] = centres.of.shape[-1:]
    other, one = Var("other", i32), constant(1, pivot.total.dtype)
    here, total = Get(centres, (*row, other)), Get(totals, (*row, other))
    greatest = Reduce((other,), extents, here, pivot.first.how)
    sums = Reduce((other,), extents, pivot.moved(total, here, greatest, one), "sum")
    return Div(pivot.moved(one, Get(centres, index), greatest, one), sums)


def softmax_of(stage: MapStage, plan: Plan) -> Softmax | None:
    """The stage as a softmax along its last axis that had better be done in pieces."""
    for quotient in find(stage.value, Div):
        match quotient:
            case Div(Math("exp", (Sub(_, first),)), total) if not stage.also:
                known = computed(plan, first, total)
                whole, value = replaced(quotient, known), replaced(stage.value, known)
                pivot = pivot_of(whole.b)
                found = Softmax(stage, value, whole, pivot) if isinstance(pivot, Powers) else None
                if found is not None and found.is_long() and found.is_all():
                    return found
    return None


def computed(plan: Plan, *values: Expr) -> dict[Expr, Expr]:
    """What values are computed from, where they are read from workspaces."""
    made = {e.out: e for e in plan.stages if isinstance(e, MapStage) and e.out in plan.workspaces}
    known: dict[Expr, Expr] = {}
    for read in values:
        stage = made.get(read.tensor) if isinstance(read, Get) else None
        if isinstance(read, Get) and stage is not None:
            here = dict(zip(stage.vars, read.index, strict=True))
            known[read] = replaced(substitute(stage.value, here), known)
    return known


def without_unread(plan: Plan, workspaces: list[Var], stages: list[Stage]) -> Plan:
    """The plan of these stages but for those that fill workspaces which nobody reads any more."""
    while True:
        read = {tensor for each in stages for tensor in tensors_of(each)}
        kept = [e for e in stages if not isinstance(e, MapStage) or e.out in {*read, *plan.outputs}]
        if len(kept) == len(stages):
            filled = [each for each in workspaces if each in read]
            return Plan(plan.inputs, plan.outputs, filled, stages)
        stages = kept
