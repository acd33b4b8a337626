"""One kernel launch on a GPU, with its parameters where the driver finds them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet.runtime.devices.driver import call, cu, expect
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.graphs.early import early_edges, early_launch
from hidet.runtime.graphs.encode import Maps
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.plan import Launch, Scalar

SIGNALLING: set[int] = set()
"""Functions whose kernels let the next one begin early: a capture knows a kernel by its function,
and a function is there as long as the process."""


class KernelNode:
    """A launch whose arguments lie in `values`, one 8-byte slot each, or in `maps`.

    The driver copies them.
    """

    def __init__(self, step: Launch, module: CudaModule) -> None:
        self.step = step
        self.function = module.function(step.function, step.shared_bytes)
        if step.signals:
            SIGNALLING.add(int(self.function))
        self.values = (ctypes.c_uint64 * max(len(step.args), 1))()
        base = ctypes.addressof(self.values)
        self.addresses = np.array([base + 8 * i for i in range(len(self.values))], np.uint64)
        self.arguments: int = self.addresses.__array_interface__["data"][0]
        self.maps = Maps(arg for arg in step.args if isinstance(arg, Map))
        self.slots: list[tuple[int, int]] = []
        self.mapped = list(enumerate(arg.buffer for arg in self.maps.maps))
        places = iter(self.maps.addresses)
        for slot, arg in enumerate(step.args):
            if isinstance(arg, Scalar):
                assert isinstance(arg.value, int), "a bound plan has numbers only"
                self.values[slot] = arg.value  # modulo 2**64
            elif isinstance(arg, Map):
                self.addresses[slot] = next(places)
            else:
                self.slots.append((slot, arg.buffer))
        self.params = self.node_params()
        self.how = (self.function, *step.grid, *step.block, step.shared_bytes)
        self.stream, self.handle = 0, cu.CUstream(0)
        self.early: Any = None
        if step.waits and early_edges():
            self.early = early_launch(step.grid, step.block, step.shared_bytes)

    def node_params(self) -> Any:
        """What the driver wants to know of a kernel node."""
        params = cu.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.function
        params.gridDimX, params.gridDimY, params.gridDimZ = self.step.grid
        params.blockDimX, params.blockDimY, params.blockDimZ = self.step.block
        params.sharedMemBytes = self.step.shared_bytes
        params.kernelParams = self.arguments
        return params

    def point(self, pointers: Sequence[int]) -> None:
        """Fill in the addresses of the buffers."""
        for slot, buffer in self.slots:
            self.values[slot] = pointers[buffer]
        for number, buffer in self.mapped:
            self.maps.point(number, pointers[buffer])

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """A node of a graph, behind others."""
        self.point(pointers)
        return call("cuGraphAddKernelNode", graph, [*before], len(before), self.params)

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Point the node to where the buffers are now."""
        self.point(pointers)
        (status,) = cu.cuGraphExecKernelNodeSetParams(executable, node, self.params)
        expect(status, "cuGraphExecKernelNodeSetParams")

    @property
    def buffers(self) -> set[int]:
        """The buffers that the launch is told of."""
        return {buffer for _, buffer in (*self.slots, *self.mapped)}

    def launch(self, stream: int, *, early: bool = False) -> None:
        """Launch alone; if it may be `early` a kernel that waits itself may begin before the one
        ahead of it on the stream has ended."""
        if stream != self.stream:  # the driver's own form of a number takes time to make
            self.stream, self.handle = stream, cu.CUstream(stream)
            if self.early:
                self.early.hStream = self.handle
        if early and self.early:
            status = cu.cuLaunchKernelEx(self.early, self.function, self.arguments, 0)[0]
        else:
            status = cu.cuLaunchKernel(*self.how, self.handle, self.arguments, 0)[0]
        expect(status, "cuLaunchKernel")
