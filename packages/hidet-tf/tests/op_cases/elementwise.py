"""Functions of one or of several elements."""

import numpy as np
import tensorflow as tf

from op_cases.case import Case, case, floats, positive, truths, whole

raw = tf.raw_ops
SPECIAL = np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, 2.5, -1.5, 0.5]], np.float32)
ANY = np.concatenate([SPECIAL, floats(7, 8)])


def one(name: str, x: np.ndarray, **more: object) -> Case:
    """An operator of one operand called `x`."""
    return case(name, lambda x: getattr(raw, name)(x=x), x, **more)


def two(name: str, x: np.ndarray, y: np.ndarray, **more: object) -> Case:
    """An operator of operands called `x` and `y`."""
    suffix = "" if x.dtype == np.float32 else f"-{x.dtype}"
    return case(name + suffix, lambda x, y: getattr(raw, name)(x=x, y=y), x, y, **more)


A, B = floats(7, 13), floats(7, 13, salt="b")
WHOLE, DIVISORS = whole(7, 11), whole(7, 11, low=1, high=5) * np.int32([-1, 1] * 5 + [1])
CASES = [
    *(one(name, ANY) for name in (
        "Abs", "Neg", "Floor", "Ceil", "Round", "Rint", "Square", "Exp", "Expm1", "Sin", "Cos",
        "Atan", "Sinh", "Cosh", "Asinh", "Erfc", "IsNan", "IsInf", "IsFinite", "Sign",
    )),
    *(one(name, positive(7, 13)) for name in (
        "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Log", "Log1p",
    )),
    *(one(name, floats(7, 13, low=-0.9, high=0.9)) for name in ("Asin", "Acos", "Atanh", "Tan")),
    one("Erf", A),
    one("Lgamma", np.concatenate([SPECIAL, floats(7, 8, low=-3, high=30)]), ulps=64),
    one("Digamma", floats(7, 13, low=0.1, high=20), ulps=64),
    one("Erfinv", np.concatenate([floats(7, 8, low=-1, high=1), SPECIAL / 2.5]), ulps=16),
    one("Acosh", positive(7, 13) + 1),
    one("Sign", WHOLE, is_open=False),
    one("LogicalNot", truths(5, 3)),
    one("Invert", WHOLE),
    *(two(name, A, B) for name in (
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "Atan2", "FloorDiv",
        "FloorMod", "Mod", "TruncateMod", "SquaredDifference", "Equal", "NotEqual", "Less",
        "LessEqual", "Greater", "GreaterEqual", "DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py",
    ) if name not in ("Atan2", "Xlogy", "Xlog1py")),
    two("Atan2", A, B),
    two("Xlogy", A, positive(7, 13)),
    two("Xlog1py", A, positive(7, 13)),
    *(two(name, WHOLE, DIVISORS) for name in (
        "AddV2", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "TruncateDiv",
        "Maximum", "Minimum", "Less", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
    )),
    *(two(name, WHOLE, whole(7, 11, low=0, high=9)) for name in ("LeftShift", "RightShift")),
    *(two(name, truths(5, 3), truths(5, 3, salt="b")) for name in ("LogicalAnd", "LogicalOr")),
    *(two(name, ANY, ANY[:1], is_open=False)
      for name in ("Maximum", "Minimum", "MulNoNan", "DivNoNan")),
    case("Add-broadcast", lambda x, y: x + y, floats(7, 1, 5), floats(3, 1), is_open=False),
    two("Pow", positive(7, 5), floats(7, 5)),
    two("Pow", whole(7, 5), whole(7, 5, low=0, high=4)),
    *(case(f"Pow-{n}", lambda x, n=n: x**n, A) for n in (1, 2, 3, 4)),
    case("AddN", lambda x, y, z: raw.AddN(inputs=[x, y, z]), A, B, A),
    case("ClipByValue", lambda x: tf.clip_by_value(x, -0.5, tf.cast(0.25, x.dtype)), ANY),
    case("ClipByValue-raw", lambda x: raw.ClipByValue(
        t=x, clip_value_min=tf.cast(-0.5, x.dtype), clip_value_max=tf.cast(0.25, x.dtype)), ANY),
    case("ApproximateEqual", lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=0.5), A, B),
]  # fmt: skip
