"""Slices of symbolic sizes, where tracing chose each bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from hidet import ops
from hidet.graph import Tensor
from hidet.types import Size
from hidet_torch.importing.sizes import Sizes
from hidet_torch.memory.strides import hint

END = 2**63 - 1
"""PyTorch's largest integer, which stands for the end of an axis."""


def symbolic_slice(
    values: Mapping[torch.fx.Node, Any],
    sizes: Sizes,
    node: Any,
    axis: int = 0,
    start: Any = None,
    stop: Any = None,
    step: int = 1,
) -> Tensor:
    """x[..., start:stop:step, ...] of the tensor that `node` became, by what holds in the trace."""
    x, size = values[node], node.meta["val"].shape[axis]
    if any(map(has_unbacked, (size, example(start), example(stop)))):
        return ops.slice(x, axis, bound(sizes, start), bound(sizes, stop), step)
    first = settled(0 if start is None else example(start), size)
    last = settled(size if stop is None else example(stop), size)
    count = 0 if hint(last) <= hint(first) else (last - first + step - 1) // step
    where = axis % x.ndim
    extents = [sizes.size(count) if a == where else each for a, each in enumerate(x.shape)]
    starts = [sizes.size(first) if a == where else 0 for a in range(x.ndim)]
    return ops.window(x, starts, extents, [step if a == where else 1 for a in range(x.ndim)])


def is_symbolic_slice(node: torch.fx.Node) -> bool:
    """Whether it is a slice along an axis, or with bounds, whose size is a symbol."""
    if node.target is not torch.ops.aten.slice.Tensor:
        return False
    x: Any = node.args[0]
    axis: Any = node.args[1] if len(node.args) > 1 else 0
    return any(map(is_symbolic, [x.meta["val"].shape[axis], *map(example, node.args[2:4])]))


def bound(sizes: Sizes, value: Any) -> Size | None:
    """A slice's bound where data tell sizes, of which examples say nothing."""
    if value is None:
        return None
    end = sizes.size(example(value))
    return None if isinstance(end, int) and end >= END else end


def has_unbacked(value: Any) -> bool:
    """Whether only data tell a number."""
    return bool(free_unbacked_symbols(value)) if isinstance(value, torch.SymInt) else False


def example(value: Any) -> Any:
    """The example value of an argument."""
    return value.meta["val"] if isinstance(value, torch.fx.Node) else value


def settled(bound: Any, size: Any) -> Any:
    """A slice's bound, counted from the front and within the axis, as it is in the example."""
    where = bound + size if hint(bound) < 0 else bound
    if hint(where) <= 0:
        return 0
    return size if hint(where) >= hint(size) else where


def is_symbolic(value: Any) -> bool:
    """Whether it is a number that is known only when the graph runs."""
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)
