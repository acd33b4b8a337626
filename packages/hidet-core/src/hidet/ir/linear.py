"""Integer expressions as sums of products: {(i, n): 4, (j,): 1, (): 7} is 4*i*n + j + 7.

What is no sum or product (a quotient, a load, a variable) is an atom. Keys are atoms in the order
in which this `Terms` first met them, so equal sums have equal forms and text does not depend on
where objects lie in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from hidet.ir.expr import Add, Const, Expr, Mul, Negate, Sub, constant
from hidet.types import DType

Product = tuple[Expr, ...]
Form = Mapping[Product, int]
LARGEST = 32  # products of sums with more terms than this stay products


def add(a: Form, b: Form, factor: int = 1) -> dict[Product, int]:
    """a + factor * b."""
    total = dict(a)
    for product, count in b.items():
        new = total.get(product, 0) + factor * count
        if new:
            total[product] = new
        else:
            total.pop(product, None)
    return total


def of_int(value: int) -> dict[Product, int]:
    """The form of a number."""
    return {(): value} if value else {}


def as_int(form: Form) -> int | None:
    """The number a form is, if it is one."""
    if not form:
        return 0
    return form.get(()) if len(form) == 1 else None


class Terms:
    """Forms of expressions of one integer type, each computed once."""

    def __init__(self, order: dict[Expr, int] | None = None) -> None:
        self.order: dict[Expr, int] = {} if order is None else order
        self.forms: dict[Expr, Form] = {}

    def form(self, e: Expr) -> Form:
        """`e` as a sum of products of atoms."""
        found = self.forms.get(e)
        if found is None:
            found = self.forms[e] = self.compute(e)
        return found

    def compute(self, e: Expr) -> Form:
        """The form from those of the operands."""
        match e:
            case Const(value):
                return of_int(int(value))
            case Add(a, b):
                return add(self.form(a), self.form(b))
            case Sub(a, b):
                return add(self.form(a), self.form(b), -1)
            case Negate(a):
                return add({}, self.form(a), -1)
            case Mul(a, b):
                return self.multiply(e, self.form(a), self.form(b))
        return self.atom(e)

    def atom(self, e: Expr) -> Form:
        """`e` as it is."""
        self.order.setdefault(e, len(self.order))
        return {(e,): 1}

    def multiply(self, e: Expr, a: Form, b: Form) -> Form:
        """The product `e` of two forms, spread out if it stays small."""
        if len(a) * len(b) > LARGEST:
            return self.atom(e)
        total: dict[Product, int] = {}
        for left, count in a.items():
            total = add(total, {self.join(left, right): n for right, n in b.items()}, count)
        return total

    def join(self, left: Product, right: Product) -> Product:
        """The product of two products."""
        if not left or not right:
            return left or right
        return tuple(sorted(left + right, key=self.order.__getitem__))


def express(form: Form, of: DType) -> Expr:
    """The expression of a form: terms in order, what is subtracted after what is added."""
    constant_part = form.get((), 0)
    items = [(product, count) for product, count in form.items() if product]
    added = [scaled(product, count, of) for product, count in items if count > 0]
    taken = [scaled(product, -count, of) for product, count in items if count < 0]
    if constant_part > 0 or not items or (constant_part and not added):
        added.append(constant(constant_part, of))
    elif constant_part:
        taken.append(constant(-constant_part, of))
    if not added:
        first = taken.pop(0)
        return chain(Negate(first), taken)
    return chain(joined(Add, added), taken)


def scaled(product: Product, count: int, of: DType) -> Expr:
    """count * product."""
    whole = joined(Mul, product)
    return whole if count == 1 else Mul(whole, constant(count, of))


def joined(kind: type[Add] | type[Mul], parts: Iterable[Expr]) -> Expr:
    """All of them by one operation, from the left."""
    return reduce(kind, parts)


def chain(start: Expr, taken: Iterable[Expr]) -> Expr:
    """`start` less each of `taken`."""
    return reduce(Sub, taken, start)


def without(product: Product, factors: Product) -> Product | None:
    """`product` less `factors`, None if they are not all in it."""
    rest = list(product)
    for factor in factors:
        if factor not in rest:
            return None
        rest.remove(factor)
    return tuple(rest)
