"""Functions of one or two elements, declared as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from hidet.compute import Grid, arithmetic, elementwise
from hidet.compute.sizes import broadcast
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.ops.tensors.create import CONVERSION, Scalar, scalar, scalar_type
from hidet.types import (
    DTYPES,
    DType,
    TensorType,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    promote,
    u8,
)

FLOAT = tuple(each for each in DTYPES if each.is_float)
INTEGER = tuple(each for each in DTYPES if each.is_integer)
REAL = FLOAT + INTEGER
ANY = (*REAL, boolean)
WHOLE = (*INTEGER, boolean)

Gives = Literal["same", "float", "bool"]
"""What type a family's results have: the operands', at least float32 for integers, or bool."""

SAMPLED = (f32, f16, bf16, f64, i32, i64, i8, u8, boolean)


class UnaryFunction(Protocol):
    """A public function of one tensor."""

    __name__: str

    def __call__(self, x: Tensor) -> Tensor: ...


class BinaryFunction(Protocol):
    """A public function of two tensors, or a tensor and a number; `dtype` overrides promotion."""

    __name__: str

    def __call__(
        self, x: Tensor | Scalar, y: Tensor | Scalar, *, dtype: DType | None = None
    ) -> Tensor: ...


@family
class Unary(Op):
    """A function of each element."""

    x: TensorType

    value: ClassVar[Callable[[Any], Any]]
    numpy: ClassVar[Callable[[Any], Any]]
    gives: ClassVar[Gives]
    dtypes: ClassVar[tuple[DType, ...]]

    def infer(self) -> TensorType:
        check_dtype(self.name, self.x.dtype, self.dtypes)
        return result_type(self.x.dtype, self.gives)[self.x.shape]

    def define(self, x: Grid) -> Grid:
        kind = type(self)
        wide = self.infer().dtype if self.gives == "float" else x.dtype
        value = elementwise(lambda v: kind.value(v.cast(arithmetic(wide))), x)
        return value.cast(self.infer().dtype)

    def reference(self, x: Any) -> Any:
        return type(self).numpy(x.astype(np.float64) if self.gives == "float" else x)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        found = sampled(cls.dtypes)
        for each in found:
            yield cls(each[7, 33])
        yield cls(found[0][()])
        yield cls(found[0][3, 0])


@family
class Binary(Op):
    """A function of two elements; shapes broadcast, types promote unless `dtype` says to what."""

    x: TensorType
    y: TensorType
    dtype: DType | None = None

    value: ClassVar[Callable[[Any, Any], Any]]
    numpy: ClassVar[Callable[[Any, Any], Any]]
    gives: ClassVar[Gives]
    dtypes: ClassVar[tuple[DType, ...]]
    second: ClassVar[tuple[int, int] | None] = None
    """Bounds of the second operand's test values, where not all have a meaning."""

    def common(self) -> DType:
        """The type to which both operands are brought."""
        found = self.dtype or promote(self.x.dtype, self.y.dtype)
        return result_type(found, "float") if self.gives == "float" else found

    def infer(self) -> TensorType:
        check_dtype(self.name, self.common(), self.dtypes)
        return result_type(self.common(), self.gives)[broadcast(self.x.shape, self.y.shape)]

    def define(self, x: Grid, y: Grid) -> Grid:
        kind, common = type(self), self.common()
        wide = common if self.gives == "bool" else arithmetic(common)
        value = elementwise(lambda a, b: kind.value(a.cast(wide), b.cast(wide)), x, y)
        return value.cast(self.infer().dtype)

    def reference(self, x: Any, y: Any) -> Any:
        to = np.float64 if self.common().is_float else self.common().numpy
        return type(self).numpy(x.astype(to), y.astype(to))

    def examples(self, seed: int) -> list[Any]:
        x, y = super().examples(seed)
        return [x, y if self.second is None else np.clip(y, *self.second).astype(y.dtype)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        found = sampled(cls.dtypes)
        for each in found:
            yield cls(each[5, 17], each[5, 17])
        first, second = found[0], found[-1]
        yield cls(first[3, 1, 7], first[5, 1])
        yield cls(first[()], second[4])
        yield cls(first[0, 3], first[3])


def unary(
    name: str, doc: str, value: Callable[[Any], Any], reference: Callable[[Any], Any], *,
    gives: Gives = "same", dtypes: tuple[DType, ...] = REAL, within: tuple[float, float] = (-3, 3),
    factor: float = 4.0, continuous: bool = False,
) -> UnaryFunction:  # fmt: skip
    """Declare an operator of one operand; gives its public function."""
    kind = declare(Unary, name, doc, value, reference, gives, dtypes, within, factor)
    kind.continuous = continuous

    def function(x: Tensor) -> Tensor:
        return apply(kind, x)

    made: UnaryFunction = named(function, name, doc)
    return made


def binary(
    name: str, doc: str, value: Callable[[Any, Any], Any], reference: Callable[[Any, Any], Any], *,
    gives: Gives = "same", dtypes: tuple[DType, ...] = REAL, within: tuple[float, float] = (-3, 3),
    factor: float = 4.0, second: tuple[int, int] | None = None, continuous: bool = False,
) -> BinaryFunction:  # fmt: skip
    """Declare an operator of two operands; `second` bounds the second one in tests."""
    kind = declare(Binary, name, doc, value, reference, gives, dtypes, within, factor)
    kind.continuous = continuous
    kind.second = second  # type: ignore[attr-defined]

    def function(x: Tensor | Scalar, y: Tensor | Scalar, *, dtype: DType | None = None) -> Tensor:
        return apply(kind, *pair(x, y), dtype=pair_type(x, y, dtype))

    made: BinaryFunction = named(function, name, doc)
    return made


def declare(
    base: type[Op], name: str, doc: str, value: Any, reference: Any, gives: Gives,
    dtypes: tuple[DType, ...], within: tuple[float, float], factor: float,
) -> type[Op]:  # fmt: skip
    """The operator class of a row."""
    facts = {
        "__doc__": doc,
        "__module__": value.__module__,
        "value": staticmethod(value),
        "numpy": staticmethod(reference),
        "gives": gives,
        "dtypes": dtypes,
        "within": within,
        "factor": factor,
    }
    class_name = "".join(part.capitalize() for part in name.split("_"))
    return operator(name)(type(class_name, (base,), facts))


def named(function: Any, name: str, doc: str) -> Any:
    """The function under its public name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def pair(x: Tensor | Scalar, y: Tensor | Scalar) -> tuple[Tensor, Tensor]:
    """Both operands as tensors, a number as a scalar beside the other."""
    if isinstance(x, Tensor):
        return x, y if isinstance(y, Tensor) else scalar(y, x)
    if isinstance(y, Tensor):
        return scalar(x, y), y
    raise BadArgument("one of the operands must be a tensor", help=CONVERSION)


def pair_type(x: Tensor | Scalar, y: Tensor | Scalar, dtype: DType | None) -> DType | None:
    """The type a number beside a tensor leads to; None where promotion decides."""
    if dtype is not None or (isinstance(x, Tensor) and isinstance(y, Tensor)):
        return dtype
    tensor, number = (x, y) if isinstance(x, Tensor) else (y, x)
    if isinstance(number, Tensor) or not isinstance(tensor, Tensor):
        raise BadArgument("one of the operands must be a tensor", help=CONVERSION)
    return scalar_type(number, tensor.dtype)


def check_dtype(name: str, given: DType, allowed: tuple[DType, ...]) -> None:
    """Raise if an operator has no meaning for a type."""
    if given not in allowed:
        known = ", ".join(each.name for each in allowed)
        raise DtypeMismatch(f"{name} does not take {given.name}", help=f"it takes {known}")


def sampled(allowed: tuple[DType, ...]) -> list[DType]:
    """The types of an operator's samples."""
    return [each for each in SAMPLED if each in allowed]


def result_type(of: DType, gives: Gives) -> DType:
    """The type of a family's results."""
    if gives == "bool":
        return boolean
    return f32 if gives == "float" and not of.is_float else of
