"""The one table of converters from ATen operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch as pytorch

from hidet.errors import NotYet
from hidet.frontend.importing.converters import Converters

torch: Converters[Any] = Converters("torch")

aten = pytorch.ops.aten
primitives = pytorch.ops.prims


@dataclass(frozen=True)
class NotComputed:
    """A result that hidet does not compute; whoever reads it keeps the operator in PyTorch."""

    what: str


def overloads(names: Iterable[str], function: Callable[..., Any]) -> dict[Any, Callable[..., Any]]:
    """Rows that give `function` to every overload named, `add.Tensor` or `relu` (its default)."""
    return {overload(name): function for name in names}


def overload(name: str) -> Any:
    """The ATen operator of a name such as `add.Tensor`; without a dot the default overload."""
    base, _, which = name.partition(".")
    return getattr(getattr(aten, base), which or "default")


def require(condition: bool, what: str) -> None:
    """Leave this use of the operator to PyTorch unless the condition holds."""
    if not condition:
        raise NotYet(what)
