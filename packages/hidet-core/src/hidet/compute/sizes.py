"""Sizes of shapes: integers, or polynomials over symbols, compared and simplified exactly.

A size is brought to a sum of products of atoms (symbols, quotients, remainders); two sizes with the
same sum are the same size, whatever the symbols turn out to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from typing import TypeAlias

from hidet.compute.guards import assumptions, lateness
from hidet.compute.sums import (
    Terms,
    as_expr,
    built,
    leading,
    multiplied,
    scaled,
    term_quotient,
    total,
)
from hidet.errors import ShapeMismatch
from hidet.ir.bounds import range_of
from hidet.ir.expr import (
    Add,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Sub,
    Var,
    wrap,
)
from hidet.ir.ranges import Range
from hidet.types import Size

Shape: TypeAlias = tuple[Size, ...]

NATURAL = Range(0, None)


def tidy(size: Size) -> Size:
    """The size in its simplest form: an `int` if it is a known number."""
    return size if isinstance(size, int) else built(terms(size))


def same(a: Size, b: Size) -> bool | None:
    """Whether two sizes are equal for all, for no, or for some values (None) of their symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    difference = total(terms(a), scaled(terms(b), -1))
    if not difference:
        return True
    return False if set(difference) == {()} else None


def below(a: Size, b: Size) -> bool | None:
    """Whether a < b for all, for no, or for some values (None) of their symbols, which are at
    least 0."""
    found = possible(built(total(terms(a), scaled(terms(b), -1))))
    if found.high is not None and found.high < 0:
        return True
    return False if found.low is not None and found.low >= 0 else None


def equal(a: Size, b: Size) -> bool | None:
    """As `same`, where symbols are known to be at least 0: no size of an axis is -1."""
    alike = same(a, b)
    if alike is not None:
        return alike
    return False if below(a, b) or below(b, a) else None


def possible(size: Size) -> Range:
    """The numbers that a size may be, whose symbols are at least 0."""
    if isinstance(size, int):
        return Range(size, size)
    return range_of(size, {each: NATURAL for each in size.mentioned() if isinstance(each, Var)})


def agree(a: Size, b: Size) -> bool:
    """Whether two sizes are equal, or are taken to be from now on: see `compute.guards`."""
    alike, guards = same(a, b), assumptions()
    if alike is not None or guards is None:
        return alike is True
    zero = total(terms(a), scaled(terms(b), -1))
    solved = solution(zero)
    if solved is not None:
        assume(*solved)
        return True
    clamped = [*clamps(zero)]
    for symbol, most in clamped:
        guards.limit(symbol, most)
    return bool(clamped) and agree(a, b)


def clamps(zero: Terms) -> Iterator[tuple[Var, int]]:
    """The symbols in a sum that count no further than to a number, as the length of a slice of a
    table does; none if the sum would not be 0 without that."""
    free: Terms = {}
    found: dict[Var, int] = {}
    for atoms, count in zero.items():
        match atoms:
            case (Minimum(Var() as symbol, Const(int(most))),):
                found[symbol] = most
                free = total(free, {(symbol,): count})
            case _:
                free = total(free, {atoms: count})
    if not free:
        yield from found.items()


def agree_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether two shapes are equal, or their sizes are taken to be."""
    return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b, strict=True))


def solution(zero: Terms) -> tuple[Var, Size] | None:
    """The symbol, and the size that it must be for a sum to be 0; None if no such size is there.

    Of several symbols it is the one that is known last. A size that could not be 1 or more is none.
    """
    common = math.gcd(*zero.values())
    alone = [(atoms[0], count) for atoms, count in reversed(zero.items()) if len(atoms) == 1]
    symbols = [(each, count) for each, count in alone if isinstance(each, Var)]
    for symbol, count in sorted(symbols, key=lambda each: -lateness(each[0])):
        if abs(count) != common:
            continue
        rest = {key: -n // count for key, n in zero.items() if key != (symbol,)}
        if any(symbol in atom.mentioned() for key in rest for atom in key):
            continue
        found = built(rest)
        most = possible(found).high
        if most is None or most >= 1:
            return symbol, found
    return None


def numbers(shape: Sequence[Size]) -> tuple[int, ...]:
    """The sizes, all of which must be known."""
    for size in shape:
        if not isinstance(size, int):
            raise ShapeMismatch(f"the size {size} is not known yet")
    return tuple(size for size in shape if isinstance(size, int))


def same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether two shapes are equal for certain."""
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def product(sizes: Iterable[Size]) -> Size:
    """The product, simplified; 1 of no sizes."""
    return built(reduce(multiplied, map(terms, sizes), {(): 1}))


