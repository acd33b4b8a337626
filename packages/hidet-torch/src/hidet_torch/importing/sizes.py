"""Symbolic sizes: PyTorch's SymPy expressions as hidet's sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import (
    CeilDiv,
    CleanDiv,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    OpaqueUnaryFn_exp,
    OpaqueUnaryFn_log,
    OpaqueUnaryFn_log2,
    OpaqueUnaryFn_sqrt,
    PowByNatural,
    PythonMod,
    ToFloat,
)

from hidet import ops
from hidet.compute import maximum, minimum
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.graph.dims import size_symbol
from hidet.ir.expr import wrap
from hidet.types import Size, f64
from hidet_torch.importing.imported import LiveInput

NO_NAMES: Mapping[sympy.Symbol, str] = MappingProxyType({})

REAL: dict[type, Callable[..., Tensor]] = {
    ToFloat: lambda a: a,
    IntTrueDiv: ops.divide,
    FloatTrueDiv: ops.divide,
    FloatPow: ops.pow,
    sympy.Pow: ops.pow,
    sympy.Add: ops.add,
    sympy.Mul: ops.multiply,
    OpaqueUnaryFn_sqrt: ops.sqrt,
    OpaqueUnaryFn_log: ops.log,
    OpaqueUnaryFn_log2: ops.log2,
    OpaqueUnaryFn_exp: ops.exp,
}

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    FloorDiv: lambda a, b: a // b,
    CleanDiv: lambda a, b: a // b,
    Mod: lambda a, b: a % b,
    PythonMod: lambda a, b: a % b,
    CeilDiv: lambda a, b: (a + (b - 1)) // b,
    Max: lambda a, b: maximum(wrap(a), b),
    Min: lambda a, b: minimum(wrap(a), b),
}


class Sizes:
    """The sizes of one graph: each of PyTorch's symbols becomes one symbol of hidet's.

    `names` says what a symbol is called here; those that it does not have keep PyTorch's name.
    """

    def __init__(self, names: Mapping[sympy.Symbol, str] = NO_NAMES) -> None:
        self.names = names
        self.symbols: dict[sympy.Symbol, Any] = {}
        self.data_sizes: dict[sympy.Symbol, Size] = {}
        """The data-dependent sizes: `u0` of PyTorch's, once a node has been converted that has
        it."""

    def name(self, symbol: sympy.Symbol) -> str:
        """What a symbol is called."""
        return self.names.get(symbol, str(symbol))

    def learn(self, shape: Sequence[Any], found: Sequence[Size]) -> None:
        """Note the sizes in PyTorch's shape of a result that data tell, which it has found."""
        for size, here in zip(shape, found, strict=False):
            if isinstance(size, torch.SymInt):
                self.tell(size.node.expr, here)

    def tell(self, e: Any, size: Size) -> None:
        """Note a data-dependent size, by what PyTorch calls it."""
        if isinstance(e, sympy.Symbol) and str(e).startswith("u"):
            self.data_sizes.setdefault(e, size)

    def has_data_sizes(self, value: Any) -> bool:
        """Whether a size depends on data."""
        return isinstance(value, torch.SymInt) and not self.data_sizes.keys().isdisjoint(
            value.node.expr.free_symbols
        )

    def size(self, value: Any) -> Size:
        """An int, or a SymInt as an expression over this graph's symbols."""
        if isinstance(value, torch.SymInt):
            return self.convert(value.node.expr)
        return int(value)

    def real(self, e: Any, device: str) -> Tensor:
        """A SymPy expression of real numbers as a 0-d tensor of float64, as Python has them."""
        if not getattr(e, "free_symbols", None):
            return ops.full((), float(e), f64, device=device)
        if e.is_integer and not isinstance(e, ToFloat):
            return ops.size_value(self.convert(e), f64, device=device)
        given = [self.real(each, device) for each in e.args]
        function = REAL.get(type(e))
        if function is None:
            raise NotYet(f"the number {e}")
        return reduce(function, given) if len(given) > 1 else function(given[0])

    def of(self, value: torch.Tensor) -> tuple[Any, ...]:
        """The shape of a tensor in hidet; complex numbers are pairs."""
        return (*self.shape(value.shape), *((2,) if value.is_complex() else ()))

    def shape(self, value: Any) -> tuple[Size, ...]:
        """Every size of a shape."""
        return tuple(map(self.size, value))

    def convert(self, e: Any) -> Any:
        """A SymPy expression as a size."""
        if isinstance(e, sympy.Integer | int):
            return int(e)
        if isinstance(e, sympy.Symbol):
            if e in self.data_sizes:
                return self.data_sizes[e]
            if str(e).startswith("u"):
                raise NotYet(f"the size {e}, which depends on data")
            return self.symbols.setdefault(e, size_symbol(self.name(e)))
        given = [self.convert(each) for each in e.args]
        if isinstance(e, sympy.Add):
            return reduce(lambda a, b: a + b, given)
        if isinstance(e, sympy.Mul):
            return reduce(lambda a, b: a * b, given)
        if isinstance(e, sympy.Pow | PowByNatural) and isinstance(given[1], int) and given[1] > 0:
            return reduce(lambda a, b: a * b, [given[0]] * given[1])
        if type(e) in BINARY:
            return reduce(BINARY[type(e)], given)
        raise NotYet(f"the size {e}")


def data_sizes_among(
    inputs: Sequence[LiveInput], sizes: Sizes, numbers: Mapping[str, int]
) -> dict[str, tuple[int, int | None]]:
    """From which argument each size is read: an axis of a tensor, or the argument itself, whose
    place `numbers` says."""
    found: dict[str, tuple[int, int | None]] = {}
    for live in inputs:
        shape = live.tensor.made_type.shape  # before anything was assumed
        for place, size in enumerate(shape[: len(live.order)]):
            if not isinstance(size, int):
                found.setdefault(getattr(size, "name", ""), (live.position, live.order[place]))
    found.pop("", None)
    for size in sizes.symbols.values():
        if size.name not in found:
            if size.name not in numbers:
                raise NotYet(f"the size {size.name}, which no input tells")
            found[size.name] = (numbers[size.name], None)
    return found
