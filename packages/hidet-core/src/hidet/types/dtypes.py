"""Element types and their facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hidet.errors import BadArgument

if TYPE_CHECKING:
    from hidet.types.tensor import PointerType, Size, TensorType


class Kind(StrEnum):
    """What an element type counts."""

    FLOAT = "float"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    BOOL = "bool"


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type. `f32[m, n]` is a tensor of it, `~f32` a pointer to it.

    There is one object for each: they are compared by identity.
    """

    name: str
    short: str
    kind: Kind
    bits: int
    """Bits that tell values apart; in memory an element takes `nbytes`, one at least."""
    numpy: np.dtype[Any]
    """The type that numpy has elements in; asking for one that `ml_dtypes` lacks is an error."""

    nbytes: int = field(init=False)
    """Bytes one element takes in memory."""
    is_float: bool = field(init=False)
    """Whether it is a floating-point type."""
    is_integer: bool = field(init=False)
    """Whether it is a signed or unsigned integer type; bool is not."""
    is_bool: bool = field(init=False)
    """Whether it is the truth type."""
    is_held: bool = field(init=False)
    """Whether numpy holds elements of it, so that there are arrays."""
    limits: tuple[int, int] | tuple[float, float] = field(init=False)
    """The smallest and the largest finite value."""

    def __post_init__(self) -> None:
        # Asked for at every step of every pass, so they are no properties.
        object.__setattr__(self, "nbytes", max(self.bits // 8, 1))
        object.__setattr__(self, "is_float", self.kind is Kind.FLOAT)
        object.__setattr__(self, "is_integer", self.kind in (Kind.SIGNED, Kind.UNSIGNED))
        object.__setattr__(self, "is_bool", self.kind is Kind.BOOL)
        object.__setattr__(self, "limits", limits_of(self))
        object.__setattr__(self, "is_held", self.numpy is not ABSENT)
        if not self.is_held:
            object.__delattr__(self, "numpy")

    def __getattr__(self, name: str) -> Any:
        if name != "numpy":
            raise AttributeError(f"element types have no {name!r}")
        raise BadArgument(
            f"numpy has no {self.name} here", help="pip install 'ml-dtypes>=0.5', which brings it"
        )

    def __str__(self) -> str:
        return self.short

    def __repr__(self) -> str:
        return self.short

    def __getitem__(self, shape: Size | tuple[Size, ...]) -> TensorType:
        return _tensor_type(self, shape if isinstance(shape, tuple) else (shape,))

    def __invert__(self) -> PointerType:
        return _pointer_type(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


def named(name: str) -> DType:
    """The element type of that name."""
    return _BY_NAME[name]


def limits_of(of: DType) -> tuple[int, int] | tuple[float, float]:
    """The smallest and the largest finite value of an element type."""
    if of.is_bool:
        return 0, 1
    if of.kind is Kind.UNSIGNED:
        return 0, 2**of.bits - 1
    if of.kind is Kind.SIGNED:
        return -(2 ** (of.bits - 1)), 2 ** (of.bits - 1) - 1
    if of.name in LIMITS:
        return LIMITS[of.name]
    info = ml_dtypes.finfo(of.numpy)  # type: ignore[no-untyped-call]
    return float(info.min), float(info.max)


LIMITS = {
    "float8_e8m0": (2.0**-127, 2.0**127),
    "float6_e2m3": (-7.5, 7.5),
    "float6_e3m2": (-28.0, 28.0),
    "float4_e2m1": (-6.0, 6.0),
}
"""Of the types that `ml_dtypes` has since 0.5."""
ABSENT: Any = None


def narrow(name: str) -> np.dtype[Any]:
    """A type of `ml_dtypes`. TensorFlow 2.17 allows no version from 0.5 on, which first had the
    narrowest: everything but those works without it."""
    found: Any = getattr(ml_dtypes, name, None)
    made: np.dtype[Any] = ABSENT if found is None else np.dtype(found)
    return made


def _tensor_type(element: DType, shape: tuple[Size, ...]) -> TensorType:
    return _hooks["tensor"](element, shape)  # type: ignore[no-any-return]


def _pointer_type(element: DType) -> PointerType:
    return _hooks["pointer"](element)  # type: ignore[no-any-return]


# Filled by types/tensor.py, which imports this module: `f32[...]` and `~f32` are sugar over it.
_hooks: dict[str, Any] = {}

f64 = DType("float64", "f64", Kind.FLOAT, 64, np.dtype(np.float64))
f32 = DType("float32", "f32", Kind.FLOAT, 32, np.dtype(np.float32))
tf32 = DType("tfloat32", "tf32", Kind.FLOAT, 32, np.dtype(np.float32))
f16 = DType("float16", "f16", Kind.FLOAT, 16, np.dtype(np.float16))
bf16 = DType("bfloat16", "bf16", Kind.FLOAT, 16, np.dtype(ml_dtypes.bfloat16))
f8e4m3 = DType("float8_e4m3", "f8e4m3", Kind.FLOAT, 8, np.dtype(ml_dtypes.float8_e4m3fn))
f8e5m2 = DType("float8_e5m2", "f8e5m2", Kind.FLOAT, 8, np.dtype(ml_dtypes.float8_e5m2))
f8e4m3fnuz = DType(
    "float8_e4m3fnuz", "f8e4m3fnuz", Kind.FLOAT, 8, np.dtype(ml_dtypes.float8_e4m3fnuz)
)
f8e5m2fnuz = DType(
    "float8_e5m2fnuz", "f8e5m2fnuz", Kind.FLOAT, 8, np.dtype(ml_dtypes.float8_e5m2fnuz)
)
f8e8m0 = DType("float8_e8m0", "f8e8m0", Kind.FLOAT, 8, narrow("float8_e8m0fnu"))
f6e2m3 = DType("float6_e2m3", "f6e2m3", Kind.FLOAT, 6, narrow("float6_e2m3fn"))
f6e3m2 = DType("float6_e3m2", "f6e3m2", Kind.FLOAT, 6, narrow("float6_e3m2fn"))
f4e2m1 = DType("float4_e2m1", "f4e2m1", Kind.FLOAT, 4, narrow("float4_e2m1fn"))
i2 = DType("int2", "i2", Kind.SIGNED, 2, narrow("int2"))
i4 = DType("int4", "i4", Kind.SIGNED, 4, np.dtype(ml_dtypes.int4))
i8 = DType("int8", "i8", Kind.SIGNED, 8, np.dtype(np.int8))
i16 = DType("int16", "i16", Kind.SIGNED, 16, np.dtype(np.int16))
i32 = DType("int32", "i32", Kind.SIGNED, 32, np.dtype(np.int32))
i64 = DType("int64", "i64", Kind.SIGNED, 64, np.dtype(np.int64))
u2 = DType("uint2", "u2", Kind.UNSIGNED, 2, narrow("uint2"))
u4 = DType("uint4", "u4", Kind.UNSIGNED, 4, np.dtype(ml_dtypes.uint4))
u8 = DType("uint8", "u8", Kind.UNSIGNED, 8, np.dtype(np.uint8))
u16 = DType("uint16", "u16", Kind.UNSIGNED, 16, np.dtype(np.uint16))
u32 = DType("uint32", "u32", Kind.UNSIGNED, 32, np.dtype(np.uint32))
u64 = DType("uint64", "u64", Kind.UNSIGNED, 64, np.dtype(np.uint64))
boolean = DType("bool", "bool", Kind.BOOL, 8, np.dtype(np.bool_))

DTYPES: tuple[DType, ...] = (
    f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f6e2m3,
    f6e3m2, f4e2m1,
    i2, i4, i8, i16, i32, i64, u2, u4, u8, u16, u32, u64, boolean,
)  # fmt: skip
"""Every element type."""
_BY_NAME = {name: each for each in DTYPES for name in (each.name, each.short)}
_BY_NUMPY = {each.numpy: each for each in DTYPES if each is not tf32 and each.is_held}


def dtype(spelling: str | DType | type | np.dtype[Any]) -> DType:
    """The element type of a name ("float32", "f32"), a numpy type, or a DType itself."""
    if isinstance(spelling, DType):
        return spelling
    if isinstance(spelling, str) and spelling in _BY_NAME:
        return _BY_NAME[spelling]
    try:
        return _BY_NUMPY[np.dtype(spelling)]
    except (TypeError, KeyError, ValueError, SyntaxError):  # of np.dtype, by spelling
        known = ", ".join(each.name for each in DTYPES)
        raise BadArgument(f"there is no element type {spelling!r}", help=f"use {known}") from None
