"""CUDA graphs without a GPU: what the driver is asked to build runs here, on the host's memory.

Kernels are functions compiled for the CPU, which kernel nodes name by numbers. `decide` is what the
PTX of `hidet.runtime.graphs.conditional` means.
"""

import ctypes
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace

from hidet.runtime.devices import captures, memory_nodes
from hidet.runtime.devices.driver import cu
from hidet.runtime.graphs import conditional, kernel_node, segment
from hidet.runtime.graphs import nodes as graph_nodes
from hidet.runtime.graphs import region as graph_region
from hidet.runtime.plans.plan import Launch, Scalar
from hidet.runtime.programs import relaunch, stream_region
from hidet.runtime.programs.host_program import NUMBERS
from hidet.runtime.programs.region import HostMemory
from hidet.runtime.programs.stream_program import StreamProgram


@dataclass
class Graph:
    """Nodes in the order in which they were added, and those that each waits for."""

    nodes: list = field(default_factory=list)


@dataclass
class Node:
    """A node: what it does, and what before it."""

    run: object
    before: list


class Machine:
    """The calls of the driver that graphs are built by, and what runs them."""

    def __init__(self, monkeypatch):
        self.functions = [None, self.decide]
        self.conditions, self.launches, self.use_graph = {}, 0, True
        for module in (conditional, kernel_node, memory_nodes, segment):
            monkeypatch.setattr(module, "call", self.call)
        known = SimpleNamespace(**{name: getattr(cu, name) for name in dir(cu)})
        known.cuGraphExecKernelNodeSetParams = self.set_kernel
        known.cuGraphLaunch = self.launch
        known.cuLaunchKernel = self.launch_kernel
        for module in (conditional, kernel_node, segment):
            monkeypatch.setattr(module, "cu", known)
        for module in (graph_nodes, kernel_node):
            monkeypatch.setattr(module, "early_edges", lambda: False)
        monkeypatch.setattr(conditional, "decider", lambda context: cu.CUfunction(1))
        monkeypatch.setattr(graph_region, "conditional_nodes", lambda: True)
        monkeypatch.setattr(graph_region, "add_conditional", self.add_conditional)
        monkeypatch.setattr(segment, "beside_captures", nullcontext)
        monkeypatch.setattr(captures, "cu", None)  # nothing is given back to the driver
        for module in (relaunch, stream_region):
            monkeypatch.setattr(module, "StreamMemory", lambda stream: HostMemory())

    def program(self, bound, modules, host_steps, scratch, fixed, chain, threads):
        """A program as for a GPU, in place of one for the host."""
        loaded = {name: Module(self, module, bound) for name, module in modules.items()}
        return StreamProgram(bound, loaded, host_steps, fixed, self.use_graph, chain, scratch)

    def call(self, name, *args):
        """A call of the driver by its name."""
        return getattr(self, name)(*args)

    def cuCtxGetCurrent(self):
        return 7

    def cuGraphCreate(self, flags):
        return Graph()

    def cuGraphInstantiate(self, graph, flags):
        return graph

    def cuGraphConditionalHandleCreate(self, graph, context, value, flags):
        self.conditions[len(self.conditions) + 1] = value
        return len(self.conditions)

    def cuGraphAddKernelNode(self, graph, before, count, params):
        return self.add(graph, before, self.kernel(params))

    def cuGraphAddMemcpyNode(self, graph, before, count, params, context):
        return self.add(graph, before, copy(params))

    def cuGraphAddMemsetNode(self, graph, before, count, params, context):
        return self.add(graph, before, clear(params))

    def cuGraphExecMemcpyNodeSetParams(self, executable, node, params, context):
        node.run = copy(params)

    def cuGraphExecMemsetNodeSetParams(self, executable, node, params, context):
        node.run = clear(params)

    def set_kernel(self, executable, node, params):
        """Give a kernel node other arguments."""
        node.run = self.kernel(params)
        return (0,)

    def add_conditional(self, graph, before, handle, kind, bodies):
        """A conditional node, and the graphs of its bodies."""
        inside = [Graph() for _ in range(bodies)]

        def run():
            if kind == "IF":
                self.run(inside[0 if self.conditions[handle] else 1])
            while kind == "WHILE" and self.conditions[handle]:
                self.run(inside[0])

        return self.add(graph, before, run), inside

    def add(self, graph, before, run):
        """A node behind others of the same graph."""
        assert all(each in graph.nodes for each in before)
        node = Node(run, list(before))
        graph.nodes.append(node)
        return node

    def kernel(self, params):
        """A launch; the driver copies its arguments."""
        slots = ctypes.cast(params.kernelParams, ctypes.POINTER(ctypes.c_uint64))
        types, function = self.functions[int(params.func)]
        values = [of.from_address(slots[place]).value for place, of in enumerate(types)]
        return lambda: function(*(of(value) for of, value in zip(types, values, strict=True)))

    @property
    def decide(self):
        """The kernel that sets a condition."""

        def run(*given):
            handle, iteration, flag, trips, limit, step, words = (each.value for each in given)
            now = 0
            if iteration:
                now = ctypes.c_int64.from_address(iteration).value + step
                for word in range(words):
                    ctypes.c_int64.from_address(iteration + 8 * word).value = now + word
            if trips:
                limit = min(limit, ctypes.c_int64.from_address(trips).value)
            holds = not flag or ctypes.c_bool.from_address(flag).value
            self.conditions[handle] = now < limit and holds

        return [ctypes.c_int64] * 7, run

    def launch_kernel(self, function, *rest):
        """Run a kernel that no graph holds."""
        *_, arguments, _ = rest
        self.kernel(SimpleNamespace(func=function, kernelParams=arguments))()
        return (0,)

    def launch(self, graph, stream):
        """Run a graph."""
        self.launches += 1
        self.run(graph)
        return (0,)

    def run(self, graph):
        """Run the nodes, the last one that may go first: an edge that is missing is seen."""
        left, done = list(graph.nodes), []
        while left:
            ready = [each for each in left if all(any(b is d for d in done) for b in each.before)]
            node = ready[-1]
            node.run()
            done.append(node)
            left = [each for each in left if each is not node]


class Module:
    """A module for the CPU, its functions known by numbers."""

    def __init__(self, machine, module, bound):
        self.machine, self.module = machine, module
        self.types = dict(launched(bound))

    def function(self, name, shared_bytes):
        """The number of a function."""
        self.machine.functions.append((self.types[name], self.module.function(name)))
        return cu.CUfunction(len(self.machine.functions) - 1)


def launched(bound):
    """The types of arguments of the functions that a plan and its bodies call."""
    for step in bound.steps:
        if isinstance(step, Launch):
            scalars = [
                NUMBERS[a.dtype] if isinstance(a, Scalar) else ctypes.c_void_p for a in step.args
            ]
            yield step.function, scalars
    for bodies in bound.bodies.values():
        for body in bodies:
            yield from launched(body)


def type_of(arg):
    """How C takes an argument."""
    return NUMBERS[arg.dtype] if isinstance(arg, Scalar) else ctypes.c_void_p


def copy(params):
    """A copy node."""
    target, source, nbytes = int(params.dstDevice), int(params.srcDevice), params.WidthInBytes
    return lambda: ctypes.memmove(target, source, nbytes)


def clear(params):
    """A memset node."""
    target, nbytes = int(params.dst), params.elementSize * params.width * params.height
    return lambda: ctypes.memset(target, params.value, nbytes)
