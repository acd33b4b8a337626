"""The iterations of a vector loop as lanes: values of one statement in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from hidet.ir.bounds import Bounds
from hidet.ir.expr import And, Expr, Load, Not, Or, Select, Var, constant
from hidet.ir.stmt import Assign, Declare, If, Stmt

Path = tuple[tuple[Expr, bool], ...]
"""Conditions that hold (or do not) where an expression is evaluated."""


class Lanes:
    """`count` lanes, which differ in the value of `var` and of the variables declared in them."""

    def __init__(self, var: Var, count: int) -> None:
        self.var = var
        self.count = count
        self.own: dict[Var, tuple[Expr, ...]] = {
            var: tuple(constant(lane, var.dtype) for lane in range(count))
        }

    def declare(self, var: Var) -> tuple[Var, ...]:
        """A variable of its own for each lane, in place of `var`."""
        made = tuple(Var(var.name, var.of) for _ in range(self.count))
        self.own[var] = made
        return made

    def names(self, var: Var) -> tuple[Var, ...]:
        """The variable that `var` is in each lane: its own, or the same for all."""
        own = self.own.get(var, (var,) * self.count)
        return tuple(each for each in own if isinstance(each, Var))

    def at(self, lane: int) -> dict[Var, Expr]:
        """The values of one lane's variables."""
        return {var: values[lane] for var, values in self.own.items()}

    def depends(self, e: Expr) -> bool:
        """Whether `e` may differ between lanes."""
        return not self.own.keys().isdisjoint(e.mentioned())

    def in_lane(
        self, e: Expr, lane: int, loaded: Mapping[Expr, Sequence[Expr]] | None = None
    ) -> Expr:
        """`e` in one lane, where what is `loaded` has its value already."""
        done: dict[Expr, Expr] = {}
        known = loaded or {}

        def visit(old: Any) -> Any:
            if old not in done:
                if old in known:
                    done[old] = known[old][lane]
                elif old in self.own:
                    done[old] = self.own[old][lane]
                elif not known and not self.depends(old):
                    done[old] = old
                else:
                    done[old] = old.map_children(visit)
            return done[old]

        found: Expr = visit(e)
        return found


def ways_to(e: Expr) -> dict[Load, list[Path]]:
    """The loads in `e`, inner ones first, each with the ways on which it is evaluated: none beside
    one that is always taken."""
    found: dict[Load, list[Path]] = {}
    for load, path in reads(e):
        found.setdefault(load, []).append(path)
    return {load: fewest(ways) for load, ways in found.items()}


def reads(e: Expr, path: Path = ()) -> Iterator[tuple[Load, Path]]:
    """The loads in `e`, inner ones first, each with the conditions under which it is evaluated."""
    match e:
        case Select(condition, then, otherwise):
            yield from reads(condition, path)
            yield from reads(then, (*path, (condition, True)))
            yield from reads(otherwise, (*path, (condition, False)))
        case And(a, b) | Or(a, b):
            yield from reads(a, path)
            yield from reads(b, (*path, (a, isinstance(e, And))))
        case _:
            for child in e.children():
                if isinstance(child, Expr):
                    yield from reads(child, path)
            if isinstance(e, Load):
                yield e, path


def condition_of(ways: Iterable[Path], lanes: Lanes, bounds: Bounds) -> Expr | None:
    """The condition of one of several paths in the first lane; None if one certainly holds."""
    conditions = [condition_of_one(path, lanes, bounds) for path in fewest(ways)]
    known = [each for each in conditions if each is not None]
    return reduce(Or, known) if len(known) == len(conditions) else None


def condition_of_one(path: Path, lanes: Lanes, bounds: Bounds) -> Expr | None:
    """The condition of a path in the first lane; None if it certainly holds."""
    turned = [(lanes.in_lane(c, 0), holds) for c, holds in path]
    asked = [(c if holds else Not(c)) for c, holds in turned if bounds.known(c) is not holds]
    return reduce(And, asked) if asked else None


def fewest(ways: Iterable[Path]) -> list[Path]:
    """Fewer paths, of which one holds where one of these does: behind both ways of a condition it
    does not matter."""
    found = dict.fromkeys(ways)
    while True:
        pair = next((p for p in found if p and opposite(p) in found), None)
        if pair is None:
            return [p for p in found if not any(p[:end] in found for end in range(len(p)))]
        del found[opposite(pair)], found[pair]
        found[pair[:-1]] = None


def opposite(path: Path) -> Path:
    """The path that goes the other way at its last condition."""
    *before, (condition, holds) = path
    return (*before, (condition, not holds))


def guarded(var: Var, value: Expr, zero: Expr, condition: Expr | None) -> list[Stmt]:
    """Statements that give `var` the value where `condition` holds, zero elsewhere."""
    if condition is None:
        return [Declare(var, value)]
    return [Declare(var, zero), If(condition, (Assign(var, value),))]
