"""A definition as stages: which grids are computed into memory, and which only where they are used.

A stage is one kernel. Its value is an expression over elements of operands and workspaces and over
reductions; every grid that is not materialised has been substituted into it. Because expressions
are interned, a reduction that several places share (the maximum in a softmax) is one object, which
the kernel computes once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from hidet.compute import ArgReduce, At, Computed, Grid, Input, Reduce, Scan, Scatter
from hidet.compute.classify import elements_read
from hidet.compute.sizes import same_shape
from hidet.ir.expr import Expr, Get, Math, Var
from hidet.ir.order import producers_first
from hidet.ir.walk import contains, find, substitute, variables
from hidet.schedules.automatic.expand import Expansion
from hidet.types import Size, TensorType, i32

LONE_ROW = 1 << 16
"""Elements one block may work on alone, in a row that shares a reduction."""

LONE_COLUMN = 256
"""Elements of a column that reads itself again, up to which one kernel is no slower than two, whose
first one spreads each column over blocks: so measured on an H200."""


@dataclass(frozen=True)
class MapStage:
    """`out` at `index` is `value`: operands appear as Get, reductions as Reduce or ArgReduce."""

    out: Var
    vars: tuple[Var, ...]
    value: Expr
    also: tuple[tuple[Var, Expr], ...] = ()
    """Other results of the same shape, with their values at the same index."""
    sizes: tuple[Size, ...] | None = None
    """The extents of the variables, if not the axes of `out`."""
    place: tuple[Expr, ...] | None = None
    """Where in `out` an element goes, if not at the variables themselves."""

    @property
    def shape(self) -> tuple[Size, ...]:
        """The extent of each variable."""
        return shape_of(self.out) if self.sizes is None else self.sizes

    @property
    def index(self) -> tuple[Expr, ...]:
        """The place of an element."""
        return self.vars if self.place is None else self.place


@dataclass(frozen=True)
class ScanStage:
    """`out` is the running combination of `value`, given at `vars`, along the axis of `scan`."""

    out: Var
    vars: tuple[Var, ...]
    value: Expr
    scan: Scan

    def element(self, index: Sequence[Expr]) -> Expr:
        """The element that enters at `index`."""
        return substitute(self.value, dict(zip(self.vars, index, strict=True)))


@dataclass(frozen=True)
class ScatterStage:
    """`out`, already holding the base, is updated at `index` with `value` for each of `vars`."""

    out: Var
    scatter: Scatter
    index: tuple[Expr, ...]
    value: Expr
    also: tuple[ScatterStage, ...] = ()
    """Updates of other tensors for the same `vars`."""

    @property
    def updates(self) -> tuple[ScatterStage, ...]:
        """All of them."""
        return (replace(self, also=()), *self.also)


@dataclass(frozen=True)
class PieceStage:
    """Rows at `vars`, in pieces of `length`, each seen from its own centre (see `pivot.py`): the
    reduction that tells the centre goes to `centres`, the sum about it to `totals`, what is summed
    to `summed`."""

    vars: tuple[Var, ...]
    sizes: tuple[Size, ...]
    length: int
    first: Reduce
    total: Reduce
    centres: Var
    totals: Var
    summed: Var

    @property
    def outs(self) -> tuple[Var, ...]:
        """The tensors that it writes."""
        return self.centres, self.totals, self.summed


Stage = MapStage | ScanStage | ScatterStage | PieceStage


def tensors_of(stage: Stage) -> set[Var]:
    """The tensors that a stage reads."""
    match stage:
        case MapStage():
            return {each.tensor for each in find([stage.value, *(e for _, e in stage.also)], Get)}
        case ScanStage(value=value):
            return {each.tensor for each in find([value], Get)}
        case PieceStage(total=total):
            return {each.tensor for each in find([total], Get)}
    read = [e for each in stage.updates for e in (*each.index, each.value)]
    return {*(each.out for each in stage.updates), *(each.tensor for each in find(read, Get))}


def shape_of(tensor: Var) -> tuple[Size, ...]:
    """The shape of a tensor variable."""
    assert isinstance(tensor.of, TensorType)
    return tensor.of.shape


@dataclass(frozen=True)
class Use:
    """A place where a grid's element is read: its index, and the loops around it."""

    index: tuple[Expr, ...]
    loops: tuple[Var, ...]
    reduced: tuple[Var, ...]

    @property
    def repeats(self) -> bool:
        """Whether the same element is read again in another iteration of the loops around."""
        return bool(set(self.loops) - set(variables(self.index)))

    @property
    def sums_over(self) -> bool:
        """Whether a reduction around reads several elements."""
        return bool(set(self.reduced) & set(variables(self.index)))


@dataclass
class Plan:
    """The stages of a definition, and the tensors between them."""

    inputs: list[Var]
    outputs: list[Var]
    workspaces: list[Var] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)


