"""Nodes of an fx graph that stay in PyTorch: Foreign operators, and the calls behind them."""

from __future__ import annotations

from typing import Any

import torch

from hidet.errors import NotYet
from hidet.graph import Foreign, Tensor, apply_all
from hidet.graph.foreign import ResultTypes
from hidet.types import TensorType, u8
from hidet_torch.dtypes import hidet_dtype
from hidet_torch.facts import has_effects, is_random, require_device, require_plain
from hidet_torch.foreign import ForeignCall, Number, Slot
from hidet_torch.sizes import Sizes
from hidet_torch.slices import is_symbolic


class Staying:
    """The calls of one graph by key; `values` holds what each node became."""

    def __init__(self, values: dict[torch.fx.Node, Any], sizes: Sizes, device: str) -> None:
        self.values, self.sizes, self.device = values, sizes, device
        self.calls: dict[str, ForeignCall] = {}
        self.token: Tensor | None = None
        """What the last call that draws random numbers, or has effects, gives to the next one."""

    def add(self, node: torch.fx.Node) -> None:
        """A node that PyTorch runs; those whose order matters in a chain, which keeps it."""
        operands: list[Tensor] = []
        args, kwargs = self.template(node.args, operands), self.template(node.kwargs, operands)
        expected = node.meta.get("val")
        results = expected if isinstance(expected, list | tuple) else [expected]
        tensors = [n for n, each in enumerate(results) if isinstance(each, torch.Tensor)]
        if any(isinstance(each, torch.SymInt | torch.SymFloat) for each in results):
            raise NotYet(f"{node.target}, whose results are numbers that depend on data")
        types = [self.type_of(results[number]) for number in tensors]
        ordered = is_random(node.target) or has_effects(node.target)
        if ordered:
            operands += [] if self.token is None else [self.token]
            types.append(TensorType(u8, (1,)))
        key = f"{len(self.calls)}:{node.target}"
        flat = range(len(tensors))
        self.calls[key] = ForeignCall(node.target, args, kwargs, tuple(flat))
        made = apply_all(
            Foreign, tuple(operands), key=key, gives=ResultTypes(types), device=self.device
        )
        if ordered:
            self.token = made[-1]
        placed_ = dict(zip(tensors, made, strict=False))
        many = tuple(placed_.get(number) for number in range(len(results)))
        self.values[node] = many if isinstance(expected, list | tuple) else many[0]

    def template(self, value: Any, operands: list[Tensor]) -> Any:
        """Arguments with places for the values that a call brings."""
        match value:
            case torch.fx.Node():
                example = value.meta.get("val")
                if self.values[value] is None:  # a token, which is for nothing but the order
                    return None
                if isinstance(example, torch.Tensor):
                    require_device(example, self.device)
                    operands.append(self.values[value])
                    sizes, strides = (
                        tuple(map(self.number, each)) for each in (example.shape, example.stride())
                    )
                    return Slot(len(operands) - 1, example.dtype, sizes, strides)
                return self.number(example) if is_symbolic(example) else self.values[value]
            case list() | tuple():
                return [self.template(each, operands) for each in value]
            case dict():
                return {key: self.template(each, operands) for key, each in value.items()}
        return value

    def number(self, value: Any) -> Any:
        """A symbolic number as something that reads it from the symbols of a call."""
        if not is_symbolic(value):
            return value
        e = value.node.expr
        names = {each: self.sizes.convert(each).name for each in e.free_symbols}
        kind = float if isinstance(value, torch.SymFloat) else int
        return Number(lambda symbols: kind(e.subs({s: symbols[name] for s, name in names.items()})))

    def type_of(self, value: torch.Tensor) -> TensorType:
        """The type of a result."""
        require_plain(value)
        require_device(value, self.device)
        return TensorType(hidet_dtype(value.dtype), self.sizes.of(value))
