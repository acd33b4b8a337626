"""Operators as data: what an operator takes, what it gives, what it means, and how to test it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import chain
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_type_hints,
)

import numpy as np

from hidet.compute import Definition, Grid, Input
from hidet.compute.sizes import numbers
from hidet.errors import BadArgument, ShapeMismatch
from hidet.ir.expr import Expr, Var
from hidet.ir.node import exact
from hidet.types import DType, Size, TensorType

OpKind = Literal["kernels", "framework", "region"]
Types = TensorType | tuple[TensorType, ...]

OPERATORS: dict[str, type[Op]] = {}
"""Every operator by name; complete after `hidet.seams.call("load_operators")`."""


class Nested(ABC):
    """An attribute that holds operators of its own: `hidet.graph.body.Body`."""

    @abstractmethod
    def with_sizes(self, change: Callable[[Expr], Size]) -> Self:
        """The same with each symbolic size within it changed."""

    @property
    @abstractmethod
    def symbols(self) -> tuple[Var, ...]:
        """The symbols of outside that sizes within it mention."""


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """One use of an operator: fields of type TensorType are operands, the others attributes.

    An operand field may also be `TensorType | None` or `tuple[TensorType, ...]`.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[OpKind] = "kernels"
    """What runs it: "kernels" made of its definition, the "framework", which alone knows its
    meaning, or other plans of the archive for the bodies of a "region" of control flow."""
    continuous: ClassVar[bool] = False
    """Whether the definition compares floats only where what it gives is the same on both sides, as
    a relu does at zero: then an operand need not be rounded before it decides."""
    costly: ClassVar[bool] = False
    """Whether an element, though it reads nothing, costs more than to read it from memory: then it
    is computed before the first call, and not again by each reader."""
    within: ClassVar[tuple[float, float]] = (-2.0, 2.0)
    """The range of test values for floating-point operands."""
    factor: ClassVar[float] = 4.0
    """How many units in the last place of the result's type the definition may be off."""

    def infer(self) -> Types:
        """The type of the result, or of each result; raises in the user's words."""
        raise NotImplementedError(type(self).__name__)

    def define(self, *operands: Any) -> Grid | tuple[Grid, ...]:
        """Each element of the results; gets a Grid for each operand, None, or a tuple of Grids."""
        raise NotImplementedError(type(self).__name__)

    def reference(self, *operands: Any) -> Any:
        """The results in numpy, floats in float64; written apart from `define`."""
        raise NotImplementedError(type(self).__name__)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        """Small instances for the tests that every operator has to pass."""
        raise NotImplementedError(cls.__name__)

    def examples(self, seed: int) -> list[Any]:
        """Test values for each operand, in the order of `types`."""
        random = np.random.default_rng(seed)
        return [example(each, random, self.within) for each in self.types()]

    def operator_class(self) -> Any:
        """The operator's class."""
        return type(self)

    def operands(self) -> tuple[Any, ...]:
        """The operand fields' values, in order: a type, None, or a tuple of types."""
        return tuple(getattr(self, name) for name in operand_names(self.operator_class()))

    def attributes(self) -> dict[str, Any]:
        """The other fields by name."""
        operands = operand_names(self.operator_class())
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in operands}

    def types(self) -> tuple[TensorType, ...]:
        """The types of the operands that are there."""
        return tuple(flattened(self.operands()))

    def results(self) -> tuple[TensorType, ...]:
        """The types of the results, always as a tuple."""
        found = self.infer()
        results = found if isinstance(found, tuple) else (found,)
        for each in results:
            if any(isinstance(size, int) and size < 0 for size in each.shape):
                raise ShapeMismatch(f"{self.name} would give {each}, whose sizes are not all sizes")
        return results

    def precisions(self) -> tuple[DType, ...]:
        """For each result the type in whose last places it may be off: its own, unless it is made
        of what was rounded to another."""
        return tuple(each.dtype for each in self.results())

    def arrange(self, values: Iterator[Any] | tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
        """One value for each operand that is there, arranged like the operand fields."""
        supply = iter(values)
        return tuple(
            tuple(next(supply) for _ in each)
            if isinstance(each, tuple)
            else None
            if each is None
            else next(supply)
            for each in self.operands()
        )

    def definition(self) -> Definition:
        """The operator's meaning as grids over its operands."""
        names = self.operand_labels()
        inputs = tuple(map(Input, names, self.types()))
        defined = self.define(*self.arrange(inputs))
        return Definition(inputs, defined if isinstance(defined, tuple) else (defined,))

    def operand_labels(self) -> list[str]:
        """A name for each operand that is there."""
        labels: list[str] = []
        for name, value in zip(operand_names(self.operator_class()), self.operands(), strict=True):
            if isinstance(value, tuple):
                labels += [f"{name}{position}" for position in range(len(value))]
            elif value is not None:
                labels.append(name)
        return labels

    def symbolic_sizes(self) -> Iterator[Expr]:
        """Each symbolic size in types and attributes; of bodies the symbols alone."""
        return (size for f in fields(self) for size in symbolic(getattr(self, f.name)))

    def with_sizes(self, change: Callable[[Expr], Size]) -> Self:
        """The same operator with each symbolic size, in types and attributes, changed."""
        return replace(
            self, **{f.name: resized(getattr(self, f.name), change) for f in fields(self)}
        )

    @cached_property
    def exactly(self) -> tuple[Any, ...]:
        """What tells it from others, bit by bit: a factor of 0.0 is not one of -0.0."""
        return type(self), *(exact(getattr(self, f.name)) for f in fields(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self.exactly == other.exactly

    def __hash__(self) -> int:
        return hash(self.exactly)

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: some classes are made by functions, and cannot be imported.
        return named, (self.name, {f.name: getattr(self, f.name) for f in fields(self) if f.init})

    def __repr__(self) -> str:
        given = ", ".join(f"{f.name}={spelled(getattr(self, f.name))}" for f in fields(self))
        return f"{type(self).__name__}({given})"


def named(name: str, values: dict[str, Any]) -> Op:
    """The operator of that name with these fields."""
    return OPERATORS[name](**values)


K = TypeVar("K", bound=type[Op])


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def operator(name: str) -> Callable[[K], K]:
    """Declare an operator: a frozen dataclass, entered into OPERATORS under `name`."""

    def register(cls: K) -> K:
        if name in OPERATORS:
            raise BadArgument(f"operator {name!r} is declared by {OPERATORS[name]} and by {cls}")
        if not inspect.cleandoc(cls.__dict__.get("__doc__") or ""):
            raise BadArgument(f"operator {name!r} has no docstring", help="say what it computes")
        if cls.samples.__func__ is Op.samples.__func__:  # type: ignore[attr-defined]
            raise BadArgument(f"operator {name!r} has no samples", help="they are its tests")
        # A class without fields of its own is a dataclass by its base already.
        own = inspect.get_annotations(cls)
        made: Any = dataclass(frozen=True, eq=False, repr=False)(cls) if own else cls
        made.name = name
        OPERATORS[name] = made
        return cast(K, made)

    return register


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def family(cls: K) -> K:
    """Declare what several operators share: their fields, and whatever they do alike."""
    return cast(K, dataclass(frozen=True, eq=False, repr=False)(cls))


@cache
def operand_names(kind: Any) -> tuple[str, ...]:
    """The names of the operand fields."""
    hints = get_type_hints(kind)
    return tuple(
        f.name
        for f in fields(kind)
        if hints[f.name] is TensorType or TensorType in get_args(hints[f.name])
    )


def flattened(values: tuple[Any, ...]) -> Iterator[Any]:
    """The values, those in tuples too, without None."""
    for each in values:
        if isinstance(each, tuple):
            yield from each
        elif each is not None:
            yield each


def symbolic(value: Any) -> Iterator[Expr]:
    """The symbolic sizes in a field's value."""
    match value:
        case TensorType():
            yield from symbolic(value.shape)
        case tuple():
            yield from chain.from_iterable(map(symbolic, value))
        case Expr():
            yield value
        case Nested():
            yield from value.symbols


def resized(value: Any, change: Callable[[Expr], Size]) -> Any:
    """A field's value with its symbolic sizes changed."""
    match value:
        case TensorType():
            return value.with_(shape=resized(value.shape, change))
        case tuple():
            return tuple(resized(each, change) for each in value)
        case Expr():
            return change(value)
        case Nested():
            return value.with_sizes(change)
    return value


def spelled(value: Any) -> str:
    """A field's value so that Python reads it back."""
    match value:
        case TensorType(dtype=dtype, shape=()):
            return f"{dtype}[()]"
        case TensorType():
            return str(value)
        case tuple():
            return f"({', '.join(map(spelled, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def example(
    type_: TensorType, random: np.random.Generator, within: tuple[float, float]
) -> np.ndarray[Any, Any]:
    """Random values of a type with known sizes; integers are small, unsigned ones positive."""
    shape = numbers(type_.shape)
    of = type_.dtype
    if of.is_bool:
        return np.asarray(random.random(shape) < 0.5)
    if of.is_float:
        return np.asarray(random.uniform(*within, shape), of.numpy)
    low = 0 if of.limits[0] == 0 else -9
    return np.asarray(random.integers(low, 10, shape)).astype(of.numpy)
