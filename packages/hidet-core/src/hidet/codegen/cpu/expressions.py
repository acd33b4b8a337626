"""Expressions as C++ with the vector extensions of GCC and Clang."""

from __future__ import annotations

from math import isnan
from typing import cast

from hidet.codegen.common.casts import cast_text
from hidet.codegen.common.expressions import EQUAL, PRIMARY, UNARY, ExpressionWriter, Text
from hidet.codegen.common.functions import TESTS, function_text
from hidet.codegen.common.numbers import decimal, pattern
from hidet.codegen.cpu.prelude import LANES, NATIVE
from hidet.codegen.cpu.vector_math import FAST
from hidet.errors import InternalError
from hidet.ir.expr import (
    Add,
    Address,
    Binary,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Builtin,
    Cast,
    Comparison,
    Const,
    Div,
    Dot,
    Expr,
    Load,
    Math,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    Select,
    ShiftLeft,
    ShiftRight,
    Splat,
    Sub,
    Unary,
    is_vector,
)
from hidet.ir.functions import MADE, NEAR
from hidet.types import DType, PointerType, Type, VectorType, bf16, boolean, f16, f32, f64, tf32

LANEWISE = (Add, Sub, Mul, Div, BitAnd, BitOr, BitXor, BitNot, ShiftLeft, ShiftRight, Negate,
            Minimum, Maximum)  # fmt: skip


class CpuExpressions(ExpressionWriter):
    """C++ has vectors of the usual element types; small floats are computed in float32."""

    def number(self, value: float, of: DType) -> Text:
        self.type(of)
        if of.bits < 32:
            self.used.add("bits")
            return f"bits<{self.type(of)}>((unsigned short){pattern(value, of)})", PRIMARY
        plain = decimal(value, of)
        if plain is not None:
            return plain, UNARY if plain.startswith("-") else PRIMARY
        suffix = "" if of is f64 else "f"
        if value != value:
            return f'__builtin_nan{suffix}("")', PRIMARY
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()", UNARY

    def builtin(self, e: Builtin) -> Text:
        raise InternalError(f"a CPU kernel has no builtin {e.name!r}")

    def cast(self, e: Cast) -> Text:
        if isinstance(e.value, Load) and is_narrow(e.value.type):
            place = Address(e.value.tensor, e.value.index)
            return self.call(f"load_{e.value.dtype.short}<{self.type(e.type)}>", place)
        if is_vector(e):
            return f"__builtin_convertvector({self.spell(e.value)}, {self.type(e.type)})", PRIMARY
        return cast_text(self, e)

    def math(self, e: Math) -> Text:
        operand = e.args[0].dtype
        if e.name in FAST and operand in (f32, tf32):
            return self.call(f"{FAST[e.name]}<{self.type(e.type)}>", *e.args)
        if e.name == "rsqrt" and operand in (f32, tf32, f64):
            return self.call("rsqrt", *e.args)
        tested = e.args[0].value if isinstance(e.args[0], Cast) else e.args[0]
        if tested.type is f16 and e.name in ("isnan", "isinf", "isfinite"):
            return self.call(f"{TESTS[e.name]}_f16", tested)
        text, level = function_text(self, e)
        if e.name in NEAR.values():
            return text, level
        direct = operand in (f32, tf32, f64) and e.name not in TESTS and e.name not in MADE
        return (f"__builtin_{text}" if direct else text), level

    def unary(self, e: Unary) -> Text:
        """One operand; a bool in memory is negated as the byte that it is, of which GCC makes
        vectors."""
        if isinstance(e, Not) and isinstance(e.a, Load) and e.a.type is boolean:
            tensor, (index,) = self.spell(e.a.tensor), e.a.index
            return f"!((const unsigned char *)({tensor}))[{self.spell(index)}]", UNARY
        return super().unary(e)

    def binary(self, e: Binary) -> Text:
        """Two operands; 1 + erf(x), as in GELU, and 1 + exp(x), as in sigmoids, are one function
        each, which costs less than erf or exp."""
        function = after_one(e)
        if function is not None:
            name = f"one_plus_{function.name}_f32<{self.type(e.type)}>"
            return self.call(name, *function.args)
        return super().binary(e)

    def extreme(self, e: Minimum | Maximum) -> Text:
        wide = self.computed_in(e.dtype)
        if wide is not e.dtype:
            return self.text(Cast(type(e)(Cast(e.a, wide), Cast(e.b, wide)), e.dtype))
        name = f"{e.symbol}imum"
        if e.dtype.is_float and is_number(e.b):
            name = "at_most" if isinstance(e, Minimum) else "at_least"
        return self.call(f"{name}<{self.type(e.type)}>", e.a, e.b)

    def wide_load(self, e: Load) -> Text:
        of = cast(VectorType, e.type)
        place = self.spell(Address(e.tensor, e.index))
        if is_native(of):
            return f"*reinterpret_cast<const {self.type(of)}_at *>({place})", UNARY
        self.used.add("load")
        return f"load<{self.type(of.element)}, {of.lanes}>({place})", PRIMARY

    def access(self, e: Expr) -> Text:
        if isinstance(e, Dot):
            name = "dot" if e.b.dtype.is_integer else f"dot_{e.b.dtype.short}"
            return self.call(name, e.total, e.a, e.b)
        if isinstance(e, Load) and e.type is boolean and isinstance(e.tensor.type, PointerType):
            # Of choices by a `bool` in memory GCC makes no vectors, of those by a byte it does.
            bytes_ = f"reinterpret_cast<const unsigned char *>({self.spell(e.tensor)})"
            return f"{bytes_}[{self.spell(e.index[0])}] != 0", EQUAL
        return super().access(e)

    def vector_type(self, of: VectorType) -> str:
        if is_native(of):
            name = f"{of.element.short}x{of.lanes}"
            self.used.add(name)
            return name
        self.used.add("Vec")
        return f"Vec<{self.type(of.element)}, {of.lanes}>"

    def lane(self, vector: Expr, number: int) -> str:
        return f"[{number}]" if is_native(vector.type) else super().lane(vector, number)

    def pack(self, of: VectorType, lanes: tuple[Expr, ...]) -> Text:
        if not is_native(of):
            return super().pack(of, lanes)
        return f"{self.type(of)}{{{', '.join(map(self.spell, lanes))}}}", PRIMARY

    def splat(self, e: Splat) -> Text:
        name = "splat" if is_native(e.type) else "splat_vec"
        return self.call(f"{name}<{self.type(e.type)}>", e.value)

    def narrowed(self, text: str, level: int, e: Expr) -> Text:
        return (text, level) if is_vector(e) else super().narrowed(text, level, e)

    def native(self, e: Expr) -> bool:
        if not is_native(e.type):
            return False
        match e:
            case Cast(Load() as value) if is_narrow(value.type):
                return e.dtype is f32
            case Cast(value):
                source = value.type
                return is_native(source) and converts(source.element, e.dtype)  # type: ignore[union-attr]
            case Math(name, args):
                return (name in FAST or name in NEAR.values()) and args[0].dtype is f32
            case Select(condition, then):
                return not is_vector(condition) or selects(condition, then)
        return isinstance(e, LANEWISE)

    def computed_in(self, of: DType) -> DType:
        return f32 if of.is_float and of.bits < 32 else of


