"""Nodes of an fx graph that stay in PyTorch, as host steps of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from hidet.errors import NotYet
from hidet.frontend.staying import HostCall
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_torch.importing.facts import has_effects, is_random, require_device, require_plain
from hidet_torch.importing.foreign import ForeignCall, Number, Slot, host_step
from hidet_torch.importing.sizes import Sizes
from hidet_torch.importing.slices import is_symbolic
from hidet_torch.memory.dtypes import hidet_dtype


class HostCalls:
    """How PyTorch runs nodes of one graph; `values` holds what each node became."""

    def __init__(self, values: Mapping[Any, Any], sizes: Sizes, device: str) -> None:
        self.values, self.sizes, self.device = values, sizes, device

    def of(self, node: torch.fx.Node) -> HostCall:
        """A node as PyTorch runs it; random numbers are drawn in the order of the graph."""
        operands: list[Tensor] = []
        args, kwargs = self.template(node.args, operands), self.template(node.kwargs, operands)
        expected = node.meta.get("val")
        results = expected if isinstance(expected, list | tuple) else [expected]
        if any(isinstance(each, torch.SymInt | torch.SymFloat) for each in results):
            raise NotYet(f"{node.target}, whose results are numbers that depend on data")
        count = sum(isinstance(each, torch.Tensor) for each in results)
        return HostCall(
            str(node.target),
            tuple(operands),
            tuple(
                self.type_of(each) if isinstance(each, torch.Tensor) else None for each in results
            ),
            host_step(ForeignCall(node.target, args, kwargs, tuple(range(count)))),
            effects=is_random(node.target) or has_effects(node.target),
        )

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
        if not self.sizes.told.keys().isdisjoint(e.free_symbols):
            raise NotYet(f"the number {e}, which data tell, outside of the compiled graph")
        names = {each: self.sizes.convert(each).name for each in e.free_symbols}
        kind = float if isinstance(value, torch.SymFloat) else int
        return Number(lambda symbols: kind(e.subs({s: symbols[name] for s, name in names.items()})))

    def type_of(self, value: torch.Tensor) -> TensorType:
        """The type of a result."""
        require_plain(value)
        require_device(value, self.device)
        return TensorType(hidet_dtype(value.dtype), self.sizes.of(value))
