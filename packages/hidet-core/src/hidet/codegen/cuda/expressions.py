"""Expressions as CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hidet.codegen.common.casts import cast_text
from hidet.codegen.common.expressions import BIT_AND, PRIMARY, UNARY, ExpressionWriter, Text
from hidet.codegen.common.functions import function_text
from hidet.codegen.common.names import Names
from hidet.codegen.common.numbers import decimal, pattern
from hidet.codegen.common.signs import Signs
from hidet.codegen.cuda.narrow import ON_HALVES
from hidet.codegen.cuda.narrow import PARTS as NARROW_PARTS
from hidet.codegen.cuda.prelude import reader
from hidet.codegen.cuda.quotient import spelled
from hidet.errors import InternalError
from hidet.intrinsics.builtins import COORDINATES, SPECIAL_REGISTERS, WARP_IN_BLOCK
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import (
    Address,
    And,
    Builtin,
    Cast,
    Const,
    Expr,
    Load,
    Math,
    Maximum,
    Minimum,
    Sub,
    constant,
)
from hidet.ir.functions import QUOTIENT
from hidet.ir.walk import contains
from hidet.target import ACCESS_BYTES
from hidet.types import DType, PointerType, VectorType, bf16, f16, f32, f64, i8, i32, tf32, u8

HALVES = (f16, bf16)
LINEAR = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"


class CudaExpressions(ExpressionWriter):
    """CUDA has half-precision arithmetic, but no vectors to compute with.

    `loads`: by which function of the prelude whole accesses load of some tensors.
    """

    def __init__(self, names: Names, signs: Signs, loads: Mapping[Expr, str] | None = None) -> None:
        super().__init__(names, signs)
        self.loads = loads or {}

    def number(self, value: float, of: DType) -> Text:
        self.type(of)
        if of is f16:
            return f"__ushort_as_half({pattern(value, of)})", PRIMARY
        if of is bf16:
            return f"__ushort_as_bfloat16({pattern(value, of)})", PRIMARY
        if of.bits == 8:
            self.used.update(("bits", "u8"))
            return f"bits<{self.type(of)}>((u8){pattern(value, of)})", PRIMARY
        plain = decimal(value, of)
        if plain is not None:
            return plain, UNARY if plain.startswith("-") else PRIMARY
        convert = "__longlong_as_double" if of is f64 else "__int_as_float"
        return f"{convert}({pattern(value, of)}{'LL' if of is f64 else ''})", PRIMARY

    def builtin(self, e: Builtin) -> Text:
        if e.name in COORDINATES:
            return f"(int){e.name}", UNARY
        if e.name == WARP_IN_BLOCK:
            return f"((int)({LINEAR}) / 32)", PRIMARY
        if e.name in SPECIAL_REGISTERS:
            return self.call(reader(SPECIAL_REGISTERS[e.name]))
        if e.name == DYNAMIC_SHARED:
            self.used.add(DYNAMIC_SHARED)
            return self._dynamic(e)
        raise InternalError(f"CUDA has no builtin {e.name!r}")

    def _dynamic(self, e: Builtin) -> Text:
        of = cast(DType | PointerType, e.of)
        to = of.to if isinstance(of, PointerType) else of
        return f"reinterpret_cast<{self.type(to)} *>({DYNAMIC_SHARED})", PRIMARY

    def text(self, e: Expr) -> Text:
        if isinstance(e, And) and not contains(e.b, Load) and not contains(e.b, Math):
            # No branch ahead of what costs nothing: a load behind several conditions is predicated.
            return f"{self.spell(e.a, BIT_AND)} & {self.spell(e.b, BIT_AND + 1)}", BIT_AND
        return super().text(e)

    def cast(self, e: Cast) -> Text:
        whole = e.value if e.to is f32 and e.value.dtype is i32 else None
        match whole:
            case Math(QUOTIENT.name, args):
                name, operands = spelled(args, "_float")
                return self.call(name, *operands)
            case Sub(Cast(byte), Const(zero)) if is_byte(byte, zero):
                return self.call("byte_to_float", byte, constant(zero, f32))
            case Cast(byte) if is_byte(byte):
                return self.call("byte_to_float", byte, constant(0, f32))
        return cast_text(self, e)

    def math(self, e: Math) -> Text:
        if e.name == "fma" and e.of in HALVES:
            return self.call("__hfma", *e.args)
        if e.name == QUOTIENT.name:
            name, operands = spelled(e.args)
            return self.call(name, *operands)
        if e.name in NARROW_PARTS or e.name in ON_HALVES.values():
            return self.call(e.name, *e.args)
        if e.name == "exp2_approx" and e.of is f32:
            return self.call("exp2_or_0", *e.args)
        return function_text(self, e)

    def extreme(self, e: Minimum | Maximum) -> Text:
        of = e.dtype
        if of in HALVES:
            return self.call(f"__h{e.symbol}_nan", e.a, e.b)
        if of in (f32, tf32):
            return self.call(f"{e.symbol}_nan", e.a, e.b)
        if of.is_float and of is not f64:
            kind = type(e)
            return self.text(Cast(kind(Cast(e.a, f32), Cast(e.b, f32)), of))
        return self.call(f"{e.symbol}imum<{self.type(of)}>", e.a, e.b)

    def wide_load(self, e: Load) -> Text:
        whole = e.lanes * e.dtype.nbytes == ACCESS_BYTES
        load = self.loads.get(e.tensor, "load") if whole else "load"
        self.used.add(load)
        place = self.spell(Address(e.tensor, e.index))
        return f"{load}<{self.type(e.dtype)}, {e.lanes}>({place})", PRIMARY

    def vector_type(self, of: VectorType) -> str:
        self.used.add("Vec")
        return f"Vec<{self.type(of.element)}, {of.lanes}>"

    def native(self, e: Expr) -> bool:
        return False

    def computed_in(self, of: DType) -> DType:
        return f32 if of.is_float and of.bits == 8 else of


def is_byte(e: Expr, zero: float = 0) -> bool:
    """Whether a value is a byte, and so is a zero point, in size."""
    return e.dtype in (i8, u8) and abs(zero) <= u8.limits[1]