def after_one(e: Binary) -> Math | None:
    """The erf(x) or exp(x) of 1 + erf(x) or 1 + exp(x) in float32; None for other values."""
    if not (isinstance(e, Add) and e.dtype in (f32, tf32)):
        return None
    for one, other in ((e.a, e.b), (e.b, e.a)):
        plain = one.value if isinstance(one, Splat) else one
        is_one = isinstance(plain, Const) and plain.value == 1
        if is_one and isinstance(other, Math) and other.name in ("erf", "exp"):
            return other
    return None


def is_number(e: Expr) -> bool:
    """Whether it is a constant of a float, and not NaN."""
    return isinstance(e, Const) and not isnan(e.value)


def is_native(of: Type) -> bool:
    """Whether the compiler has vectors of this type."""
    return isinstance(of, VectorType) and of.element in NATIVE and of.lanes in LANES


def is_narrow(of: Type) -> bool:
    """Whether it is a vector of floats of 16 bits, which are read as float32."""
    return isinstance(of, VectorType) and of.element in (f16, bf16)


def converts(source: DType, to: DType) -> bool:
    """Whether vectors convert as single values do, also beyond the range of `to`."""
    return not source.is_float or to.is_float or (to.bits >= 32 and to.short != "u32")


def selects(condition: Expr, then: Expr) -> bool:
    """Whether a vector condition chooses among lanes of its own width."""
    if not isinstance(condition, Comparison) or not is_native(condition.a.type):
        return False
    return condition.a.dtype.bits == then.dtype.bits
