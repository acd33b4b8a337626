"""Pooling over windows and over almost equal pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, torch

Each = int | Sequence[int]


def spread(given: Each, rank: int) -> tuple[int, ...]:
    """One number for each spatial axis; PyTorch gives one for all, or each."""
    numbers = (given,) if isinstance(given, int) else tuple(given)
    return numbers * rank if len(numbers) == 1 else numbers


def batched(x: Tensor, rank: int, run: Callable[[Tensor], Any]) -> Any:
    """`run` on x with a batch axis, which is taken off the results again if x had none."""
    if x.ndim == rank + 2:
        return run(x)
    found = run(ops.unsqueeze(x, 0))
    if isinstance(found, tuple):
        return tuple(ops.squeeze(each, 0) for each in found)
    return ops.squeeze(found, 0)


def max_pool(rank: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """The converter for a number of spatial axes."""

    def convert(
        x: Tensor,
        window: Each,
        stride: Each = (),
        padding: Each = 0,
        dilation: Each = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest elements of windows, and where they are; whichever is read is computed."""
        size = spread(window, rank)
        options: dict[str, Any] = {
            "stride": spread(stride, rank) if stride else size,
            "padding": spread(padding, rank),
            "dilation": spread(dilation, rank),
            "ceil_mode": ceil_mode,
        }
        values = batched(x, rank, lambda y: ops.max_pool(y, size, **options))
        both = batched(x, rank, lambda y: ops.max_pool_with_indices(y, size, **options))
        return values, both[1]

    return convert


def avg_pool(rank: int) -> Callable[..., Tensor]:
    """The converter for a number of spatial axes."""

    def convert(
        x: Tensor,
        window: Each,
        stride: Each = (),
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The means of windows."""
        size = spread(window, rank)
        found: Tensor = batched(
            x,
            rank,
            lambda y: ops.avg_pool(
                y,
                size,
                stride=spread(stride, rank) if stride else size,
                padding=spread(padding, rank),
                ceil_mode=ceil_mode,
                count_include_pad=count_include_pad,
                divisor=divisor_override,
            ),
        )
        return found

    return convert


torch(aten.max_pool2d_with_indices.default)(max_pool(2))
torch(aten.max_pool3d_with_indices.default)(max_pool(3))
torch(aten.avg_pool1d.default)(avg_pool(1))
torch(aten.avg_pool2d.default)(avg_pool(2))
torch(aten.avg_pool3d.default)(avg_pool(3))


@torch(
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool3d.default,
    aten.adaptive_avg_pool1d.default,
    aten.adaptive_avg_pool2d.default,
)
def adaptive_avg_pool(x: Tensor, size: Sequence[int]) -> Tensor:
    """The means of almost equal pieces."""
    found: Tensor = batched(x, len(size), lambda y: ops.adaptive_avg_pool(y, tuple(size)))
    return found


@torch(
    aten.adaptive_max_pool2d.default,
    aten.adaptive_max_pool3d.default,
    aten.adaptive_max_pool1d.default,
)
def adaptive_max_pool(x: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of almost equal pieces, and where they are; what is read is computed."""
    values = batched(x, len(size), lambda y: ops.adaptive_max_pool(y, tuple(size)))
    return values, batched(x, len(size), lambda y: ops.adaptive_max_indices(y, tuple(size)))


@torch(aten.max_pool2d_with_indices_backward.default)
def max_pool_backward(slope: Tensor, x: Tensor, *how: Any) -> Tensor:
    """A slope of maxima, added up where these were; `how` ends with their places."""
    where = how[-1]
    flat = (*x.shape[:-2], -1)
    planes = ops.reshape(ops.zeros_like(x), flat)
    found = ops.scatter(planes, -1, ops.reshape(where, flat), ops.reshape(slope, flat), "add")
    return ops.reshape(found, x.shape)
