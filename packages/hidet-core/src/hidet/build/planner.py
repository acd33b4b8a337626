"""From lowered parts to a launch plan: buffers are numbered, launches written down as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from hidet.build import effects
from hidet.build.kernels import Part, Recipes, Step
from hidet.build.sizes import plan_size
from hidet.build.units import Units
from hidet.errors import InternalError
from hidet.fusion.partition import Group
from hidet.graph.flow import FlowGraph
from hidet.graph.foreign import Foreign
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.kernel import Kernel, KernelKind, TensorMap
from hidet.ir.walk import variables
from hidet.optimize.separate_outputs import is_view, memory
from hidet.runtime.maps import Map, map_of
from hidet.runtime.plan import Argument, Buffer, Host, Launch, Plan, Pointer, Role, Scalar
from hidet.target import Target
from hidet.types import TensorType

T = TypeVar("T")


class Planner:
    """Writes the plan of one graph."""

    def __init__(
        self, graph: FlowGraph, target: Target, units: Units, names: Mapping[Tensor, str]
    ) -> None:
        self.graph, self.target, self.units, self.names = graph, target, units, names
        self.buffers: list[Buffer] = []
        self.number: dict[Tensor, int] = {}
        self.steps: list[tuple[Kernel | Host, Launch | Host]] = []
        self.groups: Sequence[Group] = ()
        self.symbols = symbols_of(graph)
        derived = set(names)
        for position, tensor in enumerate(graph.inputs):
            role: Role = "derived" if tensor in derived else "input"
            self.add(tensor, role, names.get(tensor, f"input{position}"))
        # An output may be another tensor under a new shape, which is then that of the buffer.
        self.outputs = {memory(each): (i, each.type) for i, each in enumerate(graph.outputs)}

    def add(self, tensor: Tensor, role: Role, name: str) -> int:
        """Number a tensor's memory."""
        self.number[tensor] = self.buffer(tensor.type, role, name)
        return self.number[tensor]

    def buffer(self, type: TensorType, role: Role, name: str) -> int:
        """A new buffer."""
        shape = tuple(plan_size(size) for size in type.shape)
        self.buffers.append(Buffer(name, role, type.dtype.name, shape))
        return len(self.buffers) - 1

    def find(self, tensor: Tensor) -> int:
        """The buffer in which a tensor lies."""
        root = memory(tensor)
        if root not in self.number:
            if root.storage is not None:
                return self.add(root, "weight", self.names[root])
            if root in self.outputs:
                position, type_ = self.outputs[root]
                self.number[root] = self.buffer(type_, "output", f"output{position}")
                return self.number[root]
            return self.add(root, "workspace", f"t{len(self.buffers)}")
        return self.number[root]

    def compute(self, part: Part) -> None:
        """Write down the launches of a part."""
        variables_ = dict(
            zip(part.recipe.params, map(self.find, (*part.inputs, *part.results)), strict=True)
        )
        for var in part.recipe.workspaces:
            assert isinstance(var.of, TensorType)
            variables_[var] = self.buffer(var.of, "workspace", f"w{len(self.buffers)}")
        for step in part.recipe.steps:
            self.units.add(step.kernel)
            self.steps.append((step.kernel, self.launch(step, variables_)))

    def launch(self, step: Step, buffers: Mapping[Var, int]) -> Launch:
        """One launch as data; the binary is named once it is known."""
        kernel = step.kernel
        args: list[Argument] = [Pointer(buffers[var]) for var in step.tensors]
        args += [Scalar(var.dtype.name, plan_size(var)) for var in step.sizes]
        args += [self.map(each, step, buffers) for each in kernel.maps]
        reads, writes = touched(kernel, len(step.tensors))
        numbers = [buffers[var] for var in step.tensors]
        configuration = kernel.launch
        cuda = kernel.kind is KernelKind.CUDA
        return Launch(
            "",
            kernel.name,
            tuple(args),
            tuple(dict.fromkeys(numbers[i] for i in reads)),
            tuple(dict.fromkeys(numbers[i] for i in writes)),
            three(configuration.grid, plan_size) if cuda else (1, 1, 1),
            three(configuration.block, fixed) if cuda else (1, 1, 1),
            configuration.shared_bytes,
        )

    def map(self, map: TensorMap, step: Step, buffers: Mapping[Var, int]) -> Map:
        """A tensor map of one of a launch's tensors as data."""
        buffer = buffers[step.tensors[step.kernel.params.index(map.tensor)]]
        sizes = ([plan_size(each) for each in e] for e in (map.shape, map.strides))
        return map_of(map.of, buffer, *sizes)

    def host(self, group: Group) -> None:
        """Write down a region that the framework runs."""
        op = group.last.op
        assert isinstance(op, Foreign)
        reads = tuple(map(self.find, group.inputs))
        step = Host(op.key, reads, tuple(map(self.find, group.results)))
        self.steps.append((step, step))

    def run(self, groups: Sequence[Group], recipes: Recipes) -> None:
        """Write down all groups."""
        self.groups = groups
        for group in groups:
            if isinstance(group.last.op, Foreign):
                self.host(group)
            elif not (len(group.nodes) == 1 and is_view(group.results[0])):
                for part in recipes.parts(group, self.target):
                    self.compute(part)

    def plan(self, home: Mapping[str, str]) -> Plan:
        """The plan; `home` names the binary of each kernel."""
        steps = tuple(
            replace(made, binary=home[made.function]) if isinstance(made, Launch) else made
            for _, made in self.steps
        )
        inputs = tuple(self.number[each] for each in self.graph.inputs if each not in self.names)
        outputs = tuple(self.find(each) for each in self.graph.outputs)
        return Plan(str(self.target), tuple(self.buffers), steps, inputs, outputs, self.symbols)


def three(sizes: tuple[Expr, Expr, Expr], spell: Callable[[Expr], T]) -> tuple[T, T, T]:
    """The extents of a grid or block as data."""
    x, y, z = sizes
    return spell(x), spell(y), spell(z)


def fixed(size: Expr) -> int:
    """A size that has to be known when a kernel is compiled."""
    if isinstance(size, Const):
        return int(size.value)
    raise InternalError(f"a block of `{size}` threads: block sizes are constants")


def touched(kernel: Kernel, count: int) -> tuple[list[int], list[int]]:
    """Which of a kernel's first parameters it may read, and which it may write."""
    written = effects.written(kernel)
    reads, writes = [], []
    for position, param in enumerate(kernel.params[:count]):
        if param in written:
            writes.append(position)
            if written[param]:
                reads.append(position)
        else:
            reads.append(position)
    return reads, writes


def symbols_of(graph: FlowGraph) -> dict[str, tuple[int, int]]:
    """From which input and axis each symbolic size is read."""
    found: dict[str, tuple[int, int]] = {}
    mentioned: dict[Var, None] = {}
    for position, tensor in enumerate(graph.inputs):
        for axis, size in enumerate(tensor.shape):
            if isinstance(size, Var):
                found.setdefault(size.name, (position, axis))
    for tensor in (*graph.inputs, *graph.outputs):
        for size in tensor.shape:
            if isinstance(size, Expr):
                mentioned.update(dict.fromkeys(variables(size)))
    for var in mentioned:
        if var.name not in found:
            raise InternalError(f"nothing says how large `{var.name}` is: no input has that size")
    return found
