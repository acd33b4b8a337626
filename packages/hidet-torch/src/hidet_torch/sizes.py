"""Symbolic sizes: PyTorch's SymPy expressions as hidet's sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Mod, PythonMod

from hidet.errors import NotYet
from hidet.graph.dims import size_symbol
from hidet.types import Size

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    FloorDiv: lambda a, b: a // b,
    CleanDiv: lambda a, b: a // b,
    Mod: lambda a, b: a % b,
    PythonMod: lambda a, b: a % b,
}


class Sizes:
    """The sizes of one graph: each of PyTorch's symbols becomes one symbol of hidet's."""

    def __init__(self) -> None:
        self.symbols: dict[sympy.Symbol, Any] = {}

    def size(self, value: Any) -> Size:
        """An int, or a SymInt as an expression over this graph's symbols."""
        if isinstance(value, torch.SymInt):
            return self.convert(value.node.expr)
        return int(value)

    def shape(self, value: Any) -> tuple[Size, ...]:
        """Every size of a shape."""
        return tuple(map(self.size, value))

    def convert(self, e: Any) -> Any:
        """A SymPy expression as a size."""
        if isinstance(e, sympy.Integer | int):
            return int(e)
        if isinstance(e, sympy.Symbol):
            if str(e).startswith("u"):
                raise NotYet(f"the size {e}, which depends on data")
            return self.symbols.setdefault(e, size_symbol(str(e)))
        given = [self.convert(each) for each in e.args]
        if isinstance(e, sympy.Add):
            return reduce(lambda a, b: a + b, given)
        if isinstance(e, sympy.Mul):
            return reduce(lambda a, b: a * b, given)
        if isinstance(e, sympy.Pow) and isinstance(given[1], int) and given[1] > 0:
            return reduce(lambda a, b: a * b, [given[0]] * given[1])
        if type(e) in BINARY:
            return BINARY[type(e)](*given)
        raise NotYet(f"the size {e}")
