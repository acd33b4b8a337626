"""Loops that are gone through while transcribing, under the names that users know.

`for i in meta.range(4)` and `for x in meta.each(items)` write their body once for each item.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass

from hidet.ir.expr import Var
from hidet.lang.loops import Static, static
from hidet.types import Type

each = static


@dataclass(frozen=True)
class Types:
    """Parameters as many as there are types, under one name."""

    types: tuple[Type | Var, ...]


def types(types: Iterable[Type | Var]) -> Types:
    """The type of a parameter that stands for several: `args: meta.types([f32[n], i32])`.

    In the body `args` is the tuple of them; a caller passes one argument for each. Variables that
    exist may be given as they are, which expressions of the body may mention then.
    """
    return Types(tuple(types))


def range(*bounds: int) -> Static:
    """The numbers of Python's `range`, which must be known beforehand."""
    return static(builtins.range(*bounds))
