"""A bound plan on a GPU: CUDA graphs built node by node, their pointers patched between calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from hidet.runtime.bound import BoundPlan
from hidet.runtime.device import make_current
from hidet.runtime.driver import call, cu
from hidet.runtime.host_program import HostStep
from hidet.runtime.launchable import CudaModule
from hidet.runtime.memory import Allocator, View
from hidet.runtime.plan import Host, Launch, Scalar


class Kernel:
    """One kernel node: its parameters lie in `values`, one 8-byte slot each."""

    def __init__(self, step: Launch, module: CudaModule) -> None:
        self.step = step
        self.function = module.function(step.function, step.shared_bytes)
        self.values = np.zeros(max(len(step.args), 1), np.uint64)
        base = self.values.__array_interface__["data"][0]
        self.addresses = np.array([base + 8 * i for i in range(len(self.values))], np.uint64)
        for slot, arg in enumerate(step.args):
            if isinstance(arg, Scalar):
                self.values[slot] = np.int64(arg.value).astype(np.uint64)
        self.slots = [
            (slot, arg.buffer)
            for slot, arg in enumerate(step.args)
            if not isinstance(arg, Scalar)
        ]
        self.params = self.node_params()

    def node_params(self) -> Any:
        """What the driver wants to know of a kernel node."""
        params = cu.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.function
        params.gridDimX, params.gridDimY, params.gridDimZ = self.step.grid
        params.blockDimX, params.blockDimY, params.blockDimZ = self.step.block
        params.sharedMemBytes = self.step.shared_bytes
        params.kernelParams = self.addresses.__array_interface__["data"][0]
        return params

    def point(self, pointers: Sequence[int]) -> None:
        """Fill in the addresses of the buffers."""
        for slot, buffer in self.slots:
            self.values[slot] = pointers[buffer]

    def launch(self, stream: int) -> None:
        """Launch alone."""
        call(
            "cuLaunchKernel", self.function, *self.step.grid, *self.step.block,
            self.step.shared_bytes, stream, self.addresses.__array_interface__["data"][0], 0,
        )  # fmt: skip


class Segment:
    """Kernels between two steps of the framework, as one CUDA graph."""

    def __init__(self, kernels: Sequence[Kernel], waits: Sequence[frozenset[int]]) -> None:
        self.kernels = kernels
        self.waits = waits
        self.users: dict[int, list[int]] = {}
        for number, kernel in enumerate(kernels):
            for buffer in {buffer for _, buffer in kernel.slots}:
                self.users.setdefault(buffer, []).append(number)
        self.graph: Any = None
        self.executable: Any = None
        self.nodes: list[Any] = []

    def run(self, pointers: Sequence[int], changed: set[int], stream: int) -> None:
        """Launch the graph with the buffers at `pointers`, of which `changed` moved."""
        if self.executable is None:
            self.build(pointers)
        else:
            self.patch(pointers, changed)
        call("cuGraphLaunch", self.executable, stream)

    def build(self, pointers: Sequence[int]) -> None:
        """Make the graph: a node for each kernel, an edge for each dependency."""
        self.graph = call("cuGraphCreate", 0)
        for kernel, needs in zip(self.kernels, self.waits, strict=True):
            kernel.point(pointers)
            before = [self.nodes[each] for each in sorted(needs)]
            self.nodes.append(
                call("cuGraphAddKernelNode", self.graph, before, len(before), kernel.params)
            )
        self.executable = call("cuGraphInstantiate", self.graph, 0)

    def patch(self, pointers: Sequence[int], changed: set[int]) -> None:
        """Point the nodes that use a buffer which moved to where it is now."""
        touched = sorted({node for buffer in changed for node in self.users.get(buffer, ())})
        for number in touched:
            kernel = self.kernels[number]
            kernel.point(pointers)
            call(
                "cuGraphExecKernelNodeSetParams", self.executable, self.nodes[number], kernel.params
            )

    def launch_each(self, pointers: Sequence[int], stream: int) -> None:
        """Launch the kernels one after the other."""
        for kernel in self.kernels:
            kernel.point(pointers)
            kernel.launch(stream)

    def __del__(self) -> None:
        if self.executable is not None:
            cu.cuGraphExecDestroy(self.executable)
        if self.graph is not None:
            cu.cuGraphDestroy(self.graph)


class CudaProgram:
    """A plan's segments, the arena they share, and where every buffer lay at the last run."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, CudaModule],
        host_steps: Mapping[str, HostStep],
        allocator: Allocator,
        device: str,
        use_graph: bool = True,
    ) -> None:
        self.bound, self.device, self.use_graph = bound, device, use_graph
        self.allocator, self.host_steps = allocator, host_steps
        self.lock = Lock()
        self.pointers = [0] * len(bound.plan.buffers)
        self.arena: View | None = None
        self.stream: int | None = None
        make_current(device)
        self.finished = call("cuEventCreate", cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        self.parts = self.split(modules)

    def split(self, modules: Mapping[str, CudaModule]) -> list[Segment | Host]:
        """Segments and the framework's steps between them."""
        parts: list[Segment | Host] = []
        kernels: list[Kernel] = []
        places: dict[int, int] = {}

        def close() -> None:
            if kernels:
                inside = [
                    frozenset(places[each] for each in self.bound.waits[number] if each in places)
                    for number in places
                ]
                parts.append(Segment(list(kernels), inside))
                kernels.clear()
                places.clear()

        for number, step in enumerate(self.bound.steps):
            if isinstance(step, Host):
                close()
                parts.append(step)
            else:
                places[number] = len(kernels)
                kernels.append(Kernel(step, modules[step.binary]))
        close()
        return parts

    def run(self, pointers: Mapping[int, int], stream: int) -> None:
        """Run all steps on `stream`, on memory that the caller provides."""
        make_current(self.device)
        capturing = call("cuStreamIsCapturing", stream) != NOT_CAPTURING
        with self.lock:
            if capturing:
                self.run_captured(pointers, stream)
                return
            changed = self.moved(pointers)
            self.follow(stream)
            for part in self.parts:
                if isinstance(part, Host):
                    self.host(part, self.pointers)
                elif self.use_graph:
                    part.run(self.pointers, changed, stream)
                else:
                    part.launch_each(self.pointers, stream)
            call("cuEventRecord", self.finished, stream)
            self.stream = stream

    def moved(self, pointers: Mapping[int, int]) -> set[int]:
        """Note where the buffers are now; returns those that were elsewhere."""
        changed = {each for each, address in pointers.items() if self.pointers[each] != address}
        for each in changed:
            self.pointers[each] = pointers[each]
        if self.arena is None:
            self.arena = self.allocator.empty(self.bound.arena.nbytes, self.device)
            for buffer, offset in self.bound.arena.offsets.items():
                self.pointers[buffer] = self.arena.pointer + offset
                changed.add(buffer)
        return changed

    def follow(self, stream: int) -> None:
        """The arena is used by one run at a time: wait for the last one if it was elsewhere."""
        if self.stream is not None and self.stream != stream:
            call("cuStreamWaitEvent", stream, self.finished, 0)

    def run_captured(self, pointers: Mapping[int, int], stream: int) -> None:
        """Launch into somebody else's capture, with an arena that belongs to it."""
        arena = self.allocator.empty(self.bound.arena.nbytes, self.device)
        places = [0] * len(self.pointers)
        for buffer, offset in self.bound.arena.offsets.items():
            places[buffer] = arena.pointer + offset
        for buffer, address in pointers.items():
            places[buffer] = address
        for part in self.parts:
            if isinstance(part, Host):
                self.host(part, places)
            else:
                part.launch_each(places, stream)
        self.captured = [*getattr(self, "captured", []), arena]

    def host(self, step: Host, pointers: Sequence[int]) -> None:
        """Let the framework run a region."""
        buffers, shapes = self.bound.plan.buffers, self.bound.shapes
        reads, writes = (
            [View(pointers[n], shapes[n], buffers[n].dtype, self.device) for n in numbers]
            for numbers in (step.reads, step.writes)
        )
        self.host_steps[step.key](reads, writes)


NOT_CAPTURING = (
    None if cu is None else cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
)
