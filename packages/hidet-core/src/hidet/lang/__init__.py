"""The language of kernels: what a `@hidet.script` function is written with."""

from functools import partial

from hidet.ir.functions import call
from hidet.lang import meta
from hidet.lang.attributes import attr, attrs
from hidet.lang.cuda.inline import asm
from hidet.lang.functions import absolute, cast, cdiv, choose, maximum, minimum, power, printf
from hidet.lang.loops import grid, parallel, static, unroll, vectorize
from hidet.lang.memory import (
    address,
    load,
    register_tensor,
    reinterpret,
    shared_tensor,
    store,
    tensor,
    vector,
)
from hidet.lang.script import ScriptFunction, ScriptModule, script, script_module
from hidet.lang.view import as_tensor_pointer, view
from hidet.mapping import (
    TaskMapping,
    auto_map,
    col_repeat,
    col_spatial,
    repeat,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.types import (
    bf16,
    boolean,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)

bool_ = boolean
float64, float32, tfloat32, float16, bfloat16 = f64, f32, tf32, f16, bf16
float8_e4m3, float8_e5m2 = f8e4m3, f8e5m2
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64

exp, exp2, expm1 = partial(call, "exp"), partial(call, "exp2"), partial(call, "expm1")
log, log2, log10 = partial(call, "log"), partial(call, "log2"), partial(call, "log10")
log1p, sqrt, rsqrt = partial(call, "log1p"), partial(call, "sqrt"), partial(call, "rsqrt")
sin, cos, tan = partial(call, "sin"), partial(call, "cos"), partial(call, "tan")
asin, acos, atan = partial(call, "asin"), partial(call, "acos"), partial(call, "atan")
sinh, cosh, tanh = partial(call, "sinh"), partial(call, "cosh"), partial(call, "tanh")
asinh, acosh, atanh = partial(call, "asinh"), partial(call, "acosh"), partial(call, "atanh")
erf, erfc = partial(call, "erf"), partial(call, "erfc")
floor, ceil, trunc, rint = (partial(call, name) for name in ("floor", "ceil", "trunc", "rint"))
isnan, isinf, isfinite = (partial(call, name) for name in ("isnan", "isinf", "isfinite"))
signbit, atan2, hypot = partial(call, "signbit"), partial(call, "atan2"), partial(call, "hypot")
copysign, fma = partial(call, "copysign"), partial(call, "fma")
pow = power
deref = load
abs = absolute
min = minimum
max = maximum
select = choose

__all__ = [
    "ScriptFunction",
    "ScriptModule",
    "TaskMapping",
    "abs",
    "acos",
    "acosh",
    "address",
    "as_tensor_pointer",
    "asin",
    "asinh",
    "asm",
    "atan",
    "atan2",
    "atanh",
    "attr",
    "attrs",
    "auto_map",
    "bf16",
    "bfloat16",
    "bool_",
    "boolean",
    "cast",
    "cdiv",
    "ceil",
    "col_repeat",
    "col_spatial",
    "copysign",
    "cos",
    "cosh",
    "deref",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "floor",
    "fma",
    "grid",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "isfinite",
    "isinf",
    "isnan",
    "load",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "meta",
    "min",
    "parallel",
    "pow",
    "printf",
    "register_tensor",
    "reinterpret",
    "repeat",
    "rint",
    "row_repeat",
    "row_spatial",
    "rsqrt",
    "script",
    "script_module",
    "select",
    "shared_tensor",
    "signbit",
    "sin",
    "sinh",
    "spatial",
    "sqrt",
    "static",
    "store",
    "tan",
    "tanh",
    "tensor",
    "tf32",
    "tfloat32",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unroll",
    "vector",
    "vectorize",
    "view",
]
