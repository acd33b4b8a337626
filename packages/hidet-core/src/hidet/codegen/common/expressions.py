"""Expressions as C++: what both languages spell alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

from hidet.codegen.common.names import Names
from hidet.codegen.common.numbers import integer
from hidet.codegen.common.signs import Signs
from hidet.errors import InternalError
from hidet.ir.expr import (
    Add,
    Address,
    And,
    Binary,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Builtin,
    Cast,
    Const,
    Div,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Lane,
    Less,
    LessEqual,
    Load,
    Math,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    NotEqual,
    Or,
    Pack,
    Reinterpret,
    Select,
    ShiftLeft,
    ShiftRight,
    Splat,
    Sub,
    TruncDiv,
    TruncMod,
    Unary,
    Var,
    convert,
)
from hidet.types import DType, PointerType, Type, VectorType, f32, f64, u16
from hidet.types.dtypes import Kind

PRIMARY, UNARY, MUL, ADD, SHIFT, LESS, EQUAL, BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY = range(
    16, 3, -1
)
"""How tightly C++ binds; a text of a lower level needs parentheses inside of a higher one."""

OPERATORS: dict[type[Expr], tuple[str, int]] = {
    Add: ("+", ADD),
    Sub: ("-", ADD),
    Mul: ("*", MUL),
    Div: ("/", MUL),
    TruncDiv: ("/", MUL),
    TruncMod: ("%", MUL),
    FloorDiv: ("/", MUL),
    FloorMod: ("%", MUL),
    BitAnd: ("&", BIT_AND),
    BitOr: ("|", BIT_OR),
    BitXor: ("^", BIT_XOR),
    ShiftLeft: ("<<", SHIFT),
    ShiftRight: (">>", SHIFT),
    Less: ("<", LESS),
    LessEqual: ("<=", LESS),
    Equal: ("==", EQUAL),
    NotEqual: ("!=", EQUAL),
    And: ("&&", AND),
    Or: ("||", OR),
    Negate: ("-", UNARY),
    Not: ("!", UNARY),
    BitNot: ("~", UNARY),
}
DIVISIONS: dict[type[Expr], tuple[str, str]] = {
    FloorDiv: ("floor_div", "floor_div_float"),
    FloorMod: ("floor_mod", "floor_mod_float"),
    TruncDiv: ("trunc_div", "trunc_div_float"),
    TruncMod: ("trunc_mod", "trunc_mod_float"),
}
"""The prelude's functions for integers and for floats."""

Text = tuple[str, int]
"""A spelling, and how tightly its outermost operator binds."""


