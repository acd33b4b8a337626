"""Nodes of CUDA graphs that copy memory of the device or clear it, and how they are changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.runtime.devices.driver import call, cu


class Copy:
    """A node that copies `nbytes` bytes of buffer `source`, from byte `offset` on, into buffer
    `target`."""

    def __init__(self, target: int, source: int, nbytes: int, offset: int = 0) -> None:
        self.target, self.source, self.nbytes, self.offset = target, source, nbytes, offset

    def params(self, pointers: Sequence[int]) -> Any:
        """What the driver wants to know of the node."""
        params = cu.CUDA_MEMCPY3D()
        params.srcMemoryType = params.dstMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
        params.srcDevice = cu.CUdeviceptr(pointers[self.source] + self.offset)
        params.dstDevice = cu.CUdeviceptr(pointers[self.target])
        params.WidthInBytes, params.Height, params.Depth = self.nbytes, 1, 1
        return params

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """The node, behind others."""
        context, params = call("cuCtxGetCurrent"), self.params(pointers)
        return call("cuGraphAddMemcpyNode", graph, [*before], len(before), params, context)

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Let the node copy between other addresses."""
        context, params = call("cuCtxGetCurrent"), self.params(pointers)
        call("cuGraphExecMemcpyNodeSetParams", executable, node, params, context)


class Clear:
    """A node that sets the i64 in buffer `target` to zero."""

    def __init__(self, target: int) -> None:
        self.target = target

    def params(self, pointers: Sequence[int]) -> Any:
        """What the driver wants to know of the node."""
        params = cu.CUDA_MEMSET_NODE_PARAMS()
        params.dst, params.value = cu.CUdeviceptr(pointers[self.target]), 0
        params.elementSize, params.width, params.height = 4, 2, 1
        return params

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """The node, behind others."""
        context, params = call("cuCtxGetCurrent"), self.params(pointers)
        return call("cuGraphAddMemsetNode", graph, [*before], len(before), params, context)

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Let the node clear another address."""
        context, params = call("cuCtxGetCurrent"), self.params(pointers)
        call("cuGraphExecMemsetNodeSetParams", executable, node, params, context)
