"""Pure functions in C++: what both languages spell alike."""

from __future__ import annotations

from hidet.codegen.common.expressions import PRIMARY, ExpressionWriter, Text, libm
from hidet.ir.expr import Cast, Math, convert
from hidet.ir.functions import MADE, NEAR
from hidet.types import f32, f64, tf32

EXACT = {"exp2_approx": "exp2", "exp_nonpositive": "exp"}
"""What stands for functions that may be less exact."""
TESTS = {"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "signbit": "sign_bit"}


def function_text(writer: ExpressionWriter, e: Math) -> Text:
    """A call at full precision; small floats are computed in float32 and rounded once."""
    operand = e.args[0].dtype
    if e.name in MADE:
        return writer.call(e.name, *e.args)
    if e.name in NEAR.values():
        return writer.text(e.args[0])
    if operand.is_integer:  # only abs takes integers as they are
        return writer.call(f"abs_int<{writer.type(operand)}>", *e.args)
    if operand not in (f32, f64, tf32):
        args = tuple(convert(arg, f32) for arg in e.args)
        if e.of.is_bool:
            return writer.text(Math(e.name, args, e.of))
        return writer.text(Cast(Math(e.name, args, f32), e.of))
    if e.name in TESTS:
        return writer.call(TESTS[e.name], *e.args)
    args_text = ", ".join(map(writer.spell, e.args))
    return f"{libm(EXACT.get(e.name, e.name), operand)}({args_text})", PRIMARY