class ExpressionWriter(ABC):
    """Spells the expressions of one kernel; `used` collects the prelude's names it relies on."""

    def __init__(self, names: Names, signs: Signs) -> None:
        self.names = names
        self.signs = signs
        self.used: set[str] = set()

    # ---- what a language decides ---------------------------------------------------------------

    @abstractmethod
    def number(self, value: float, of: DType) -> Text:
        """A floating-point constant."""

    @abstractmethod
    def builtin(self, e: Builtin) -> Text:
        """A value of the hardware."""

    @abstractmethod
    def cast(self, e: Cast) -> Text:
        """A conversion of a value of another type."""

    @abstractmethod
    def math(self, e: Math) -> Text:
        """A pure function."""

    @abstractmethod
    def extreme(self, e: Minimum | Maximum) -> Text:
        """The smaller or larger of two; NaN if either is."""

    @abstractmethod
    def wide_load(self, e: Load) -> Text:
        """Several consecutive elements."""

    @abstractmethod
    def vector_type(self, of: VectorType) -> str:
        """The name of a vector type."""

    @abstractmethod
    def native(self, e: Expr) -> bool:
        """Whether the language computes this vector expression, given its operands."""

    @abstractmethod
    def computed_in(self, of: DType) -> DType:
        """The type in which values of type `of` are added, compared and so on."""

    # ---- spelling ------------------------------------------------------------------------------

    def spell(self, e: Expr, level: int = 0) -> str:
        """`e` as text, in parentheses if it binds less tightly than `level`."""
        text, own = self.text(e)
        return text if own >= level else f"({text})"

    def call(self, function: str, *args: Expr) -> Text:
        """A call of a function of the prelude, or one that the language has."""
        self.used.add(function.partition("<")[0])
        return f"{function}({', '.join(map(self.spell, args))})", PRIMARY

    def type(self, of: Type) -> str:
        """The name of a type."""
        match of:
            case DType():
                self.used.add(of.short)
                return {"i32": "int", "f32": "float", "tf32": "float", "f64": "double"}.get(
                    of.short, of.short
                )
            case VectorType():
                return self.vector_type(of)
            case PointerType(to):
                return f"{self.type(to)} *"
        raise InternalError(f"{of} is not the type of a value")

    def text(self, e: Expr) -> Text:
        """`e` as text, and its level."""
        match e:
            case Var():
                return self.names[e], PRIMARY
            case Const():
                return self.constant(e)
            case Builtin():
                return self.builtin(e)
            case Minimum() | Maximum():
                return self.extreme(e)
            case Binary():
                return self.binary(e)
            case Unary():
                return self.unary(e)
            case Cast():
                return self.cast(e) if e.to is not e.value.dtype else self.text(e.value)
            case Math():
                return self.math(e)
            case Select(condition, then, otherwise):
                parts = (self.spell(x, OR) for x in (condition, then, otherwise))
                return "{} ? {} : {}".format(*parts), TERNARY
        return self.access(e)

    def access(self, e: Expr) -> Text:
        """An expression that touches memory, bits or the lanes of a vector."""
        match e:
            case Load(tensor, index, lanes):
                return (self.element(tensor, index), PRIMARY) if lanes == 1 else self.wide_load(e)
            case Address(tensor, index):
                return self.address(tensor, index)
            case Reinterpret():
                return self.reinterpret(e)
            case Pack(lanes):
                return self.pack(cast(VectorType, e.type), lanes)
            case Splat():
                return self.splat(e)
            case Lane(vector, number):
                return f"{self.spell(vector, PRIMARY)}{self.lane(vector, number)}", PRIMARY
        raise InternalError(f"`{e}` ({type(e).__name__}) has no place in a lowered kernel")

    def lane(self, vector: Expr, number: int) -> str:
        """What selects a lane."""
        return f".v[{number}]"

    def pack(self, of: VectorType, lanes: tuple[Expr, ...]) -> Text:
        """A vector of the given lanes."""
        return f"{self.type(of)}{{{{{', '.join(map(self.spell, lanes))}}}}}", PRIMARY

    def splat(self, e: Splat) -> Text:
        """A vector with one value in every lane."""
        return self.call(f"splat<{self.type(e.type)}>", e.value)

    def constant(self, e: Const) -> Text:
        """A literal."""
        if e.of.is_bool:
            return ("true" if e.value else "false"), PRIMARY
        if e.of.is_float:
            return self.number(float(e.value), e.of)
        self.type(e.of)
        return integer(int(e.value), e.of), PRIMARY if e.value >= 0 and e.of.bits >= 32 else UNARY

    def binary(self, e: Binary) -> Text:
        """Two operands, by operator or, where C++'s means something else, by function."""
        wide = self.computed_in(e.a.dtype)
        if wide is not e.a.dtype:
            found = type(e)(convert(e.a, wide), convert(e.b, wide))
            return self.text(found if e.dtype.is_bool else Cast(found, e.dtype))
        if isinstance(e, FloorDiv | FloorMod | TruncDiv | TruncMod):
            return self.division(e)
        symbol, level = OPERATORS[type(e)]
        left, right = (
            self.spell(e.a, beside(e, e.a, level)),
            self.spell(e.b, beside(e, e.b, level + 1)),
        )
        if isinstance(e, Mul) and e.type is u16:
            left = f"1u * {left}"  # the product of two u16 may exceed an int
        return self.narrowed(f"{left} {symbol} {right}", level, e)

    def narrowed(self, text: str, level: int, e: Expr) -> Text:
        """C++ computes small integers as int; this brings the result back."""
        of = e.dtype
        if of.is_float or of.bits >= 32 or isinstance(e, Not | And | Or) or is_comparison(e):
            return text, level
        return f"({self.type(of)})({text})", UNARY

    def unary(self, e: Unary) -> Text:
        """A prefix operator."""
        wide = self.computed_in(e.a.dtype)
        if wide is not e.a.dtype:
            return self.text(Cast(type(e)(convert(e.a, wide)), e.dtype))
        symbol, level = OPERATORS[type(e)]
        return self.narrowed(symbol + self.spell(e.a, level + 1), level, e)

    def division(self, e: Binary) -> Text:
        """A quotient or remainder; plain where C++'s rounding and traps cannot matter."""
        whole, real = DIVISIONS[type(e)]
        if e.dtype.is_float:
            return self.call(real, e.a, e.b)
        divisor = int(e.b.value) if isinstance(e.b, Const) else None
        if isinstance(e, FloorDiv | FloorMod) and e.dtype.kind is Kind.SIGNED:
            # One that is not known may be 0, which is defined here and traps in C++.
            plain = divisor is not None and divisor > 0 and self.signs.nonnegative(e.a)
            if not plain and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
                return self.masked(e, divisor)
        else:
            plain = divisor not in (None, 0, -1)
            whole = whole.replace("floor", "trunc")
        if not plain:
            return self.call(f"{whole}<{self.type(e.dtype)}>", e.a, e.b)
        symbol, level = OPERATORS[type(e)]
        text = f"{self.spell(e.a, level)} {symbol} {self.spell(e.b, level + 1)}"
        return self.narrowed(text, level, e)

    def masked(self, e: Binary, divisor: int) -> Text:
        """Division by a power of two, rounding down: a shift or a mask, whatever the sign."""
        if isinstance(e, FloorDiv):
            text, level = f"{self.spell(e.a, UNARY)} >> {divisor.bit_length() - 1}", SHIFT
        else:
            text, level = f"{self.spell(e.a, UNARY)} & {divisor - 1}", BIT_AND
        return self.narrowed(text, level, e)

    # ---- memory --------------------------------------------------------------------------------

    def element(self, tensor: Expr, index: tuple[Expr, ...]) -> str:
        """One element of a tensor or behind a pointer, as something that can be assigned to."""
        if len(index) != 1:
            raise InternalError(
                f"`{tensor}` is indexed by {len(index)} numbers; lowered kernels use flat offsets",
                help="run passes.flatten_indices before code generation",
            )
        return f"{self.spell(tensor, PRIMARY)}[{self.spell(index[0])}]"

    def address(self, tensor: Expr, index: tuple[Expr, ...]) -> Text:
        """A pointer to an element."""
        match index:
            case (Const(0),):
                return self.text(tensor)
        return f"&{self.element(tensor, index)}", UNARY

    def reinterpret(self, e: Reinterpret) -> Text:
        """The same bits as another type."""
        if isinstance(e.to, PointerType):
            return f"reinterpret_cast<{self.type(e.to)}>({self.spell(e.value)})", PRIMARY
        return self.call(f"bits<{self.type(e.to)}>", e.value)


def beside(e: Expr, operand: Expr, level: int) -> int:
    """The level from which an operand of `e` goes without parentheses: few readers know all."""
    if type(operand) is type(e):
        return level
    if isinstance(e, BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight):
        return UNARY
    return BIT_OR if isinstance(e, Or) else level


def is_comparison(e: Expr) -> bool:
    """Whether `e` compares."""
    return isinstance(e, Less | LessEqual | Equal | NotEqual)


def libm(name: str, of: DType) -> str:
    """The name that C gives a function of `of`."""
    name = {"abs": "fabs"}.get(name, name)
    if of is f64:
        return name
    if of.bits == f32.bits:
        return f"{name}f"
    raise InternalError(f"{name} of {of} has to be computed in float32")
