"""Vector loops that write elements far apart take them through transposed tiles instead.

Such loops are left where a layout change is fused into a kernel: what it computes along one axis
lies along another one in memory. Each element then touches a line of the cache of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hidet.ir.algebra import simplify_expression
from hidet.ir.expr import And, Const, Expr, Load, Or, Select, Var, constant
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.linear import Terms
from hidet.ir.stmt import Assign, Body, Declare, For, If, LoopKind, Stmt, Store
from hidet.ir.walk import contains, find, rebuild_statements, replaced, substitute, variables
from hidet.passes.addresses.flatten_indices import row_major
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.loops.fresh import copied
from hidet.types import Scope, TensorType, i32

SIDE = 16
"""Elements of a tile's side: a vector of float32 at its longest."""
LEAST = 8
"""Iterations of a loop from which a tile is worth it: fewer leave most of it empty."""
MOST = 2
"""Tiles up to which a loop is rewritten: more are no longer kept near."""


@kernel_pass()
def transpose_tiles(kernel: Kernel) -> Kernel:
    """Run two loops along the axis of their results, and transpose what lies along the other one.

    before   for i in 32:  for j in vectorize(48):  y[j, i] = x[i, j] + b[j]
    after    for each tile of 16 x 16:
               tile[i, j] = x[i, j]      (vectors along j)
               tile = transposed(tile)   (four perfect shuffles)
               y[j, i] = tile[j, i] + b[j]   (vectors along i)

    On a CPU only.
    """
    if kernel.kind is not KernelKind.CPU:
        return kernel

    def changed(node: Stmt) -> Any:
        nest = nest_of(node)
        found = None if nest is None else nest.turned()
        return node if found is None else found

    return with_body(kernel, rebuild_statements(kernel.body, changed))


@dataclass(frozen=True)
class Nest:
    """A loop over vector loops, and what variables that they declare stand for."""

    outer: For
    inner: For
    values: Mapping[Var, Expr]

    def turned(self) -> Body | None:
        """The loops through tiles; None where they had better stay."""
        found = {self.store_axis(each) for each in find(self.inner.body, Store)}
        axis = found.pop() if len(found) == 1 else None
        if axis is None or self.writes_what_it_reads():
            return None
        other = self.inner.var if axis is self.outer.var else self.outer.var
        far: list[Expr] = []
        reads = list(read_by(self.inner.body))
        certain = {read for read, is_certain in reads if is_certain}
        for read in dict.fromkeys(read for read, _ in reads):
            if self.lies_along(read, other, axis):
                if read not in certain:
                    return None
                far.append(read)
            elif self.step(load_of(read), axis) not in (0, 1):
                return None
        if len(far) > MOST or (axis is self.inner.var and not far):
            return None
        return Tiles(self, axis, other, far).loops()

    def store_axis(self, store: Store) -> Var | None:
        """The axis along which neighbours are written; None if there is not one only."""
        axes = self.outer.var, self.inner.var
        first, second = (self.step(store, each) == 1 for each in axes)
        return None if first == second else axes[0] if first else axes[1]

    def lies_along(self, read: Expr, axis: Var, other: Var) -> bool:
        """Whether neighbours along one axis, and not along the other one, are read."""
        load = load_of(read)
        return self.step(load, axis) == 1 and self.step(load, other) not in (0, 1)

    def step(self, access: Load | Store, axis: Var) -> int | None:
        """How far the next element along an axis is; None if that is no fixed number."""
        of = access.tensor.type
        if not isinstance(of, TensorType) or of.layout is not None:
            return None
        index = tuple(substitute(each, self.values) for each in access.index)
        # A place that was divided into axes comes together again.
        form = Terms().form(simplify_expression(row_major(of, index)))
        others = any(axis in variables(list(each)) for each in form if each != (axis,))
        return None if others else form.get((axis,), 0)

    def writes_what_it_reads(self) -> bool:
        """Whether an iteration may read what another one has written: then their order matters."""
        written = {each.tensor for each in find(self.inner.body, Store)}
        return any(each.tensor in written for each in find(self.inner.body, Load))


@dataclass(frozen=True)
class Tiles:
    """The loops of a nest through tiles: results lie along `axis`, what is `far` along `other`."""

    nest: Nest
    axis: Var
    other: Var
    far: list[Expr]

    def loops(self) -> Body:
        """Whole tiles, and those that the ends of both loops cut."""
        loops = (self.nest.outer, self.nest.inner)
        extents = {each.var: int(each.extent.value) for each in loops}  # type: ignore[attr-defined]
        made: list[Stmt] = []
        for a, b in product(parts(extents[self.axis]), parts(extents[self.other])):
            made += self.part(a, b)
        return tuple(made)

    def part(self, a: Part, b: Part) -> Body:
        """Tiles of one size."""
        first, second = Var("tile", i32), Var("tile", i32)
        body = self.tile((first * SIDE + a.start, a.size), (second * SIDE + b.start, b.size))
        inner = For(second, constant(b.count, i32), body)
        return (For(first, constant(a.count, i32), (inner,)),)

    def tile(self, a: tuple[Expr, int], b: tuple[Expr, int]) -> Body:
        """One tile: filled along the other axis, transposed, written along this one."""
        (start, size), (begin, count) = a, b
        body: list[Stmt] = []
        known: dict[Expr, Expr] = {}
        line, lane = Var("line", i32), Var("lane", i32)
        for read in self.far:
            tile, spare = (square(read, name) for name in ("near", "spare"))
            cut = size < SIDE or count < SIDE
            body += [Declare(tile, constant(0, read.dtype) if cut else None), Declare(spare)]
            body += self.filled(tile, read, a, b)
            for number in range(SIDE.bit_length() - 1):
                pair = (tile, spare) if number % 2 == 0 else (spare, tile)
                body.append(shuffled(*pair))
            known[read] = Load(tile, (line * SIDE + lane,))
        kept = tuple(replaced(each, known) for each in self.nest.inner.body)
        here = copied(kept, {self.axis: lane + start, self.other: line + begin})
        vectors = replace(self.nest.inner, var=lane, extent=constant(size, i32), body=here)
        return (*body, For(line, constant(count, i32), (vectors,)))

    def filled(self, tile: Var, read: Expr, a: tuple[Expr, int], b: tuple[Expr, int]) -> Body:
        """Put what is read into a tile, a line for each place along the axis of results."""
        (start, size), (begin, count) = a, b
        line, lane = Var("line", i32), Var("lane", i32)
        value = substitute(substitute(read, self.nest.values),
                           {self.axis: line + start, self.other: lane + begin})  # fmt: skip
        store = Store(tile, (line * SIDE + lane,), value)
        vectors = For(lane, constant(count, i32), (store,), LoopKind.VECTOR)
        return (For(line, constant(size, i32), (vectors,)),)


