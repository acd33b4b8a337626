"""Arithmetic, comparisons and choices: the nodes that Python's operators and `select` build."""

from __future__ import annotations

from typing import ClassVar

from hidet.ir.expr.value import Binary, Expr, Unary, Value, unify
from hidet.ir.node import node
from hidet.types import DType, Type, VectorType, boolean


@node
class Comparison(Binary):
    """Two operands of one type, result bool."""

    def infer(self) -> Type:
        found = self.a.type
        return VectorType(boolean, found.lanes) if isinstance(found, VectorType) else boolean


@node
class Add(Binary):
    """a + b."""

    symbol: ClassVar[str] = "+"


@node
class Sub(Binary):
    """a - b."""

    symbol: ClassVar[str] = "-"


@node
class Mul(Binary):
    """a * b."""

    symbol: ClassVar[str] = "*"


@node
class Div(Binary):
    """a / b of floats; integers are converted to float32 first."""

    symbol: ClassVar[str] = "/"


@node
class FloorDiv(Binary):
    """The quotient rounded down, as Python's `//`."""

    symbol: ClassVar[str] = "//"


@node
class FloorMod(Binary):
    """a - (a // b) * b: the sign of b, as Python's `%`."""

    symbol: ClassVar[str] = "%"


@node
class TruncDiv(Binary):
    """The quotient rounded toward zero, as C's `/` on integers."""

    symbol: ClassVar[str] = "/trunc"


@node
class TruncMod(Binary):
    """The remainder with the sign of a, as C's `%` and `fmod`."""

    symbol: ClassVar[str] = "%trunc"


@node
class Minimum(Binary):
    """The smaller one; NaN if either is."""

    symbol: ClassVar[str] = "min"


@node
class Maximum(Binary):
    """The larger one; NaN if either is."""

    symbol: ClassVar[str] = "max"


@node
class BitAnd(Binary):
    """Bitwise and of integers."""

    symbol: ClassVar[str] = "&"


@node
class BitOr(Binary):
    """Bitwise or of integers."""

    symbol: ClassVar[str] = "|"


@node
class BitXor(Binary):
    """Bitwise exclusive or of integers."""

    symbol: ClassVar[str] = "^"


@node
class ShiftLeft(Binary):
    """a << b; undefined where b is negative or not below the width."""

    symbol: ClassVar[str] = "<<"


@node
class ShiftRight(Binary):
    """a >> b, arithmetic for signed types."""

    symbol: ClassVar[str] = ">>"


@node
class Less(Comparison):
    """a < b."""

    symbol: ClassVar[str] = "<"


@node
class LessEqual(Comparison):
    """a <= b."""

    symbol: ClassVar[str] = "<="


@node
class Equal(Comparison):
    """a == b."""

    symbol: ClassVar[str] = "=="


@node
class NotEqual(Comparison):
    """a != b."""

    symbol: ClassVar[str] = "!="


@node
class And(Binary):
    """Both; b is not evaluated where a is false."""

    symbol: ClassVar[str] = "and"


@node
class Or(Binary):
    """Either; b is not evaluated where a is true."""

    symbol: ClassVar[str] = "or"


@node
class Negate(Unary):
    """-a."""

    symbol: ClassVar[str] = "-"


@node
class Not(Unary):
    """Logical not."""

    symbol: ClassVar[str] = "not "


@node
class BitNot(Unary):
    """Bitwise not of an integer."""

    symbol: ClassVar[str] = "~"


@node
class Select(Expr):
    """`then` where `condition`, else `otherwise`; only the chosen one is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    def infer(self) -> Type:
        return self.then.type


@node
class Math(Expr):
    """A pure function of `hidet.ir.functions`, by name; all operands have one type."""

    name: str
    args: tuple[Expr, ...]
    of: DType

    def infer(self) -> Type:
        first = self.args[0].type
        return VectorType(self.of, first.lanes) if isinstance(first, VectorType) else self.of


def select(condition: Value, then: Value, otherwise: Value) -> Expr:
    """`then` where `condition` holds, else `otherwise`; the one not chosen is not evaluated."""
    if isinstance(condition, bool) or not isinstance(condition, Expr):
        raise TypeError(
            "select() takes an expression as condition: `==` is identity here, use .eq() to compare"
        )
    left, right = unify(then, otherwise)
    return Select(condition, left, right)
