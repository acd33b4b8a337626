"""What the annotations of records and parts say: which kind of value is meant.

A type checker takes each of them for `Any`: the values themselves are expressions of the IR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from hidet.lang.memory import Distributed
from hidet.lang.values import is_number, is_pointer, is_scalar, is_tensor
from hidet.types import Scope, TensorMapType


@dataclass(frozen=True)
class Kind:
    """A kind of value of a running kernel."""

    spoken: str
    holds: Callable[[Any], bool]
    is_number: bool = False
    """Whether a thread has its own value, which may be assigned."""


def is_whole(value: Any) -> bool:
    """Whether it is an integer, known or not."""
    known = isinstance(value, int) and not isinstance(value, bool)
    return known or (is_scalar(value) and value.dtype.is_integer)


def is_real(value: Any) -> bool:
    """Whether it is a number with a fraction, known or not."""
    return value.dtype.is_float if is_scalar(value) else isinstance(value, float)


def is_truth(value: Any) -> bool:
    """Whether it is a truth value, known or not."""
    return value.dtype.is_bool if is_scalar(value) else isinstance(value, bool)


def lies_in(*scopes: Scope) -> Callable[[Any], bool]:
    """The test whether a value is a tensor in one of the scopes."""
    return lambda value: is_tensor(value) and value.type.scope in scopes


def is_held(value: Any) -> bool:
    """Whether it is a tensor in registers, perhaps spread over workers."""
    return isinstance(value, Distributed) or lies_in(Scope.REGISTER)(value)


def is_map(value: Any) -> bool:
    """Whether it is a tensor map."""
    return isinstance(getattr(value, "type", None), TensorMapType)


Int = Annotated[Any, Kind("an integer", is_whole, True)]
"""An integer, known or not before a kernel runs: for fields of records and parameters of parts."""
Float = Annotated[Any, Kind("a float", is_real, True)]
"""A float, known or not before the kernel runs."""
Bool = Annotated[Any, Kind("a truth value", is_truth, True)]
"""A truth value, known or not before the kernel runs."""
Global = Annotated[Any, Kind("a tensor in global memory", lies_in(Scope.GLOBAL))]
"""A tensor in global memory."""
Shared = Annotated[Any, Kind("a tensor in shared memory", lies_in(Scope.SHARED))]
"""A tensor in shared memory."""
Registers = Annotated[Any, Kind("a tensor in registers", is_held)]
"""A tensor in registers, of one thread or distributed over several."""
Pointer = Annotated[Any, Kind("a pointer", is_pointer)]
"""A pointer."""
Map = Annotated[Any, Kind("a tensor map", is_map)]
"""A tensor map, with which the copy engine finds tiles of a tensor."""

KNOWN = (int, float, bool, str)
"""Python types whose values are known while a script is transcribed."""


def kind_in(annotation: Any) -> Kind | None:
    """The kind that an annotation says; None if it is one of Python's types."""
    said = getattr(annotation, "__metadata__", ())
    return next((each for each in said if isinstance(each, Kind)), None)


def mistaken(annotation: Any, value: Any) -> str | None:
    """What an annotation asks for, if the value is nothing of that kind; None if it is."""
    kind = kind_in(annotation)
    if kind is not None:
        return None if kind.holds(value) else kind.spoken
    unknown = annotation in KNOWN and not (is_number(value) or isinstance(value, str))
    return f"`{annotation.__name__}`, known while transcribing" if unknown else None