def quotient(a: Size, b: Size) -> Size | None:
    """a / b where that is a sum of products, else None."""
    divisor, left = terms(b), terms(a)
    if not divisor:
        return None
    out: Terms = {}
    while left:  # its leading term is a smaller one in each iteration
        term = term_quotient(leading(left), leading(divisor))
        if term is None:
            return None
        out = total(out, term)
        left = total(left, scaled(multiplied(term, divisor), -1))
    return built(out)


def broadcast(*shapes: Sequence[Size]) -> Shape:
    """The common shape by numpy's rules; raises ShapeMismatch where sizes may differ."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    out: list[Size] = []
    for sizes in zip(*padded, strict=True):
        wide = [size for size in sizes if same(size, 1) is not True]
        if any(not agree(wide[0], size) for size in wide[1:]):
            raise ShapeMismatch(
                f"shapes {' and '.join(map(spelled, shapes))} do not broadcast",
                help=help_for(wide),
            )
        out.append(tidy(wide[0]) if wide else 1)
    return tuple(out)


def help_for(wide: Sequence[Size]) -> str:
    """What to do about sizes of an axis that do not agree; two symbols may have the same name."""
    names = [*map(str, wide)]
    if len({*names}) == 1 and all(isinstance(each, Var) for each in wide):
        made = f'`size = hidet.symbol_var("{names[0]}")`'
        return f"these are different symbols named {names[0]}: use one in all shapes, {made}"
    return f"sizes {' and '.join(names)} must be equal, or one of them 1"


def spelled(shape: Sequence[Size]) -> str:
    """A shape as people write it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


# ---- sums of products ----------------------------------------------------------------------------


def terms(size: Size) -> Terms:
    """The size as a sum of products, which nobody changes; what is assumed of symbols is put in."""
    if isinstance(size, int):
        return {(): size} if size else {}
    guards = assumptions()
    if not guards:
        return terms_alone(size)
    found = guards.terms.get(size)
    if found is None:
        found = guards.terms[size] = summed(size)
    return found


@lru_cache(maxsize=2**14)
def terms_alone(size: Expr) -> Terms:
    """The same where nothing is assumed. Sizes of images that vary are long, and made of each
    other: without a note each layer would take a multiple of the time of that before it."""
    return summed(size)


def summed(size: Expr) -> Terms:
    """The same, found out."""
    match size:
        case Var() if (guards := assumptions()) and size in guards:
            return terms(guards[size].size)
        case Const(value):
            return terms(int(value))
        case Add(a, b):
            return total(terms(a), terms(b))
        case Sub(a, b):
            return total(terms(a), scaled(terms(b), -1))
        case Negate(a):
            return scaled(terms(a), -1)
        case Mul(a, b):
            return exact(multiplied(terms(a), terms(b)))
        case FloorDiv(a, Const(int(value))) if value > 0:
            return divided(terms(a), value)
        case FloorMod(a, Const(int(value))) if value > 0:
            return remainder(terms(a), value)
    simple = simpler(size)
    return {(size,): 1} if simple is None else terms(simple)


def simpler(size: Expr) -> Size | None:
    """What a quotient, or the lesser or larger one of two sizes is, if that is known; or the same
    of sizes in their simplest form, which what is assumed may have changed."""
    match size:
        case FloorDiv(a, b) if (found := quotient(a, b)) is not None:
            return found
        case Minimum(a, b) if at_most(a, b):
            return a
        case Minimum(a, b) if at_most(b, a):
            return b
        case Minimum(a, Const(1)) if (rest := without_limits(a)) is not None:
            return Minimum(wrap(rest), wrap(1))
        case Maximum(a, b) if at_most(a, b):
            return b
        case Maximum(a, b) if at_most(b, a):
            return a
        case Minimum(Const() as a, b) | Maximum(Const() as a, b):
            return type(size)(b, a)  # numbers are last, so that equal sizes are written alike
        case FloorDiv() | FloorMod() | Minimum() | Maximum() if size.dtype.is_integer:
            inner = size.map_children(lambda each: wrap(tidy(each)))
            return None if inner is size else inner
    return None


