"""Running combinations and scattered updates: what has to happen in order happens in one thread."""

from __future__ import annotations

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Add, Const, Expr, Get, Mul, Sub, Var, convert, wrap
from hidet.ir.stmt import Body, For, Put
from hidet.ir.walk import substitute, variables
from hidet.schedules.automatic.emit import Accumulator, joined, with_serial_reductions
from hidet.schedules.automatic.plan import ScanStage, ScatterStage, shape_of
from hidet.types import Size, i32

JOIN = {"add": "sum", "mul": "prod", "min": "min", "max": "max"}


def line_count(stage: ScanStage | ScatterStage) -> Size:
    """How many lines a stage has; lines are independent of each other."""
    if isinstance(stage, ScanStage):
        sizes = shape_of(stage.out)
        return product([size for axis, size in enumerate(sizes) if axis != stage.scan.axis])
    return product([extent for var, extent in ranges(stage) if var in independent(stage)])


def line(stage: ScanStage | ScatterStage, number: Expr) -> Body:
    """The statements that do line `number`."""
    return scan_line(stage, number) if isinstance(stage, ScanStage) else scatter_line(stage, number)


def scan_line(stage: ScanStage, number: Expr) -> Body:
    """Combine along the scanned axis."""
    shape, axis = shape_of(stage.out), stage.scan.axis
    others = [size for place, size in enumerate(shape) if place != axis]
    outer = list(unravel(number, others))
    step = Var("step", i32)
    where = (*outer[:axis], step, *outer[axis:])
    read = stage.element(where)
    total = Accumulator(Reduce((step,), (shape[axis],), read, stage.scan.how))
    body = total.take(read, step)
    body += (Put(stage.out, where, convert(total.value, stage.out.dtype)),)
    return (*total.start(), For(step, wrap(shape[axis]), body))


def scatter_line(stage: ScatterStage, number: Expr) -> Body:
    """The updates that may meet, in order: those that agree on the axes of independent updates."""
    outer = [(var, extent) for var, extent in ranges(stage) if var in independent(stage)]
    inner = [(var, extent) for var, extent in ranges(stage) if var not in independent(stage)]
    fixed = unravel(number, [extent for _, extent in outer])
    known = dict(zip((var for var, _ in outer), fixed, strict=True))
    body: Body = tuple(each for update in stage.updates for each in updated(update))
    for var, extent in reversed(inner):
        body = (For(var, wrap(extent), body),)
    return tuple(substitute(each, known) for each in body)


def updated(stage: ScatterStage) -> Body:
    """The statements of one update."""
    before, value = with_serial_reductions(stage.value, {})
    if stage.scatter.rule in JOIN:
        value = joined(JOIN[stage.scatter.rule], Get(stage.out, stage.index), value)
    return (*before, Put(stage.out, stage.index, convert(value, stage.out.dtype)))


def ranges(stage: ScatterStage) -> list[tuple[Var, int | Expr]]:
    """The variables of the updates with their extents."""
    return list(zip(stage.scatter.vars, stage.scatter.extents, strict=True))


def independent(stage: ScatterStage) -> set[Expr]:
    """The variables that an index of every target moves with: updates that differ never meet."""
    names = set(stage.scatter.vars)
    if stage.scatter.rule == "set_one":
        return {*names}
    found = ({moving(e, names) for e in each.index} for each in stage.updates)
    return {var for var in set.intersection(*found) if var is not None}


def moving(e: Expr, names: set[Var]) -> Var | None:
    """The one variable of which `e` is a multiple, moved on by something else; None if none is."""
    match e:
        case Var():
            return e
        case Add(a, b) | Sub(a, b) if not names & set(variables(b)):
            return moving(a, names)
        case Add(a, b) if not names & set(variables(a)):
            return moving(b, names)
        case Mul(a, Const(int(factor))) | Mul(Const(int(factor)), a) if factor:
            return moving(a, names)
    return None
