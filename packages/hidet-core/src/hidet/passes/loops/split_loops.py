"""Vector loops over a border and what lies inside it become a loop for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from hidet.ir.algebra import simplify_expression
from hidet.ir.expr import And, Const, Expr, Load, Maximum, Minimum, Select, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Body, Declare, For, LoopKind
from hidet.ir.walk import contains, find, introduced, replaced, substitute, variables
from hidet.passes.base import kernel_pass
from hidet.passes.loops.clamped_reads import with_choices
from hidet.passes.loops.fresh import copied
from hidet.passes.loops.thresholds import Threshold, conditions, threshold
from hidet.passes.loops.vector_loops import with_vector_loops

SHORT = 16
"""Iterations up to which a loop is one vector: a mask costs less than more loops."""
MOST = 8
"""Conditions up to which a loop is split: each may bring one more loop."""


@kernel_pass()
def split_loops(kernel: Kernel) -> Kernel:
    """Split vector loops where a condition on what they read begins or ceases to hold.

    before   for j in vectorize(71):  y[j] = x[j - 3] if 0 <= j - 3 and j - 3 < 65 else 0
    after    for j in 3:              y[j] = 0
             for j in vectorize(65):  y[j + 3] = x[j]
             for j in 3:              y[j + 68] = 0

    Reads at places that are held within bounds are such choices too. On a CPU only: compilers make
    no vectors of reads that may not happen.
    """
    return with_vector_loops(kernel, split_with_bounds)


def split_with_bounds(loop: For) -> Body:
    """The loops in the form above; the loop itself if it cannot be split."""
    held = with_choices(loop)
    made = split(held)
    return (loop,) if made == (held,) else made


@dataclass(frozen=True)
class Choice:
    """A choice whether to read, and where which of the conditions that it asks for change."""

    select: Select
    asked: tuple[Expr, ...]
    at: Mapping[Expr, Threshold]

    def where(self, truths: Mapping[Expr, bool], known: Mapping[Expr, Expr]) -> Expr:
        """The choice where it is known which conditions hold; `known` are choices within it."""
        then, otherwise = (replaced(e, known) for e in (self.select.then, self.select.otherwise))
        if not all(truths.get(each, True) for each in self.asked):
            return otherwise
        rest = [replaced(each, known) for each in self.asked if each not in truths]
        return Select(reduce(And, rest), then, otherwise) if rest else then


def split(loop: For) -> Body:
    """The loops in the form above; the loop itself if it chooses nothing that it reads."""
    choices = choices_of(loop)
    at = {condition: place for each in choices for condition, place in each.at.items()}
    extent = loop.extent
    if not at or len(at) > MOST or is_short(extent):
        return (loop,)
    begins = {condition: p.limit for condition, p in at.items() if p.begins}
    ends = {condition: p.limit for condition, p in at.items() if not p.begins}
    zero: Expr = constant(0, extent.dtype)
    first = simplify_expression(Minimum(reduce(Maximum, begins.values(), zero), extent))
    final = simplify_expression(Maximum(reduce(Minimum, ends.values(), extent), first))
    ahead, (start, end) = named(first=first, final=final)
    parts = (
        Part(zero, start, dict.fromkeys(outermost(begins, Maximum), False)),
        Part(start, end, dict.fromkeys(at, True)),
        Part(end, extent, dict.fromkeys(outermost(ends, Minimum), False)),
    )
    return (*ahead, *(each for part in parts for each in part.loops(loop, choices)))


@dataclass(frozen=True)
class Part:
    """Iterations of a loop, from `start` until `end`, and what is known of conditions there."""

    start: Expr
    end: Expr
    truths: Mapping[Expr, bool]

    def loops(self, loop: For, choices: Iterable[Choice]) -> Body:
        """These iterations as loops of their own, split again if something is known but not all."""
        count = simplify_expression(self.end - self.start)
        if isinstance(count, Const) and count.value <= 0:
            return ()
        known: dict[Expr, Expr] = {}
        for each in choices:
            known[each.select] = each.where(self.truths, known)
        iteration = {loop.var: simplify_expression(loop.var + self.start)}
        body = tuple(substitute(replaced(each, known), iteration) for each in loop.body)
        (made,) = copied((replace(loop, extent=count, body=body),), {})
        assert isinstance(made, For)
        if not choices_of(made):
            return (made,)
        if self.truths and not is_short(count):
            return split(made)
        return (replace(made, kind=LoopKind.SERIAL),)


def is_short(extent: Expr) -> bool:
    """Whether a loop is known to have few iterations."""
    return isinstance(extent, Const) and extent.value <= SHORT


def outermost(limits: Mapping[Expr, Expr], how: type[Maximum | Minimum]) -> list[Expr]:
    """Of conditions that change at `limits` those that change last, or first, as far as known."""
    if all(isinstance(each, Const) for each in limits.values()):
        found = simplify_expression(reduce(how, limits.values())) if limits else None
        return [condition for condition, limit in limits.items() if limit is found]
    return list(limits) if len(limits) == 1 else []


def named(**values: Expr) -> tuple[Body, list[Expr]]:
    """Values with names, and the statements that declare these; a number needs none."""
    names = {Var(name, e.type): e for name, e in values.items() if not isinstance(e, Const)}
    found = {e: var for var, e in names.items()}
    return tuple(map(Declare, names, names.values())), [found.get(e, e) for e in values.values()]


def choices_of(loop: For) -> list[Choice]:
    """The choices of a loop that read, inner ones first, which change once along the loop."""
    moved = {each.var for each in find(loop.body, Assign)}
    values: dict[Var, Expr] = {}
    for each in find(loop.body, Declare):
        if each.init is not None and each.var not in moved:
            values[each.var] = substitute(each.init, values)
    own = {loop.var, *moved, *introduced(loop.body)}
    found = []
    for choice in find(loop.body, Select):
        if contains((choice.then, choice.otherwise), Load):
            asked = tuple(conditions(substitute(choice.condition, values)))
            places = {e: place for e in asked if (place := threshold(e, loop.var)) is not None}
            at = {e: p for e, p in places.items() if is_fixed(p.limit, own)}
            if at:
                found.append(Choice(choice, asked, at))
    return found


def is_fixed(limit: Expr, own: set[Var]) -> bool:
    """Whether a limit is the same in all iterations of the loop that has these variables."""
    return not contains(limit, Load) and own.isdisjoint(variables(limit))