def without_limits(size: Size) -> Size | None:
    """A simpler size that is 0 for the same symbols as a sum of naturals is; None if none is.

    So `min(1, n) + 2 * n` elements are some where `n` are: the lengths of what was put before its
    own first elements, and cut again, are told by that.
    """
    before = terms(size)
    parts = [product_of_limited(key) for key, count in before.items() if count > 0]
    after: Terms = {key: 1 for part in parts for key in part}
    is_sum = len(parts) == len(before) and all(n > 0 for part in parts for n in part.values())
    are_natural = all(is_natural({key: 1}) for key in (*before, *after))
    return built(after) if is_sum and are_natural and after != before else None


def product_of_limited(atoms: tuple[Expr, ...]) -> Terms:
    """The product of atoms, of those that count no further than to a number what they count."""
    found: Terms = {(): 1}
    for atom in atoms:
        match atom:
            case Minimum(a, Const(int(most))) if most > 0:
                found = multiplied(found, terms(a))
            case _:
                found = multiplied(found, {(atom,): 1})
    return found


def at_most(a: Size, b: Size) -> bool:
    """Whether a <= b, whatever the symbols are, as far as they are assumed to be."""
    guards = assumptions()
    match a, b:
        case Var(), Const(int(high)) if guards is not None and a in guards.most:
            return guards.most[a] <= high
    if below(b, a) is False:
        return True
    if guards is None or not guards.naturals:
        return False
    apart = total(terms(b), scaled(terms(a), -1))
    return any(is_natural(total(apart, scaled(each, -1))) for each in guards.naturals)


def assume(symbol: Var, size: Size) -> None:
    """Take a symbol to be a size from now on, where anything may be assumed."""
    if (guards := assumptions()) is not None:
        guards.add(symbol, size)
        before = guards.naturals
        guards.know([])  # what is put in does not depend on what is known of the old sizes
        guards.know([terms(built(each)) for each in before])


def assume_order(a: Size, b: Size) -> None:
    """Take a size to be no larger than another one from now on, where anything may be assumed."""
    if (guards := assumptions()) is not None:
        guards.know([*guards.naturals, total(terms(b), scaled(terms(a), -1))])


def is_natural(sum_: Terms) -> bool:
    """Whether a sum is at least 0, whatever the symbols are, which are so."""
    low = possible(built(sum_)).low
    return low is not None and low >= 0


def divided(a: Terms, by: int) -> Terms:
    """a // by: what `by` divides comes out, the rest stays a quotient."""
    whole = {key: count // by for key, count in a.items() if count >= by or count < 0}
    rest = total(a, scaled(whole, -by))
    if not rest or set(rest) == {()}:
        return {key: count for key, count in whole.items() if count}
    common = math.gcd(by, *rest.values())
    inner = built({key: count // common for key, count in rest.items()})
    atom = inner if by == common else as_expr(inner) // (by // common)
    return total(whole, terms(atom) if by == common else {(as_expr(atom),): 1})


def exact(a: Terms) -> Terms:
    """a with what is divided and multiplied again as it was, where the division leaves nothing."""
    for key, count in a.items():
        for place, atom in enumerate(key):
            match atom:
                case FloorDiv(whole, Const(int(by))) if by > 0 and count % by == 0:
                    if not remainder(terms(whole), by):
                        others = {key[:place] + key[place + 1 :]: count // by}
                        rest = {each: n for each, n in a.items() if each != key}
                        return exact(total(rest, multiplied(others, terms(whole))))
    return a


def remainder(a: Terms, by: int) -> Terms:
    """a % by: multiples of `by` vanish, and what is a remainder already counts as the whole."""
    for key, count in a.items():
        match key:
            case (FloorMod(whole, Const(int(of))),) if of > 0 and of % by == 0:
                rest = {each: n for each, n in a.items() if each != key}
                return remainder(total(rest, scaled(terms(whole), count)), by)
    rest = {key: count % by for key, count in a.items() if count % by}
    if not rest or set(rest) == {()}:
        return rest
    return {(as_expr(built(rest)) % by,): 1}
