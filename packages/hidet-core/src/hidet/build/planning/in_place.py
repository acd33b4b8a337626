"""Which result of a kernel may lie where one of its operands lies, as the index maps tell it.

A kernel writes each element of a result once. So the result may take an operand's place if every
load of the operand is in a run of statements that goes on to store a value made of it at the same
index, in the same lanes: whoever loads an element is then the one who stores it, and does so after.
The store may be under conditions that the load is under, too.
What was made of it may go into other results as well: no compiler loads it again after the store,
since neither pointer promises that nobody else writes there.

The next kernel may read the result through a cache that sees no stores, and may have begun while
this one filled it. It waits by `griddepcontrol.wait`, until "all the memory operations from the
prerequisite grids are performed and made visible to the current grid" (PTX ISA): that empties the
cache (`tests/runtime/test_written_over_early.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hidet.ir.access import read_only
from hidet.ir.expr import And, Expr, Lane, Load, Not, Pack, Select, Var
from hidet.ir.kernel import Kernel
from hidet.ir.node import Node
from hidet.ir.stmt import Assign, Body, Declare, For, If, Invoke, Stmt, Store, While
from hidet.ir.walk import contains, find, postorder, statements
from hidet.passes.addresses.lanes import Path, reads
from hidet.types import TensorType, VectorType

Pair: TypeAlias = tuple[Var, Var]
"""A result, and the operand whose place it may take."""


def in_place(kernel: Kernel) -> list[Pair]:
    """The parameters of a lowered kernel that may share memory."""
    operands, results = read_only(kernel), only_stored(kernel)
    found = {
        (result, operand): True
        for result in results
        for operand in kernel.params
        if operand in operands and operand.dtype == result.dtype
    }
    if found:
        scene = Scene.of(kernel)
        for run in runs(kernel.body):
            for position, load, path in loads(run.body):
                for pair, good in found.items():
                    if good and pair[1] is load.tensor:
                        found[pair] = scene.meets(run, position, load, path, pair[0])
    return [pair for pair, good in found.items() if good]


def only_stored(kernel: Kernel) -> list[Var]:
    """The array parameters of which nothing but stores is made."""
    targets = {s.tensor for s in statements(kernel.body) if isinstance(s, Store)}
    barred: set[Node] = {each.tensor for each in kernel.maps}
    for node in postorder(kernel.body):
        below = node.children()
        barred.update(below[1:] if isinstance(node, Store) else below)
    return [p for p in kernel.params if p in targets and p not in barred]


@dataclass(frozen=True)
class Run:
    """Statements that run one after the other, and the loops around them."""

    body: Body
    loops: tuple[For | While, ...] = ()


def runs(body: Body, loops: tuple[For | While, ...] = ()) -> Iterator[Run]:
    """All runs of statements of a kernel."""
    yield Run(body, loops)
    for each in body:
        match each:
            case For(body=inner) | While(body=inner):
                yield from runs(inner, (*loops, each))
            case If(then=then, otherwise=otherwise):
                yield from runs(then, loops)
                yield from runs(otherwise, loops)


def loads(body: Body) -> Iterator[tuple[int, Load, Path]]:
    """The loads that a run's statements make themselves, with the statements' positions and the
    conditions under which they are made."""
    for position, each in enumerate(body):
        for e in each.children():
            if isinstance(e, Expr):
                yield from ((position, load, path) for load, path in reads(e))


@dataclass(frozen=True)
class Scene:
    """What the whole kernel tells of its variables and its stores."""

    given: Mapping[Var, Expr]
    """What variables are declared as."""
    changed: frozenset[Var]
    """Those that get other values later."""
    stores: Mapping[tuple[Expr, tuple[Expr, ...]], int]
    """How many statements store at an index of a tensor."""

    @staticmethod
    def of(kernel: Kernel) -> Scene:
        """That of a kernel."""
        given: dict[Var, Expr] = {}
        changed: set[Var] = set()
        stores: dict[tuple[Expr, tuple[Expr, ...]], int] = {}
        for each in statements(kernel.body):
            match each:
                case Declare(var, init) if init is not None:
                    given[var] = init
                case Assign(var):
                    changed.add(var)
                case Invoke(results=results):
                    changed.update(results)
                case Store(tensor, index):
                    stores[tensor, index] = stores.get((tensor, index), 0) + 1
        return Scene(given, frozenset(changed), stores)

    def meets(self, run: Run, position: int, load: Load, path: Path, result: Var) -> bool:
        """Whether what is loaded goes into the same element of the result, and nowhere after."""
        if self.stores.get((result, load.index), 0) != 1 or not self.once(run, load.index):
            return False
        made: Made = {load: frozenset(range(load.lanes))}
        return ends_in(run.body[position:], load, result, made, self.lasting(path))

    def lasting(self, path: Path) -> frozenset[Expr]:
        """The conditions of a path that stay as they are: made of what nothing changes."""
        parts = [c if holds else Not(c) for c, holds in path]
        for each in parts:
            if isinstance(each, And):
                parts += (each.a, each.b)
        return frozenset(
            each
            for each in parts
            if not contains([each], Load) and self.behind([each]).isdisjoint(self.changed)
        )

    def once(self, run: Run, index: Sequence[Expr]) -> bool:
        """Whether each iteration of the loops around has an index of its own, known from the
        start."""
        mentioned = self.behind(index)
        if mentioned & self.changed or any(isinstance(each, While) for each in run.loops):
            return False
        if contains(index, Load):
            return False
        return all(isinstance(each, For) and each.var in mentioned for each in run.loops)

    def behind(self, index: Sequence[Expr]) -> set[Var]:
        """The variables of an index, and those that these are made of."""
        found: set[Var] = set()
        pending: list[Node] = list(index)
        while pending:
            for var in find([pending.pop()], Var):
                if var not in found:
                    found.add(var)
                    if var in self.given:
                        pending.append(self.given[var])
        return found


def ends_in(
    rest: Sequence[Stmt], load: Load, result: Var, known: Made, given: frozenset[Expr]
) -> bool:
    """Whether what is made of a load is used by values alone, up to the result's store.

    `known` is what was made of it before; it is loaded where all conditions `given` hold. Values
    may be stored in other results too, before or after.
    """
    made = dict(known)
    for each in rest:
        stored = isinstance(each, Store) and (each.tensor, each.index) == (result, load.index)
        if not stored and (not uses(each, made) or goes_elsewhere(each, result, made)):
            continue
        match each:
            case Store(value=value) if stored:
                return lane_by_lane(value, load.lanes, made)
            case If(condition, then, ()) if condition in given:
                return ends_in(then, load, result, made, given)
            case Declare(var, init) if init is not None and is_kept(var, init, made):
                made[var] = lanes(init, made)
            case _:
                return False
    return False


def goes_elsewhere(each: Stmt, result: Var, made: Made) -> bool:
    """Whether a statement only stores what was made of a load, in tensors other than a result."""
    match each:
        case Store(tensor, index):
            return tensor is not result and not any(uses(e, made) for e in index)
        case If(condition, then, ()):
            return not uses(condition, made) and all(
                goes_elsewhere(inner, result, made) for inner in then
            )
    return False


Made: TypeAlias = Mapping[Node, frozenset[int]]
"""What was made of a load, and of which of its lanes."""


def is_kept(var: Var, init: Expr, made: Made) -> bool:
    """Whether a variable holds a number made of a load, or just what was loaded."""
    if isinstance(var.of, VectorType):
        return init in made or (isinstance(init, Select) and init.then in made)
    return not isinstance(var.of, TensorType)


def uses(each: Node, made: Made) -> bool:
    """Whether a statement or value has anything to do with what was made of a load."""
    return any(node in made for node in postorder(each))


def lanes(e: Expr, made: Made) -> frozenset[int]:
    """The lanes of a load that a value depends on; what it has several times is looked at once."""
    found: dict[Node, frozenset[int]] = {}
    for each in postorder(e):
        if each in made:
            found[each] = made[each]
        elif isinstance(each, Lane) and each.vector in made:
            of, single = made[each.vector], isinstance(each.vector.type, VectorType)
            found[each] = frozenset({each.lane}) & of if single else of
        else:
            found[each] = frozenset().union(*(found[below] for below in each.children()))
    return found[e]


def lane_by_lane(value: Expr, width: int, made: Made) -> bool:
    """Whether a stored value is made of the load, each lane of the same one."""
    if width == 1:
        return bool(lanes(value, made))
    if not isinstance(value, Pack) or len(value.lanes) != width:
        return value in made  # moved as it is
    found = [lanes(each, made) for each in value.lanes]
    return all(each <= {number} for number, each in enumerate(found)) and any(found)
