"""What is known of integer expressions: ranges, divisibility, and conditions that hold.

Nothing here depends on the order of execution: facts about variables that are assigned later, or
about memory, are never taken in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

from hidet.ir import ranges
from hidet.ir.expr import (
    Add,
    And,
    Binary,
    BitAnd,
    Builtin,
    Cast,
    Comparison,
    Const,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Get,
    Less,
    LessEqual,
    Load,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    NotEqual,
    Or,
    Select,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    TruncMod,
    Var,
)
from hidet.ir.linear import Form, Terms, add
from hidet.ir.ranges import ANY, Range, both, exactly, fit, limits, plus, times
from hidet.types import DType

__all__ = ["Bounds", "Range", "known", "range_of"]

INTERVALS: dict[type[Binary], Callable[[Range, Range], Range]] = {
    FloorDiv: ranges.floor_quotient,
    FloorMod: ranges.floor_remainder,
    TruncDiv: ranges.truncated_quotient,
    TruncMod: ranges.truncated_remainder,
    Minimum: ranges.smaller,
    Maximum: ranges.larger,
    BitAnd: ranges.masked,
}
COUNT = Range(1, None)
NUMBER = Range(0, None)
HARDWARE = {"threadIdx": NUMBER, "blockIdx": NUMBER, "blockDim": COUNT, "gridDim": COUNT}


def range_of(e: Expr, known_ranges: Mapping[Expr, Range] | None = None) -> Range:
    """Which values the integer `e` can take where variables and builtins lie in their ranges."""
    return Bounds(known_ranges).range(e)


def known(condition: Expr, known_ranges: Mapping[Expr, Range] | None = None) -> bool | None:
    """Whether `condition` always holds, never holds, or neither is certain (None)."""
    return Bounds(known_ranges).known(condition)


class Bounds(Terms):
    """What is known at one place of a program; `assume` and `bind` give what is known further in.

    Forms look through widening casts and through the definitions of variables. What follows from
    definitions alone is common to all places: a variable is seen only where its definition holds.
    """

    def __init__(
        self,
        known_ranges: Mapping[Expr, Range] | None = None,
        mutable: frozenset[Var] = frozenset(),
    ) -> None:
        super().__init__()
        self.given: dict[Expr, Range] = dict(known_ranges or {})
        self.mutable = mutable
        self.facts: tuple[Form, ...] = ()
        self.truths: dict[Expr, bool] = {}
        self.definitions: dict[Var, Expr] = {}
        self.defined: dict[Expr, Range] = {}
        self.found: dict[Expr, Range] = {}
        self.answers: dict[Expr, bool | None] = {}
        self.steady: dict[Expr, bool] = {}
        self.assumed: dict[tuple[Expr, bool], Bounds] = {}

    def inner(self) -> Bounds:
        """A place further in, about which more can be added."""
        new = Bounds(self.given, self.mutable)
        new.order, new.steady, new.forms = self.order, self.steady, self.forms
        new.facts, new.truths = self.facts, dict(self.truths)
        new.definitions, new.defined = self.definitions, self.defined
        return new

    # ---- adding -------------------------------------------------------------------------------

    def bind(self, var: Expr, within: Range) -> Bounds:
        """What is known where `var` also lies in `within`."""
        new = self.inner()
        if self.stable(var):
            new.given[var] = both(self.range(var), within)
        return new

    def define(self, var: Var, value: Expr) -> Bounds:
        """What is known where `var` also has the value `value`.

        This is known here from now on if nothing was ever said or asked of `var`: all that was
        found out so far stays right.
        """
        if var in self.mutable or not is_integer(value):
            return self
        met = var in self.defined or var in self.forms or var in self.found or var in self.given
        new = self.apart() if met else self
        new.defined[var] = self.range(value)
        if self.stable(value):
            new.definitions[var] = value
        return new

    def apart(self) -> Bounds:
        """A place further in with definitions of its own."""
        new = self.inner()
        new.definitions, new.defined, new.forms = dict(new.definitions), dict(new.defined), {}
        return new

    def count(self, var: Var, extent: Expr) -> Bounds:
        """What is known in a loop of `var` = 0, 1, ... below `extent`."""
        most = self.range(extent).high
        new = self.bind(var, Range(0, None if most is None else max(most - 1, 0)))
        return new.assume(Less(var, extent)) if is_integer(extent) else new

    def assume(self, condition: Expr, holds: bool = True) -> Bounds:
        """What is known where `condition` also holds (or does not)."""
        key = condition, holds
        new = self.assumed.get(key)
        if new is None:
            new = self.assumed[key] = self.inner()
            new.take(condition, holds)
        return new

    def take(self, condition: Expr, holds: bool) -> None:
        """Add a condition to what is known here."""
        match condition:
            case Not(a):
                self.take(a, not holds)
                return
            case And(a, b) if holds:
                self.take(a, True)
                self.take(b, True)
                return
            case Or(a, b) if not holds:
                self.take(a, False)
                self.take(b, False)
                return
        if not self.stable(condition):
            return
        self.truths[condition] = holds
        if isinstance(condition, Comparison) and is_integer(condition.a):
            for form in self.implied(condition, holds):
                self.learn(form)

    def implied(self, condition: Comparison, holds: bool) -> Iterable[Form]:
        """Forms that are not negative because `condition` holds (or does not)."""
        difference = add(self.form(condition.b), self.form(condition.a), -1)
        opposite = add({}, difference, -1)
        match condition:
            case Less():
                yield add(difference, {(): -1}) if holds else opposite
            case LessEqual():
                yield difference if holds else add(opposite, {(): -1})
            case Equal() | NotEqual() if holds is isinstance(condition, Equal):
                yield difference
                yield opposite

    def learn(self, form: Form) -> None:
        """Take in that `form` is not negative: as a fact, and in the ranges of its atoms."""
        whole = self.form_range(form)
        if whole.divisor:
            form = add(form, {(): -(whole.remainder % whole.divisor)})
        self.facts = (*self.facts, form)
        self.found, self.answers = {}, {}
        for product, count in form.items():
            if len(product) != 1:
                continue
            rest = self.form_range({p: c for p, c in form.items() if p != product})
            if rest.high is None:
                continue
            end = -(rest.high // count) if count > 0 else rest.high // -count
            limit = Range(end, None) if count > 0 else Range(None, end)
            self.given[product[0]] = both(self.range(product[0]), limit)
            self.found = {}

    def stable(self, e: Expr) -> bool:
        """Whether `e` has one value all through its scope: no memory, no assigned variable."""
        answer = self.steady.get(e)
        if answer is None:
            moving = isinstance(e, Load | Get) or (isinstance(e, Var) and e in self.mutable)
            answer = not moving and all(self.stable(c) for c in e.children() if isinstance(c, Expr))
            self.steady[e] = answer
        return answer

    # ---- asking -------------------------------------------------------------------------------

    def compute(self, e: Expr) -> Form:
        """The form of `e`, with definitions and widening casts looked through."""
        match e:
            case Cast(value, to) if is_integer(value) and widens(value.dtype, to):
                return self.form(value)
            case Var() if e in self.definitions:
                return self.form(self.definitions[e])
        return super().compute(e)

    def range(self, e: Expr) -> Range:
        """Which values the integer or bool `e` can take."""
        found = self.found.get(e)
        if found is None:
            found = self.structural(e)
            given = self.given.get(e) or self.defined.get(e)
            if given is not None:
                found = both(given, found)
            self.found[e] = found
        return found

    def structural(self, e: Expr) -> Range:
        """The range of `e` from those of its operands."""
        match e:
            case Const(value, of) if not of.is_float:
                return exactly(int(value))
            case Builtin(name):
                return HARDWARE.get(name.partition(".")[0], ANY)
            case Add() | Sub() | Mul() | Negate() if ranges.unwrapped(e.dtype):
                return fit(self.form_range(self.form(e)), e.dtype)
            case Binary():
                return self.binary(e)
            case Select(_, then, otherwise):
                return ranges.either(self.range(then), self.range(otherwise))
            case Cast(value, to) if not value.dtype.is_float and not to.is_float:
                inner = self.range(value)
                return inner if widens(value.dtype, to) else fit(inner, to)
            case Var() if e in self.definitions:
                return self.range(self.definitions[e])
        return limits(e.dtype)

    def binary(self, e: Binary) -> Range:
        """The range of an operation of two operands."""
        if e.dtype.is_float or isinstance(e, Comparison):
            return limits(e.dtype)
        a, b = self.range(e.a), self.range(e.b)
        if type(e) in INTERVALS:
            return fit(INTERVALS[type(e)](a, b), e.dtype)
        match e:
            case Add():
                return fit(plus(a, b), e.dtype)
            case Sub():
                return fit(plus(a, ranges.scaled(b, -1)), e.dtype)
            case Mul():
                return fit(times(a, b), e.dtype)
            case ShiftLeft() if b.single is not None and 0 <= b.single < e.dtype.bits:
                return fit(ranges.scaled(a, 1 << b.single), e.dtype)
            case ShiftRight() if b.single is not None and 0 <= b.single < e.dtype.bits:
                return ranges.floor_quotient(a, exactly(1 << b.single))
        return limits(e.dtype)

    def form_range(self, form: Form) -> Range:
        """Which values a form can take."""
        total = exactly(0)
        for product, count in form.items():
            one = reduce(times, map(self.range, product), exactly(count))
            total = plus(total, one)
        return total

    def known(self, condition: Expr) -> bool | None:
        """Whether `condition` always holds here, never holds, or neither is certain (None)."""
        if condition not in self.answers:
            self.answers[condition] = self.decide(condition)
        return self.answers[condition]

    def decide(self, condition: Expr) -> bool | None:
        """The answer to a condition asked for the first time."""
        if condition in self.truths:
            return self.truths[condition]
        match condition:
            case Const(value):
                return bool(value)
            case Not(a):
                inner = self.known(a)
                return None if inner is None else not inner
            case And(a, b):
                return joint(self.known(a), self.known(b), False)
            case Or(a, b):
                return joint(self.known(a), self.known(b), True)
            case Less(a, b) if is_integer(a):
                return self.ordered(add(add(self.form(b), self.form(a), -1), {(): -1}))
            case LessEqual(a, b) if is_integer(a):
                return self.ordered(add(self.form(b), self.form(a), -1))
            case Equal(a, b) if is_integer(a):
                return self.zero(add(self.form(b), self.form(a), -1))
            case NotEqual(a, b) if is_integer(a):
                answer = self.zero(add(self.form(b), self.form(a), -1))
                return None if answer is None else not answer
        return None

    def ordered(self, form: Form) -> bool | None:
        """Whether `form` is not negative."""
        opposite = add({(): -1}, form, -1)
        if any(map(self.proved, self.alike(form))):
            return True
        return False if any(map(self.proved, self.alike(opposite))) else None

    def alike(self, form: Form) -> Iterator[Form]:
        """A form, and others that are not negative where it is not: a // c is r at most where a is
        less than c * (r + 1), and r at least where a is c * r at least."""
        yield form
        for product, count in form.items():
            match product:
                case (FloorDiv(a, Const(int(by))),) if by > 0 and count in (1, -1):
                    rest = add({}, {p: c for p, c in form.items() if p != product}, by)
                    if count < 0:
                        rest = add(rest, {(): by - 1})
                    yield add(rest, self.form(a), count)

    def zero(self, form: Form) -> bool | None:
        """Whether `form` is zero."""
        if 0 not in self.form_range(form):
            return False
        below, above = self.ordered(form), self.ordered(add({}, form, -1))
        if below is False or above is False:
            return False
        return True if below and above else None

    def proved(self, form: Form, depth: int = 2) -> bool:
        """Whether `form` is certainly not negative: by ranges, or less one or two facts."""
        if self.form_range(form).least >= 0:
            return True
        if depth == 0:
            return False
        for fact in self.facts:
            factor = next(
                (form[p] // c for p, c in fact.items() if p and form.get(p, 0) * c > 0), 0
            )
            if factor > 0 and self.proved(add(form, fact, -factor), depth - 1):
                return True
        return False


def joint(a: bool | None, b: bool | None, decisive: bool) -> bool | None:
    """The answer to `a and b` (`decisive` False) or `a or b` (True)."""
    if a is decisive or b is decisive:
        return decisive
    return None if a is None or b is None else not decisive


def is_integer(e: Expr) -> bool:
    """Whether `e` is an integer scalar."""
    return isinstance(e.type, DType) and e.type.is_integer


def widens(of: DType, to: DType) -> bool:
    """Whether every value of type `of` is one of type `to`."""
    if not to.is_integer:
        return False
    return of.limits[0] >= to.limits[0] and of.limits[1] <= to.limits[1]
