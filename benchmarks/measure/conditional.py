"""CUDA graphs with conditional nodes, built by calls of the driver."""

from __future__ import annotations

import ctypes
from typing import Any

from hidet.runtime.devices.driver import call, cu, expect
from hidet.runtime.devices.memory_nodes import Copy
from hidet.runtime.graphs.conditional import add_conditional, current_context
from hidet.runtime.graphs.early import add_early_edge

SOURCE = """
extern "C" __device__ void cudaGraphSetConditional(unsigned long long, unsigned);

#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
#define SIGNAL asm volatile("griddepcontrol.launch_dependents;" ::: "memory")

extern "C" __global__ void add(unsigned* x, unsigned value) {
  WAIT; unsigned before = x[threadIdx.x]; SIGNAL; x[threadIdx.x] = before + value;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) add_in_cluster(unsigned* x, unsigned value) {
  extern __shared__ unsigned kept[];
  kept[threadIdx.x] = x[threadIdx.x] + value;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (blockIdx.x == 0) x[threadIdx.x] = kept[threadIdx.x];
}
extern "C" __global__ void step(unsigned* count, unsigned char* go, unsigned trips) {
  WAIT; if (threadIdx.x == 0) { unsigned now = *count + 1; *count = now; *go = now < trips; }
}
extern "C" __global__ void add_if(unsigned* x, unsigned value, const unsigned char* go) {
  WAIT; if (!*go) return;
  unsigned before = x[threadIdx.x]; SIGNAL; x[threadIdx.x] = before + value;
}
extern "C" __global__ void step_if(unsigned* count, unsigned char* go, unsigned trips) {
  WAIT; if (threadIdx.x == 0 && *go) { unsigned now = *count + 1; *count = now; *go = now < trips; }
}
extern "C" __global__ void parity(unsigned* count, unsigned char* odd) {
  WAIT; if (threadIdx.x == 0) *odd = *count & 1;
}
"""
OPEN = """
extern "C" __global__ void step_and_set(
    unsigned long long handle, unsigned* count, unsigned trips) {
  WAIT; if (threadIdx.x == 0) {
    unsigned now = *count + 1; *count = now; cudaGraphSetConditional(handle, now < trips);
  }
}
"""
"""A kernel of NVRTC that leaves the driver's function open: linked when the module is loaded."""

IF, WHILE, SWITCH = "IF", "WHILE", "SWITCH"


class Kernel:
    """A launch of whole numbers and addresses, which lie where the driver reads them."""

    def __init__(
        self, function: Any, *values: int, threads: int = 32, blocks: int = 1, shared: int = 0
    ) -> None:
        self.function = function
        self.values = (ctypes.c_uint64 * len(values))(*values)
        first = ctypes.addressof(self.values)
        self.slots = (ctypes.c_uint64 * len(values))(*(first + 8 * i for i in range(len(values))))
        self.how = (function, blocks, 1, 1, threads, 1, 1, shared)
        self.params = cu.CUDA_KERNEL_NODE_PARAMS()
        self.params.func = function
        self.params.gridDimX, self.params.gridDimY, self.params.gridDimZ = blocks, 1, 1
        self.params.blockDimX, self.params.blockDimY, self.params.blockDimZ = threads, 1, 1
        self.params.sharedMemBytes = shared
        self.params.kernelParams = ctypes.addressof(self.slots)

    def launch(self, stream: Any) -> None:
        """Launch it by itself."""
        arguments = ctypes.addressof(self.slots)
        expect(cu.cuLaunchKernel(*self.how, stream, arguments, 0)[0], "cuLaunchKernel")


class Chain:
    """A graph whose nodes come one after the other, or a body of a conditional node in one."""

    def __init__(self, graph: Any = None) -> None:
        self.graph = call("cuGraphCreate", 0) if graph is None else graph
        self.nodes: list[Any] = []

    @property
    def last(self) -> list[Any]:
        """What the next node waits for."""
        return self.nodes[-1:]

    def kernel(self, kernel: Kernel, *, early: bool = False) -> Any:
        """A kernel behind the last node, over a programmatic edge if it is to be `early`."""
        before = self.last
        full = [] if early else before
        node = call("cuGraphAddKernelNode", self.graph, full, len(full), kernel.params)
        if early and before:
            add_early_edge(self.graph, before[0], node)
        self.nodes.append(node)
        return node

    def memset(self, address: int, value: int, count: int) -> Any:
        """Numbers of 32 bits set to `value`."""
        params = memset_params(address, value, count)
        node = call(
            "cuGraphAddMemsetNode", self.graph, self.last, len(self.last), params, current_context()
        )
        self.nodes.append(node)
        return node

    def copy(self, target: int, source: int, nbytes: int) -> Any:
        """Bytes of the device copied within it."""
        node = Copy(0, 1, nbytes).add(self.graph, self.last, (target, source))
        self.nodes.append(node)
        return node

    def handle(self, at_launch: int) -> Any:
        """A condition that is `at_launch` whenever the graph is launched."""
        return call("cuGraphConditionalHandleCreate", self.graph, current_context(), at_launch, 1)

    def conditional(self, handle: Any, kind: str, size: int = 1) -> list[Chain]:
        """A conditional node; its bodies, which are empty."""
        node, bodies = add_conditional(self.graph, self.last, handle, kind, size)
        self.nodes.append(node)
        return [Chain(each) for each in bodies]

    def instantiate(self) -> Any:
        """What can be launched."""
        return call("cuGraphInstantiate", self.graph, 0)


def memset_params(address: int, value: int, count: int) -> Any:
    """What the driver wants to know of a memset node."""
    params = cu.CUDA_MEMSET_NODE_PARAMS()
    params.dst, params.value = cu.CUdeviceptr(address), value
    params.elementSize, params.width, params.height = 4, count, 1
    return params