@dataclass(frozen=True)
class Part:
    """`count` tiles from `start` on, of which each has `size` elements along an axis."""

    start: int
    count: int
    size: int


def parts(extent: int) -> list[Part]:
    """Whole tiles, and the rest."""
    whole, rest = divmod(extent, SIDE)
    found = [Part(0, whole, SIDE), Part(whole * SIDE, 1, rest)]
    return [each for each in found if each.count and each.size]


def square(read: Expr, name: str) -> Var:
    """The memory of a tile; what lies beyond its part is never written out."""
    return Var(name, TensorType(read.dtype, (SIDE * SIDE,), Scope.REGISTER))


def shuffled(source: Var, target: Var) -> Stmt:
    """Elements of both halves in turns. That turns the bits of a place by one: as often as a place
    in a line has bits, it is a transposition. Compilers make one permutation of each vector."""
    pair, half = Var("pair", i32), SIDE * SIDE // 2
    body = tuple(
        Store(target, (pair * 2 + side,), Load(source, (pair + side * half,))) for side in (0, 1)
    )
    return For(pair, constant(half, i32), body, LoopKind.VECTOR)


def nest_of(node: Stmt) -> Nest | None:
    """The two loops that a statement is, if both are long enough, of fixed lengths, and plain."""
    if not (isinstance(node, For) and node.kind is LoopKind.SERIAL and is_long(node)):
        return None
    *ahead, inner = node.body
    if not (isinstance(inner, For) and inner.kind is LoopKind.VECTOR and is_long(inner)):
        return None
    if ahead or not is_plain(inner.body):
        return None
    values: dict[Var, Expr] = {}
    moved = {each.var for each in find(inner.body, Assign)}
    for each in inner.body:
        if isinstance(each, Declare) and each.init is not None and each.var not in moved:
            values[each.var] = substitute(each.init, values)
    return Nest(node, inner, values)


def is_long(loop: For) -> bool:
    """Whether a loop is known to have iterations enough for a tile."""
    return isinstance(loop.extent, Const) and loop.extent.value >= LEAST


def is_plain(body: Body) -> bool:
    """Whether iterations do nothing but compute values of their own and store them."""
    own = {each.var for each in body if isinstance(each, Declare)}
    for each in body:
        match each:
            case Declare(var=var) if not isinstance(var.of, TensorType):
                pass
            case Assign(var=var) if var in own:
                pass
            case Store(value=value) if value.type is value.dtype:
                pass
            case If(then=then, otherwise=()) if all(isinstance(s, Store) for s in then):
                pass
            case _:
                return False
    return all(load.lanes == 1 for load in find(body, Load))


def read_by(body: Body) -> Iterator[tuple[Expr, bool]]:
    """What iterations read, reads that may not happen with their condition, and whether an
    iteration comes by each one in any case."""
    for each in body:
        if isinstance(each, If):
            yield from reads_in([each.condition], False)
            yield from ((read, False) for inner in each.then for read, _ in read_by((inner,)))
        else:
            yield from reads_in([e for e in each.children() if isinstance(e, Expr)], True)


def reads_in(roots: Iterable[Any], is_certain: bool) -> Iterator[tuple[Expr, bool]]:
    """The same of expressions."""
    for e in roots:
        if isinstance(e, Load) or (isinstance(e, Select) and is_guarded(e)):
            yield e, is_certain
        elif isinstance(e, Select):
            yield from reads_in([e.condition], is_certain)
            yield from reads_in([e.then, e.otherwise], False)
        elif isinstance(e, And | Or):
            yield from reads_in([e.a], is_certain)
            yield from reads_in([e.b], False)
        elif isinstance(e, Expr):
            yield from reads_in(e.children(), is_certain)


def is_guarded(choice: Select) -> bool:
    """Whether a choice is a read of an element, or a number where there is none."""
    read, otherwise = choice.then, choice.otherwise
    plain = isinstance(read, Load) and isinstance(otherwise, Const)
    return plain and not contains([choice.condition], Load)


def load_of(read: Expr) -> Load:
    """The load of what is read, guarded or not."""
    load = read.then if isinstance(read, Select) else read
    assert isinstance(load, Load)
    return load
