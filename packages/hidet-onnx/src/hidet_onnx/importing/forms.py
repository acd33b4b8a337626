"""What a compiled form of a model was made for: an input's form is what the graph must know of it.

A tensor whose type the file declares needs no more. Values are part of a form where shapes depend
on them; lists by their length; what may be absent by whether it is.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.importing.types import Declared


@dataclass(frozen=True)
class Open:
    """A tensor of which nothing is known but its type: as declared, or of this rank and type."""

    dtype: str = ""
    rank: int = -1


@dataclass(frozen=True)
class Fixed:
    """A tensor whose values are known, strings among them."""

    facts: Hashable
    array: np.ndarray[Any, Any] = field(compare=False)


@dataclass(frozen=True)
class Listed:
    """A sequence of so many values."""

    items: tuple[Form, ...]


@dataclass(frozen=True)
class Absent:
    """Nothing: an optional value that is not there, or an initialiser's own value."""


Form: TypeAlias = "Open | Fixed | Listed | Absent"
DECLARED, ABSENT = Open(), Absent()


def form_of(declared: Declared, value: Any, static: Collection[str]) -> Form:
    """The form of a call's value for an input."""
    if value is None:
        if declared.kind != "optional" and not declared.has_default:
            raise BadArgument(f"the input {declared.name!r} may not be None")
        return ABSENT
    if isinstance(value, list | tuple) and declared.kind in ("sequence", "optional"):
        return Listed(tuple(form_of(declared.item(), each, static) for each in value))
    if declared.name in static:
        return fixed(host_array(value))
    if declared.is_plain and not declared.is_item:
        return DECLARED
    if declared.is_text:
        return Open("object", np.ndim(value))
    described = value if hasattr(value, "dtype") and hasattr(value, "shape") else np.asarray(value)
    return Open(str(described.dtype).rpartition(".")[2], len(described.shape))


def fixed(array: np.ndarray[Any, Any]) -> Fixed:
    """The form of a tensor with these values."""
    is_text = array.dtype.kind in "OUS"
    array = texts(array) if is_text else array
    values = tuple(array.flat) if is_text else array.tobytes()
    return Fixed((array.dtype.str, array.shape, values), np.array(array))


def texts(value: Any) -> np.ndarray[Any, Any]:
    """Strings as we keep them, however the caller does."""
    given = np.asarray(value)
    found = np.empty(given.shape, object)
    found[...] = np.array([*map(as_text, given.flat), None], object)[:-1].reshape(given.shape)
    return found


def as_text(value: Any) -> str:
    """A string, however numpy keeps it."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """The values of an input in the host's memory."""
    if isinstance(value, Tensor):
        return value.cpu().numpy()
    if hasattr(value, "cpu"):  # PyTorch's, perhaps on a GPU
        value = value.detach().cpu()
    return np.asarray(value)


def leaves(form: Form, value: Any) -> Iterator[Any]:
    """What a call passes to the graph of this form for a value."""
    if isinstance(form, Open):
        yield value
    elif isinstance(form, Listed):
        for each, item in zip(form.items, value, strict=True):
            yield from leaves(each, item)