def plan(inputs: list[Input], outputs: list[Grid]) -> Plan:
    """The stages that compute `outputs` from `inputs`."""
    return Planner(inputs, outputs).run()


class Planner:
    """Decides what is materialised and writes the stages, producers first."""

    def __init__(self, inputs: list[Input], outputs: list[Grid]) -> None:
        self.outputs = outputs
        self.tensors: dict[Grid, Var] = {each: Var(each.name, each.type) for each in inputs}
        self.read = Expansion(self.tensors)
        self.plan = Plan([self.tensors[each] for each in inputs], [])
        self.order = topological(outputs)
        self.uses = uses(self.order)

    def run(self) -> Plan:
        """All stages."""
        for position, grid in enumerate(self.outputs):
            self.plan.outputs.append(Var(f"out{position}", TensorType(grid.dtype, grid.shape)))
        for grid in self.order:
            if grid not in self.tensors and self.materialised(grid):
                self.compute(grid, self.place(grid))
        for out, grid in zip(self.plan.outputs, self.outputs, strict=True):
            if self.tensors.get(grid) is not out:
                self.compute(grid, out)
        self.join_outputs()
        self.join_updates()
        return self.plan

    def join_outputs(self) -> None:
        """Let one stage write results of one shape, of which one has all that the others reduce."""
        stages, outputs = self.plan.stages, set(self.plan.outputs)
        last = next((each for each in reversed(stages) if isinstance(each, MapStage)), None)
        if last is None or last is not stages[-1] or last.out not in outputs:
            return
        known = set(reductions(last.value))
        for stage in list(stages[:-1]):
            if not isinstance(stage, MapStage) or stage.out not in outputs:
                continue
            read = {var for each in stages if each is not stage for var in tensors_of(each)}
            value = substitute(stage.value, dict(zip(stage.vars, last.vars, strict=False)))
            alike = same_shape(stage.shape, last.shape) and set(reductions(value)) <= known
            if alike and stage.out not in read:
                stages.remove(stage)
                last = replace(last, also=(*last.also, (stage.out, value)))
        stages[-1] = last

    def join_updates(self) -> None:
        """Let one stage do updates in place that are as many, and of which none reads another."""
        joined: list[Stage] = []
        for stage in self.plan.stages:
            match joined[-1:], stage:
                case [ScatterStage() as host], ScatterStage() if beside(host, stage):
                    known = dict(zip(stage.scatter.vars, host.scatter.vars, strict=True))
                    index = tuple(substitute(each, known) for each in stage.index)
                    new = replace(stage, index=index, value=substitute(stage.value, known))
                    joined[-1] = replace(host, also=(*host.also, new))
                case _:
                    joined.append(stage)
        self.plan.stages[:] = joined

    def place(self, grid: Grid) -> Var:
        """The tensor a materialised grid goes to: the output it is, or a new workspace."""
        if grid in self.outputs:
            return self.plan.outputs[self.outputs.index(grid)]
        workspace = Var(
            grid.name or f"t{len(self.plan.workspaces)}", TensorType(grid.dtype, grid.shape)
        )
        self.plan.workspaces.append(workspace)
        return workspace

    def compute(self, grid: Grid, out: Var) -> None:
        """Append the stages that fill `out` with `grid`."""
        stages = self.plan.stages
        match grid:
            case Computed(vars=names):
                stages.append(MapStage(out, names, self.read.of(grid)))
            case Scan(source=source):
                names = tuple(Var(f"i{axis}", i32) for axis in range(grid.source.ndim))
                stages.append(ScanStage(out, names, self.read.element(source, names), grid))
            case Scatter(base=base, index=index, value=value):
                names = tuple(Var(f"i{axis}", i32) for axis in range(base.ndim))
                if not grid.in_place:
                    stages.append(MapStage(out, names, self.read.element(base, names)))
                spots = tuple(self.read.value(each) for each in index)
                stages.append(ScatterStage(out, grid, spots, self.read.value(value)))
            case Input():
                names = tuple(Var(f"i{axis}", i32) for axis in range(grid.ndim))
                stages.append(MapStage(out, names, self.read.element(grid, names)))
        self.tensors.setdefault(grid, out)

    def materialised(self, grid: Grid) -> bool:
        """Whether `grid` is computed into memory, rather than wherever it is used."""
        if not isinstance(grid, Computed):
            return True
        places = self.uses.get(grid, [])
        value = self.read.of(grid)
        reduces = list(reductions(value))
        scanned = any(isinstance(user, Scan) and user.source is grid for user in self.order)
        if scanned and (reduces or contains(value, Math)):
            return True
        if not reduces and not contains(value, Math):
            return False
        if any(use.repeats and (use.sums_over or (use.reduced and not reduces)) for use in places):
            return True
        if any(self.rows(grid, use).intersection(use.reduced) for use in places):
            return True  # each iteration of a reduction would need reductions of its own
        again = len(places) > 1 or any(use.repeats for use in places)
        return bool(reduces) and again and not all(self.hoistable(grid, use) for use in places)

    def hoistable(self, grid: Computed, use: Use) -> bool:
        """Whether a use's reductions depend on whole rows of the user only, so that each row of
        the user computes them once."""
        inner = set(use.loops) - self.rows(grid, use) - set(use.reduced)
        if not inner:
            return True
        heavy = self.heavy(grid)
        sizes = [size for axis, size in enumerate(grid.shape) if grid.vars[axis] in heavy]
        rows = prod(size for size in sizes if isinstance(size, int))
        return rows >= 64 or elements(self.read.of(grid)) <= LONE_ROW

    def heavy(self, grid: Computed) -> set[Var]:
        """The variables of a grid's index that its reductions depend on."""
        return {var for each in reductions(self.read.of(grid)) for var in variables(each)}

    def rows(self, grid: Computed, use: Use) -> set[Var]:
        """The variables around a use that a grid's reductions depend on there."""
        heavy = self.heavy(grid)
        index = [e for var, e in zip(grid.vars, use.index, strict=True) if var in heavy]
        return set(variables(index))


