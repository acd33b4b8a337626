"""Loads of operands go ahead of the stores before them, several at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TypeAlias

from hidet.ir.access import read_only
from hidet.ir.expr import And, Expr, Load, Not, Select, Splat, Var, constant
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Body, Declare, For, If, Stmt, Store, While
from hidet.ir.walk import contains, replaced, statements, substitute
from hidet.passes.addresses.lanes import Path, reads
from hidet.passes.base import kernel_pass, with_body
from hidet.types import TensorType

IN_FLIGHT = 64
"""Bytes that a thread loads at a time: sixteen registers hold them until they are used."""


@kernel_pass()
def load_ahead(kernel: Kernel) -> Kernel:
    """Let a thread's loads of operands be under way together, not one after the other's store.

    before   if c: y[i] = x[i] + 1;  if d: y[j] = x[j] + 1
    after    a = x[i] if c else 0;  b = x[j] if d else 0;  if c: y[i] = a + 1;  if d: y[j] = b + 1

    A compiler does not where a result may lie in the place of an operand, nor across branches.
    Operands are what the kernel only loads: no store of it changes what it loads later.
    """
    if kernel.kind is KernelKind.CPU:
        return kernel
    operands = read_only(kernel)
    results = frozenset(kernel.params) - operands
    return with_body(kernel, Loading(frozenset(operands), results).body(kernel.body))


@dataclass(frozen=True)
class Loading:
    """The rewriting of a kernel with these operands and results."""

    operands: frozenset[Var]
    results: frozenset[Var]

    def body(self, body: Body) -> Body:
        """`body` with loads ahead of stores in each run of plain statements."""
        out: list[Stmt] = []
        for plain, run in groupby(body, is_plain):
            some = list(run)
            out += self.batches(some) if plain else map(self.within, some)
        return tuple(out)

    def within(self, s: Stmt) -> Stmt:
        """A statement that is not plain with the lists of statements in it changed."""
        match s:
            case For(var, extent, body, kind, place):
                return For(var, extent, self.body(body), kind, place)
            case While(condition, body, place):
                return While(condition, self.body(body), place)
            case If(condition, then, otherwise, place):
                return If(condition, self.body(then), self.body(otherwise), place)
        return s

    def batches(self, run: Sequence[Stmt]) -> Body:
        """Plain statements, in parts that load no more than registers hold."""
        out: list[Stmt] = []
        held = Held(run, self)
        batch = Batch(self, held)
        for s in run:
            if batch.nbytes and batch.nbytes + batch.more(s) > IN_FLIGHT:
                out += batch.body()
                batch = Batch(self, held)
            batch.nbytes += batch.more(s)
            batch.take(s)
        return (*out, *batch.body())

    def loads(self, s: Stmt) -> set[tuple[Load, Path]]:
        """The loads of operands in a plain statement, with their conditions."""
        path: Path = ((s.condition, True),) if isinstance(s, If) else ()
        found = (read for e in self.reading(s) for read in reads(e, path))
        return {(load, way) for load, way in found if load.tensor in self.operands}

    def reading(self, s: Stmt) -> list[Expr]:
        """The values and indices in a plain statement that mention operands: few of many do."""
        return [e for e in values(s) if not self.operands.isdisjoint(e.mentioned())]


def is_plain(s: Stmt) -> bool:
    """Whether `s` only computes, loads and stores, perhaps under one condition."""
    match s:
        case Declare(var, init):
            return init is not None and not isinstance(var.of, TensorType)
        case If(_, then, ()):
            return all(is_plain(each) and not isinstance(each, If) for each in then)
    return isinstance(s, Store | Assign)


def values(s: Stmt) -> Iterator[Expr]:
    """The values and indices in a plain statement."""
    for each in statements([s]):
        if not isinstance(each, If):
            yield from (e for e in each.children() if isinstance(e, Expr))


Key: TypeAlias = tuple[Expr, ...]
"""A load, and the conditions under which it is made."""


class Held:
    """What was loaded ahead in a run of plain statements, and is not loaded again.

    Iterations of an unrolled loop that read the same element may write its index each in its own
    way.
    """

    def __init__(self, run: Sequence[Stmt], kernel: Loading) -> None:
        self.changed = frozenset(e.var for e in statements(run) if isinstance(e, Assign))
        self.given: dict[Var, Expr] = {}
        self.known: dict[Key, Var] = {}
        self.asked: Counter[Key] = Counter()
        """In how many statements of the run something is loaded."""
        for s in run:
            if isinstance(s, Declare) and self.stays(s) and s.init is not None:
                self.given[s.var] = substitute(s.init, self.given)
            self.asked.update({self.key(load, way) for load, way in kernel.loads(s)})

    def key(self, load: Load, path: Path) -> Key:
        """What is loaded under which conditions, whatever the variables between are called."""
        conditions = (c if holds else Not(c) for c, holds in path)
        return tuple(substitute(e, self.given) for e in (load, *conditions))

    def stays(self, s: Declare) -> bool:
        """Whether a variable is another name for what it is declared as."""
        return s.var not in self.changed and s.init is not None and not contains([s.init], Load)

    def lasts(self, key: Key) -> bool:
        """Whether something is loaded more than once, and is the same each time."""
        same = all(self.changed.isdisjoint(e.mentioned()) for e in key)
        return same and self.asked[key] > 1

    def keep(self, known: Mapping[Key, Var]) -> None:
        """Note which variables hold what is loaded again."""
        self.known.update((key, known[key]) for key in known if self.lasts(key))


class Batch:
    """Some plain statements: what goes ahead, and what stays behind it."""

    def __init__(self, kernel: Loading, held: Held) -> None:
        self.kernel, self.held = kernel, held
        self.given: list[Stmt] = []
        self.front: list[Stmt] = []
        self.rest: list[Stmt] = []
        self.late: set[Var] = set()
        """The variables that get values in what stays, or hold what was loaded."""
        self.nbytes = 0
        self.stored = False
        """Whether a result is stored in what stays."""
        self.gained = False
        """Whether a load goes ahead of a result's store, or is made once for several."""
        self.known = dict(held.known)
        """What was loaded ahead before, or is by these statements."""

    def body(self) -> Body:
        """The statements in their new order; as they were if nothing is gained."""
        if not self.gained:
            return tuple(self.given)
        self.held.keep(self.known)
        return (*self.front, *self.rest)

    def more(self, s: Stmt) -> int:
        """The bytes of operands that a statement loads and no variable holds."""
        found = self.kernel.loads(s)
        mine = {load for load, way in found if self.held.key(load, way) not in self.known}
        return sum(max(4, load.lanes * load.dtype.nbytes) for load in mine)

    def take(self, s: Stmt) -> None:
        """One more statement."""
        self.given.append(s)
        if isinstance(s, Declare) and s.init is not None and self.early(s.init):
            self.front.append(s)
            return
        self.late |= {e.var for e in statements([s]) if isinstance(e, Declare | Assign)}
        path: Path = ()
        if isinstance(s, If):
            if not self.early(s.condition):
                self.rest.append(s)
                return
            path = ((s.condition, True),)
        known = self.loaded(s, path)
        self.rest.append(replaced(s, known) if known else s)
        stores = (each for each in statements([s]) if isinstance(each, Store))
        self.stored |= any(each.tensor in self.kernel.results for each in stores)

    def early(self, e: Expr) -> bool:
        """Whether a value is there before what stays: made of neither loads nor late variables."""
        return not contains([e], Load) and self.late.isdisjoint(e.mentioned())

    def loaded(self, s: Stmt, path: Path) -> dict[Expr, Var]:
        """The loads in a statement that go ahead, and the variables that hold what they load."""
        found: dict[Load, set[Path]] = {}
        for e in self.kernel.reading(s):
            for load, more in reads(e, path):
                if load.tensor in self.kernel.operands:
                    found.setdefault(load, set()).add(more)
        known: dict[Expr, Var] = {}
        for load, paths in found.items():
            way = next(iter(paths))
            conditions = [c if holds else Not(c) for c, holds in way]
            if len(paths) == 1 and all(map(self.early, (*load.index, *conditions))):
                key = self.held.key(load, way)
                if key not in self.known:
                    self.known[key] = self.load(load, conditions)
                known[load] = self.known[key]
                self.gained |= self.stored or self.held.lasts(key)
        return known

    def load(self, load: Load, conditions: list[Expr]) -> Var:
        """A variable for what is loaded where all conditions hold, zero elsewhere."""
        assert isinstance(load.tensor, Var)
        var = Var(f"{load.tensor.name}_ahead", load.type)
        value: Expr = load
        if conditions:
            zero = constant(0, load.dtype)
            none = zero if load.lanes == 1 else Splat(zero, load.lanes)
            value = Select(reduce(And, conditions), load, none)
        self.front.append(Declare(var, value))
        self.late.add(var)
        return var
