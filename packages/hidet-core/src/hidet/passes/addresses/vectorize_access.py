"""Loops whose iterations are vector lanes move their data in vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hidet.ir.algebra import Algebra
from hidet.ir.bounds import Bounds
from hidet.ir.expr import (
    Address,
    And,
    Const,
    Expr,
    Lane,
    Load,
    Or,
    Pack,
    Select,
    Splat,
    Var,
    constant,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.linear import Form, add
from hidet.ir.stmt import (
    Assign,
    Body,
    Declare,
    For,
    If,
    Invoke,
    LoopKind,
    Stmt,
    Store,
)
from hidet.ir.walk import contains, find, replaced
from hidet.passes.addresses.lanes import Lanes, Path, condition_of, guarded, ways_to
from hidet.passes.arithmetic.simplify import jumps
from hidet.passes.base import kernel_pass
from hidet.passes.loops.fresh import copied
from hidet.passes.scopes import Scoped, assigned
from hidet.types import PointerType, Scope, TensorType, VectorType, i32

WIDEST = 16  # bytes of the widest access
MOST_LANES = 16  # iterations written out at once
LATER = "store_async"  # what becomes copies beside the thread
SMALLEST_COPY = 4  # bytes of the smallest of them


@kernel_pass()
def vectorize_access(kernel: Kernel) -> Kernel:
    """Turn loops marked VECTOR into vector loads, scalar arithmetic on lanes and vector
    stores.

    before   for v in 4:  y[i * 4 + v] = x[i * 4 + v] + b[i]   # vector
    after    w = x[i * 4:4];  s = b[i];  y[i * 4:4] = <w.0 + s, w.1 + s, w.2 + s, w.3 + s>

    An access is widened where its flat indices are certainly neighbours, in whatever order, and the
    first one is a multiple of the lanes; pointers and shared arrays are taken to start at a
    multiple of 16 bytes. What is not is written out iteration by iteration. On the CPU vector
    loops stay for the C++ compiler.
    """
    return kernel if kernel.kind is KernelKind.CPU else Vectorization(kernel).run()


class Vectorization(Scoped):
    """The rewriting. The iterations of a vector loop are independent: statements may go lane by
    lane."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.algebra = Algebra(self.bounds)
        self.changed = assigned(kernel)

    def loop(self, s: For) -> Iterable[Stmt]:
        """A vector loop, in chunks of at most 16 iterations; other loops as they are."""
        if s.kind is not LoopKind.VECTOR:
            return super().loop(s)
        count = int(s.extent.value) if isinstance(s.extent, Const) else 0
        if jumps(s.body) or count == 0:
            return super().loop(replace(s, kind=LoopKind.SERIAL))
        if count <= MOST_LANES:
            return self.lanes(s, count)
        chunk = next(n for n in (16, 8, 4, 2, 1) if count % n == 0)
        if chunk == 1:
            return super().loop(replace(s, kind=LoopKind.SERIAL))
        return super().loop(chunked(s, count, chunk))

    def lanes(self, s: For, count: int) -> Body:
        """The statements of a vector loop, each for all lanes before the next."""
        lanes = Lanes(s.var, count)
        return self.spread(s.body, lanes)

    def spread(self, body: Body, lanes: Lanes) -> Body:
        """Each statement of `body` for all lanes."""
        outside = self.bounds
        out: list[Stmt] = []
        for s in body:
            for new in self.each_lane(s, lanes):
                out.append(new)
                self.after(new)
        self.bounds = outside
        return tuple(out)

    def each_lane(self, s: Stmt, lanes: Lanes) -> Body:
        """One statement for all lanes."""
        match s:
            case Declare(var, Expr() as init, place) if not isinstance(var.of, TensorType):
                before, values = self.values(init, lanes)
                if var not in self.changed and not lanes.depends(init):
                    return (*before, Declare(var, values[0], place))
                own = lanes.declare(var)
                made = zip(own, values, strict=True)
                return (*before, *(Declare(v, value, place) for v, value in made))
            case Declare(var, None, place) if not isinstance(var.of, TensorType):
                return tuple(Declare(own, None, place) for own in lanes.declare(var))
            case Assign(var, value, place):
                before, values = self.values(value, lanes)
                targets = lanes.names(var)
                made = zip(targets, values, strict=True)
                return (*before, *(Assign(v, new, place) for v, new in made))
            case Store():
                return self.stores(s, lanes)
            case Invoke(name, (Address(tensor, index), value)) if name == LATER:
                copies = self.copies(s, lanes)
                return copies or self.stores(Store(tensor, index, value, s.place), lanes)
            case If(condition):
                if self.uniform(condition, lanes):
                    return self.branches(s, lanes)
            case For(var, extent, inner, kind, place) if not lanes.depends(extent):
                if kind is not LoopKind.VECTOR and not jumps(inner):
                    outside = self.bounds
                    self.bounds = outside.count(var, extent)
                    new = self.spread(inner, lanes)
                    self.bounds = outside
                    return (For(var, extent, new, kind, place),)
        return tuple(new for at in range(lanes.count) for new in copied((s,), lanes.at(at)))

    def branches(self, s: If, lanes: Lanes) -> Body:
        """An if that all lanes take alike."""
        condition = lanes.in_lane(s.condition, 0)
        before, (first, *_) = self.values(s.condition, lanes)
        outside = self.bounds
        self.bounds = outside.assume(condition)
        then = self.spread(s.then, lanes)
        self.bounds = outside.assume(condition, False)
        otherwise = self.spread(s.otherwise, lanes)
        self.bounds = outside
        return (*before, If(first, then, otherwise, s.place))

    # ---- values -------------------------------------------------------------------------------

    def values(self, e: Expr, lanes: Lanes) -> tuple[list[Stmt], list[Expr]]:
        """Statements that load what `e` reads, and the value of `e` in each lane after them."""
        before: list[Stmt] = []
        loaded: dict[Expr, list[Expr]] = {}
        alike: dict[Expr, Expr] = {}  # loads that have one value for all lanes, and this value
        or_zero = {s.then: s for s in find(e, Select) if s.otherwise is constant(0, s.dtype)}
        for load, ways in ways_to(e).items():
            if load.lanes != 1:
                continue
            place = replace(load, index=tuple(replaced(each, alike) for each in load.index))
            paths = [tuple((replaced(c, alike), holds) for c, holds in path) for path in ways]
            asked = {c for path in paths for c, _ in path}
            if contains(place.index, Load) or not all(self.uniform(c, lanes) for c in asked):
                continue
            found = self.load(place, paths, lanes, before)
            if found:
                loaded[load] = found
                held = or_zero.get(load)
                if held is not None and all((held.condition, True) in path for path in ways):
                    loaded[held] = found  # zero already where the condition does not hold
                if not lanes.depends(load):
                    alike[load] = found[0]
        return before, [lanes.in_lane(e, at, loaded) for at in range(lanes.count)]

    def load(
        self, load: Load, ways: Sequence[Path], lanes: Lanes, before: list[Stmt]
    ) -> list[Expr] | None:
        """The value of a load in each lane, after statements added to `before`; None: as it is."""
        if lanes.count == 1 or not isinstance(load.tensor, Var) or not in_memory(load.tensor):
            return None
        guard = condition_of(ways, lanes, self.bounds)
        inside = self.bounds if guard is None else self.bounds.assume(guard)
        if not lanes.depends(load):
            value = Var(f"{load.tensor.name}_value", load.dtype)
            before += guarded(value, load, constant(0, load.dtype), guard)
            return [value] * lanes.count
        indices = self.indices(load.index[0], lanes, inside)
        width, order = self.access(indices, load.dtype.nbytes, inside)
        if width == 1 or lanes.depends(load.tensor):
            return None
        out: list[Expr] = []
        for start in range(0, lanes.count, width):
            value = Var(f"{load.tensor.name}_lanes", VectorType(load.dtype, width))
            places = order[start : start + width]
            wide = Load(load.tensor, (indices[start + places.index(0)],), width)
            before += guarded(value, wide, Splat(constant(0, load.dtype), width), guard)
            out += [Lane(value, place) for place in places]
        return out

    def stores(self, s: Store, lanes: Lanes) -> Body:
        """A store in each lane, or in as few vectors as the index allows."""
        before, values = self.values(s.value, lanes)
        more, first = self.values(s.index[0], lanes)
        before += more
        indices = self.indices(s.index[0], lanes, self.bounds)
        width, order = 1, [0]
        movable = isinstance(s.tensor, Var) and in_memory(s.tensor) and not lanes.depends(s.tensor)
        if movable and not isinstance(s.value.type, VectorType) and not contains(s.index, Load):
            width, order = self.access(indices, s.tensor.dtype.nbytes, self.bounds)
        if width == 1:
            made = enumerate(zip(first, values, strict=True))
            return (
                *before,
                *(Store(lanes.in_lane(s.tensor, n), (i,), v, s.place) for n, (i, v) in made),
            )
        packed = []
        for start in range(0, lanes.count, width):
            lane = [start + order[start : start + width].index(place) for place in range(width)]
            value = Pack(tuple(values[each] for each in lane))
            packed.append(Store(s.tensor, (indices[lane[0]],), value, s.place))
        return (*before, *packed)

    def copies(self, s: Invoke, lanes: Lanes) -> Body:
        """Asynchronous copies of whole lanes for a store that may come later, if it only moves."""
        target, moved = s.args
        conditions: list[tuple[Expr, bool]] = []
        while isinstance(moved, Select) and moved.otherwise == constant(0, moved.dtype):
            conditions.append((moved.condition, True))
            moved = moved.then
        if not isinstance(target, Address) or not isinstance(moved, Load) or moved.lanes != 1:
            return ()
        tensors = (target.tensor, moved.tensor)
        if not all(isinstance(t, Var) and in_memory(t) and not lanes.depends(t) for t in tensors):
            return ()
        if not all(self.uniform(c, lanes) for c, _ in conditions) or contains(moved.index, Load):
            return ()
        guard = condition_of([tuple(conditions)], lanes, self.bounds)
        inside = self.bounds if guard is None else self.bounds.assume(guard)
        to = self.indices(target.index[0], lanes, self.bounds)
        source = self.indices(moved.index[0], lanes, inside)
        nbytes = moved.dtype.nbytes
        ways = (self.access(to, nbytes, self.bounds), self.access(source, nbytes, inside))
        width = min(width for width, _ in ways)
        if any(order[n] != n % wide for wide, order in ways for n in range(lanes.count)):
            return ()  # bytes are copied in their order
        if width * nbytes < SMALLEST_COPY:
            return ()
        size = constant(width * nbytes, i32)
        taken = () if guard is None else (Select(guard, size, constant(0, i32)),)
        return tuple(
            Invoke(
                "cp_async",
                (Address(target.tensor, (to[n],)), Address(moved.tensor, (source[n],)), *taken),
                (),
                (width * nbytes,),
                s.place,
            )
            for n in range(0, lanes.count, width)
        )

    def indices(self, index: Expr, lanes: Lanes, bounds: Bounds) -> list[Expr]:
        """The simplified index in each lane."""
        algebra = self.algebra.at(bounds)
        return [algebra.simplify(lanes.in_lane(index, at)) for at in range(lanes.count)]

    def access(self, indices: Sequence[Expr], nbytes: int, bounds: Bounds) -> tuple[int, list[int]]:
        """The most lanes that one access of neighbours can have, the first of them aligned, and
        each lane's place in it: the lanes may be neighbours in any order."""
        forms = [bounds.form(each) for each in indices]
        width = WIDEST // nbytes
        while width > 1:
            if len(indices) % width == 0:
                groups = [range(at, at + width) for at in range(0, len(indices), width)]
                found = [places([forms[n] for n in group]) for group in groups]
                firsts = [indices[g[p.index(0)]] for g, p in zip(groups, found, strict=True) if p]
                if all(found) and all(bounds.range(each).divisible(width) for each in firsts):
                    return width, [place for each in found for place in each]
            width //= 2
        return 1, [0] * len(indices)

    def uniform(self, condition: Expr, lanes: Lanes) -> bool:
        """Whether `condition` is certainly the same in all lanes."""
        if not lanes.depends(condition):
            return True
        if isinstance(condition, And | Or):
            return self.uniform(condition.a, lanes) and self.uniform(condition.b, lanes)
        if contains(condition, Load):
            return False
        first, *others = (lanes.in_lane(condition, at) for at in range(lanes.count))
        holds, fails = self.bounds.assume(first), self.bounds.assume(first, False)
        return all(holds.known(c) is True and fails.known(c) is False for c in others)


def places(forms: Sequence[Form]) -> list[int]:
    """Where each of some indices is among them, if they are neighbours; else none."""
    steps = [add(form, forms[0], -1) for form in forms]
    if any(step.keys() - {()} for step in steps):
        return []
    offsets = [step.get((), 0) for step in steps]
    found = [each - min(offsets) for each in offsets]
    return found if sorted(found) == list(range(len(found))) else []


def chunked(s: For, count: int, chunk: int) -> For:
    """A vector loop as a serial loop over vector loops of `chunk` iterations."""
    outer, inner = Var(s.var.name, s.var.of), Var(s.var.name, s.var.of)
    body = copied(s.body, {s.var: outer * chunk + inner})
    size = constant(chunk, s.var.dtype)
    vector = For(inner, size, body, LoopKind.VECTOR, s.place)
    return For(outer, constant(count // chunk, s.var.dtype), (vector,), LoopKind.SERIAL, s.place)


def in_memory(tensor: Var) -> bool:
    """Whether accesses of a tensor can be widened: not in registers, not of truth values."""
    if tensor.dtype.is_bool:
        return False
    return isinstance(tensor.of, PointerType) or (
        isinstance(tensor.of, TensorType) and tensor.of.scope is not Scope.REGISTER
    )
