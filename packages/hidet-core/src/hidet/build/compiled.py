"""A compiled graph with its weights: called on tensors of any library, kept in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from hidet import seams
from hidet.build.arguments import current_stream, described
from hidet.build.called import as_called
from hidet.build.compile import compile_graph
from hidet.build.eager import as_tensor, given_view, type_of
from hidet.build.inputs import Inputs, listed
from hidet.build.orders import IN_ROWS, Orders, as_laid, orders_of
from hidet.build.placement import device_for, fitting
from hidet.build.target import device_of, target_for
from hidet.errors import BadArgument
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.binding.bound import typed
from hidet.runtime.binding.memory import View, array_of
from hidet.runtime.devices.device import canonical
from hidet.runtime.executor import Executor, Program
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Buffer, Host, Plan
from hidet.runtime.profiling.profile import Profile as Profile
from hidet.runtime.programs.host_program import HostStep
from hidet.types import TensorType, dtype

NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Ready(NamedTuple):
    """What calls need whose inputs are alike: their facts, what runs, the types of the results
    (None where these depend on data), and the positions of the inputs that are copied."""

    facts: list[Any]
    program: Program
    types: list[TensorType] | None
    gaps: list[int]


class CompiledGraph:
    """A graph ready to run: `compiled(*tensors)` gives a Tensor, or a tuple of several.

    Inputs are tensors of any library on the graph's device, in order or by name. They are read in
    rows, or in the orders of axes that the graph was built for; those that lie otherwise are copied
    first, which `copied` counts and one warning for each input says. Work on a GPU goes to the
    caller's current stream. `host_steps` are what a framework runs.
    """

    def __init__(
        self,
        archive: Archive,
        device: str,
        executor: Executor | None = None,
        host_steps: Mapping[str, HostStep] | None = None,
        weights: Mapping[str, Tensor] = MappingProxyType({}),
    ) -> None:
        self.archive, self.device = archive, canonical(device)
        self.weights = weights
        """The constants of the graph by name, unless it came out of a file."""
        self.loaded, self.host_steps = executor, host_steps
        self.latest: Ready | None = None
        self.inputs = Inputs(archive.main, archive.orders)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run on inputs; errors name the one that does not fit."""
        results = self.run(self.inputs.ordered(inputs, named) if named else inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Sequence[Any]) -> list[Tensor]:
        """All results for these inputs."""
        if self.inputs.orders:
            inputs = self.inputs.as_lying(inputs)
        seen = [self.inputs.seen(value, position) for position, value in enumerate(inputs)]
        facts = [each[1] for each in seen]
        latest = self.latest
        if latest is None or facts != latest.facts:
            latest = self.latest = self.ready(facts)
        if latest.gaps:  # copies are of the same shapes and types: the same program runs
            inputs = self.inputs.without_gaps(inputs, latest.gaps, self.executor.threads)
            seen = [self.inputs.seen(value, position) for position, value in enumerate(inputs)]
        executor = self.executor
        stream = 0 if self.device == "cpu" else current_stream(self.device) or 0
        with executor.work(stream):
            views = executor.run(latest.program, [each[0] for each in seen], stream)
        types = [*map(type_of, views)] if latest.types is None else latest.types
        return [*map(as_tensor, views, types)]

    def profile(self, *inputs: Any, repeat: int = 20, **named: Any) -> Profile:
        """The microseconds of each kernel and host step in a call: medians of `repeat` calls.

        On a GPU kernels are launched one by one meanwhile, and none overlaps another one. The
        simulator counts what runs, and has no times.
        """
        given = self.inputs.ordered(inputs, named)
        stream = current_stream(self.device) or 0 if self.device != "cpu" else 0
        return self.executor.profile(lambda: self.run(given), repeat, stream)

    def ready(self, facts: list[Any]) -> Ready:
        """What calls with inputs like these need."""
        seen = [*map(described, facts)]
        inputs = [
            View(0, self.inputs.shape(position, each.shape), each.dtype, each.device)
            for position, each in enumerate(seen)
        ]
        program = self.executor.program(inputs)
        types = None
        if program.bound.plan.then is None:
            types = [TensorType(dtype(name), shape) for shape, name in program.bound.results]
        return Ready(facts, program, types, [n for n, each in enumerate(seen) if each.gaps])

    def renewed(self) -> None:
        """The constants lie elsewhere since the last call: nothing that was noted of it holds, and
        a file gets the values that there are now."""
        self.latest = None
        values = {name: array_of(given_view(each)) for name, each in self.weights.items()}
        self.archive = replace(self.archive, weights={**self.archive.weights, **values})

    @property
    def copied(self) -> int:
        """How many inputs calls have copied because they do not lie as the graph reads them."""
        return self.inputs.copied

    @property
    def executor(self) -> Executor:
        """What runs it here; made when first needed, so that any graph can be saved anywhere."""
        if self.loaded is None:
            part = fitting(self.archive, self.device)
            self.loaded = Executor(part, self.device, host_steps=self.host_steps)
        return self.loaded

    @property
    def plan(self) -> Plan:
        """What a call does."""
        return self.archive.main

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive to one file, for `hidet.load` on any machine that fits a target.

        Raises BadArgument where the framework runs parts of the model that no file can hold.
        """
        plans = self.archive.plans.values()
        steps = [each.key for plan in plans for each in plan.steps if isinstance(each, Host)]
        missing = [key for key in steps if key not in self.archive.host]
        if missing:
            raise BadArgument(
                f"a file cannot hold {listed(missing)}, which the framework runs",
                help='options={"fallback": "error"} says why and where',
            )
        self.archive.save(path)

    def __repr__(self) -> str:
        main = self.plan
        buffers = main.buffers
        inputs = ", ".join(described_input(buffers[n]) for n in main.inputs)
        outputs = ", ".join(map(typed, self.archive.results))
        targets = ", ".join(self.archive.targets)
        return f"CompiledGraph({inputs} -> {outputs}, device={self.device!r}, for {targets})"


def described_input(buffer: Buffer) -> str:
    """An input with its type, and its order in memory if it does not lie in rows."""
    lies = f" in rows of axes {buffer.order}" if buffer.order else ""
    return f"{buffer.name}: {typed(buffer)}{lies}"


def build_graph(
    graph: FlowGraph,
    targets: Sequence[str] = (),
    host_steps: Mapping[str, HostStep] | None = None,
    host: Mapping[str, bytes] = NOTHING,
    frontend: str = "",
    orders: Orders = IN_ROWS,
) -> CompiledGraph:
    """Compile a graph for its device, or for `targets`, to be saved for other machines.

    `host_steps` are what the framework runs, and `host` what a file keeps of them, from which
    `frontend` makes them again. `orders` are the axes of inputs that do not lie in rows, outermost
    in memory first, by name.
    """
    chosen = [str(target_for(graph, each)) for each in targets or (None,)]
    axes = orders_of(graph, orders)
    as_read = as_laid(graph, axes)
    compiled = [compile_graph(as_read, each) for each in chosen]
    archive = reduce(Archive.joined, [as_called(each.archive, graph, axes) for each in compiled])
    weights = {name: given_view(tensor) for name, tensor in compiled[0].weights.items()}
    values = {name: array_of(view) for name, view in weights.items()}
    meta = {**archive.meta, "frontend": frontend} if frontend else archive.meta
    whole = replace(archive, weights=values, meta=meta, host=host)
    device = device_of(graph)
    if targets:
        return CompiledGraph(whole, device, host_steps=host_steps, weights=compiled[0].weights)
    # Weights are used where they lie.
    executor = Executor(archive, device, weights=weights, host_steps=host_steps)
    return CompiledGraph(whole, device, executor, host_steps, compiled[0].weights)


def load(path: str | os.PathLike[str], device: str | None = None) -> CompiledGraph:
    """The compiled graph in a file, on `device`: by default a GPU it was compiled for, if any.

    No compiler is needed, nor the framework that the model came from, unless it runs a part of the
    model: then that frontend has to be installed. BadArchive says what is wrong with a file that
    was damaged, or fits no device of this machine, or not the one named.
    """
    archive = Archive.load(path)
    if device is not None:
        fitting(archive, canonical(device))
    steps = seams.call("saved_steps", archive.meta, archive.host) if archive.host else None
    return CompiledGraph(archive, device or device_for(archive), host_steps=steps)