def beside(first: ScatterStage, second: ScatterStage) -> bool:
    """Whether one kernel can do two updates at once: of tensors that both lie in memory."""
    one, other = first.scatter, second.scatter
    plain = all(each.in_place and isinstance(each.base, Input) for each in (one, other))
    apart = first.out not in tensors_of(second) and second.out not in tensors_of(first)
    return plain and apart and one.rule == other.rule and same_shape(one.extents, other.extents)


def elements(value: Expr) -> int:
    """How many values the largest reduction in `value` combines; unknown sizes count as 1."""
    counts = [
        prod(size for size in each.extents if isinstance(size, int)) for each in reductions(value)
    ]
    return max(counts, default=1)


def reductions(value: Expr) -> Iterator[Reduce | ArgReduce]:
    """The reductions in a value, inner ones first."""
    return (each for each in find(value, Expr) if isinstance(each, Reduce | ArgReduce))


def row_kinds(stage: Stage) -> set[frozenset[Var]]:
    """The variables of a stage that its reductions depend on: one set if all are of one row."""
    if not isinstance(stage, MapStage):
        return set()
    own = set(stage.vars)
    values = (stage.value, *(value for _, value in stage.also))
    return {
        frozenset(own.intersection(variables(each)))
        for value in values
        for each in reductions(value)
    }


def has_long_columns(stage: Stage) -> bool:
    """Whether a stage reduces long columns: neighbours of its result are not of one reduction."""
    if not isinstance(stage, MapStage) or not stage.vars:
        return False
    columns = any(stage.vars[-1] in kind for kind in row_kinds(stage))
    return columns and stage.shape[-1] != 1 and elements(stage.value) > LONE_COLUMN


def producers(grid: Grid) -> list[Grid]:
    """The grids that `grid` reads."""
    match grid:
        case Computed(value=value):
            return list(dict.fromkeys(at.grid for at in elements_read(value)))
        case Scan(source=source):
            return [source]
        case Scatter(base=base, index=index, value=value):
            read = [at.grid for e in (*index, value) for at in elements_read(e)]
            return list(dict.fromkeys([base, *read]))
    return []


def topological(outputs: list[Grid]) -> list[Grid]:
    """All grids of a definition, producers first."""
    return producers_first(outputs, producers)


def uses(order: list[Grid]) -> dict[Grid, list[Use]]:
    """Where each grid's elements are read."""
    found: dict[Grid, list[Use]] = {}

    seen: set[tuple[Expr, tuple[Var, ...]]] = set()

    def visit(e: Expr, loops: tuple[Var, ...], reduced: tuple[Var, ...]) -> None:
        if (e, loops) in seen:
            return
        seen.add((e, loops))
        if isinstance(e, Reduce | ArgReduce):
            looped = looping(e.vars, e.extents)
            visit(e.value, loops + looped, reduced + looped)
            return
        if isinstance(e, At):
            use = Use(e.index, loops, reduced)
            if use not in found.setdefault(e.grid, []):
                found[e.grid].append(use)
            children: list[Expr] = list(e.index)
        else:
            children = [each for each in e.children() if isinstance(each, Expr)]
        for child in children:
            visit(child, loops, reduced)

    for grid in order:
        match grid:
            case Computed(vars=names, shape=shape, value=value):
                visit(value, looping(names, shape), ())
            case Scatter(vars=names, extents=extents, index=index, value=value):
                for e in (*index, value):
                    visit(e, looping(names, extents), ())
    return found


def looping(names: tuple[Var, ...], extents: tuple[Size, ...]) -> tuple[Var, ...]:
    """The variables of loops with more than one iteration."""
    return tuple(var for var, size in zip(names, extents, strict=True) if size != 1)
