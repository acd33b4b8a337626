"""One kernel launch on a GPU, with its parameters where the driver finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet.runtime.driver import call, cu
from hidet.runtime.encode import Maps
from hidet.runtime.launchable import CudaModule
from hidet.runtime.maps import Map
from hidet.runtime.plan import Launch, Scalar


class KernelNode:
    """A launch whose arguments lie in `values`, one 8-byte slot each, or in `maps`.

    The driver copies them.
    """

    def __init__(self, step: Launch, module: CudaModule) -> None:
        self.step = step
        self.function = module.function(step.function, step.shared_bytes)
        self.values = np.zeros(max(len(step.args), 1), np.uint64)
        base = self.values.__array_interface__["data"][0]
        self.addresses = np.array([base + 8 * i for i in range(len(self.values))], np.uint64)
        self.arguments: int = self.addresses.__array_interface__["data"][0]
        self.maps = Maps(arg for arg in step.args if isinstance(arg, Map))
        self.slots: list[tuple[int, int]] = []
        self.mapped = list(enumerate(arg.buffer for arg in self.maps.maps))
        places = iter(self.maps.addresses)
        for slot, arg in enumerate(step.args):
            if isinstance(arg, Scalar):
                assert isinstance(arg.value, int), "a bound plan has numbers only"
                self.values[slot] = np.int64(arg.value).astype(np.uint64)
            elif isinstance(arg, Map):
                self.addresses[slot] = next(places)
            else:
                self.slots.append((slot, arg.buffer))
        self.params = self.node_params()

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

    @property
    def buffers(self) -> set[int]:
        """The buffers that the launch is told of."""
        return {buffer for _, buffer in (*self.slots, *self.mapped)}

    def launch(self, stream: int) -> None:
        """Launch alone."""
        step = self.step
        call(
            "cuLaunchKernel", self.function, *step.grid, *step.block,
            step.shared_bytes, stream, self.arguments, 0,
        )  # fmt: skip
