"""The turns of a vector loop as lanes: values of one statement in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

    def turn(self, e: Expr, lane: int, loaded: Mapping[Expr, Sequence[Expr]] | None = None) -> Expr:
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


def condition_of(path: Path, lanes: Lanes, bounds: Bounds) -> Expr | None:
    """The condition of a path in the first lane; None if it certainly holds."""
    turned = [(lanes.turn(c, 0), holds) for c, holds in path]
    asked = [(c if holds else Not(c)) for c, holds in turned if bounds.known(c) is not holds]
    return reduce(And, asked) if asked else None


def guarded(var: Var, value: Expr, zero: Expr, condition: Expr | None) -> list[Stmt]:
    """Statements that give `var` the value where `condition` holds, zero elsewhere."""
    if condition is None:
        return [Declare(var, value)]
    return [Declare(var, zero), If(condition, (Assign(var, value),))]
