"""Inputs that do not lie as kernels read them, copied without gaps; users are told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hidet import seams
from hidet.build.arguments import current_stream
from hidet.build.eager import as_tensor, executor_for, given_view, type_of
from hidet.build.permuted import Permuted
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.rows import in_rows
from hidet.types.strides import dense_order, inverse


def packed(value: Any, threads: Callable[[], int]) -> Any | None:
    """A copy without gaps on the same device, by our own threads or by the value's library; None
    if there is no way to make one."""
    if isinstance(value, np.ndarray):
        return in_rows(value, threads)
    if isinstance(value, Permuted):
        return by_kernel(value)
    contiguous = getattr(value, "contiguous", None)
    if callable(contiguous):
        return contiguous()
    if getattr(value, "__dlpack_device__", lambda: (0, 0))()[0] == CPU:
        return in_rows(np.from_dlpack(value), threads)
    return None


CPU = 1
"""The host in DLPack's words."""


def by_kernel(value: Permuted) -> Tensor:
    """A copy of a tensor of ours, on the caller's stream: the memory is there for work on that."""
    tensor = value.tensor
    x = Tensor(tensor.type, tensor.device)
    graph = FlowGraph([x], [seams.call("load_operators")["permute"](x, value.order)])
    stream = 0 if tensor.device == "cpu" else current_stream(tensor.device)
    (view,) = executor_for(graph)([given_view(tensor)], stream=stream)
    return as_tensor(view, type_of(view))


def copy_notice(called: str, value: Any, order: Sequence[int]) -> str:
    """That each call copies an input, why, and how to do without.

    `value` has its axes in the `order` in which the graph reads it.
    """
    back, rows = inverse(order), tuple(range(len(order)))
    reads, once = "in rows", "`numpy.ascontiguousarray(x)` or `x.contiguous()` copies it once"
    if back != rows:
        reads = f"in rows of its axes {tuple(order)}"
        copy = f"numpy.ascontiguousarray(x.transpose{tuple(order)}).transpose{back}"
        if hasattr(value, "permute"):
            copy = f"x.permute{tuple(order)}.contiguous().permute{back}"
        once = f"`{copy}` copies it once"
    steps = strides_of(value)
    if steps is None:
        return f"each call copies {called}, which the graph reads {reads}: {once}"
    shape, strides = (tuple(each[axis] for axis in back) for each in (value.shape, steps))
    found = dense_order(shape, strides)
    other = "" if found is None else f"; a graph built for the order {found} takes it as it lies"
    said = f"each call copies {called} of strides {strides}, which the graph reads {reads}"
    return f"{said}: {once}{other}"


def strides_of(value: Any) -> Sequence[int] | None:
    """How many elements lie between neighbours along each axis, if the array says it."""
    stride = getattr(value, "stride", None)
    if callable(stride):
        return tuple(stride())
    if hasattr(value, "strides") and hasattr(value, "itemsize"):
        return tuple(step // value.itemsize for step in value.strides)
    return None
