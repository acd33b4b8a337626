"""A compiled graph with its weights: called on tensors of any library, kept in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import Any

from hidet.build.arguments import current_stream, described, glance
from hidet.build.compile import compile_graph
from hidet.build.eager import as_tensor, given_view
from hidet.build.target import device_of, target_for
from hidet.errors import BadArchive, BadArgument
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.archive import Archive
from hidet.runtime.bound import spelled
from hidet.runtime.device import canonical, device_count
from hidet.runtime.executor import Executor, check_target
from hidet.runtime.memory import View, array_of
from hidet.runtime.plan import Plan


class CompiledGraph:
    """A graph ready to run: `compiled(*tensors)` gives a Tensor, or a tuple of several.

    Inputs are tensors of any library, without gaps, on the graph's device. Work on a GPU goes to
    the caller's current stream.
    """

    def __init__(self, archive: Archive, device: str, executor: Executor | None = None) -> None:
        self.archive, self.device = archive, canonical(device)
        self.loaded = executor

    def __call__(self, *inputs: Any) -> Any:
        """Run on inputs; errors name the one that does not fit."""
        results = self.run(inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Sequence[Any]) -> list[Tensor]:
        """All results for these inputs."""
        views = [given(value, position) for position, value in enumerate(inputs)]
        stream = 0 if self.device == "cpu" else current_stream(self.device) or 0
        return [as_tensor(view) for view in self.executor(views, stream=stream)]

    @property
    def executor(self) -> Executor:
        """What runs it here; made when first needed, so that any graph can be saved anywhere."""
        if self.loaded is None:
            self.loaded = Executor(fitting(self.archive, self.device), self.device)
        return self.loaded

    @property
    def plan(self) -> Plan:
        """What a call does."""
        return self.archive.main

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive to one file, for `hidet.load` on any machine that fits a target."""
        self.archive.save(path)

    def __repr__(self) -> str:
        main = self.plan
        sides = [
            ", ".join(f"{main.buffers[n].dtype}[{sizes(main, n)}]" for n in numbers)
            for numbers in (main.inputs, main.outputs)
        ]
        targets = ", ".join(self.archive.targets)
        return f"CompiledGraph({sides[0]} -> {sides[1]}, device={self.device!r}, for {targets})"


def sizes(plan: Plan, buffer: int) -> str:
    """The shape of a buffer as a person writes it."""
    return ", ".join(map(spelled, plan.buffers[buffer].shape))


def build_graph(graph: FlowGraph, targets: Sequence[str] = ()) -> CompiledGraph:
    """Compile a graph for its device, or for `targets`, to be saved for other machines."""
    chosen = [str(target_for(graph, each)) for each in targets or (None,)]
    compiled = [compile_graph(graph, each) for each in chosen]
    archive = reduce(Archive.joined, [each.archive for each in compiled])
    weights = {name: given_view(tensor) for name, tensor in compiled[0].weights.items()}
    values = {name: array_of(view) for name, view in weights.items()}
    whole = Archive(archive.plans, archive.binaries, values, archive.meta)
    device = device_of(graph)
    if targets:
        return CompiledGraph(whole, device)
    # Weights are used where they lie.
    return CompiledGraph(whole, device, Executor(archive, device, weights=weights))


def load(path: str | os.PathLike[str], device: str | None = None) -> CompiledGraph:
    """The compiled graph in a file, on `device`: by default a GPU it was compiled for, if any.

    Neither a compiler nor the framework that the model came from is needed. BadArchive says what
    is wrong with a file that was damaged, or fits no device of this machine.
    """
    archive = Archive.load(path)
    return CompiledGraph(archive, device or device_for(archive))


def device_for(archive: Archive) -> str:
    """The first device of this machine that an archive can run on."""
    reasons = []
    for device in [*(f"cuda:{index}" for index in range(device_count())), "cpu"]:
        try:
            fitting(archive, device)
        except BadArchive as error:
            reasons.append(error.message)
        else:
            return device
    raise BadArchive(f"no device of this machine fits: {'; '.join(dict.fromkeys(reasons))}")


def fitting(archive: Archive, device: str) -> Archive:
    """The part of an archive that runs on a device."""
    reasons = []
    for target in archive.targets:
        part = archive.only(target)
        try:
            check_target(part.main, device)
        except BadArchive as error:
            reasons.append(error.message)
        else:
            return part
    raise BadArchive("; ".join(reasons))


def given(value: Any, position: int) -> View:
    """An argument as memory."""
    seen = glance(value)
    if seen is None:
        raise BadArgument(f"input {position} is {type(value).__name__}, no tensor")
    pointer, found, _, owner = seen
    facts = described(found)
    if facts.gaps:
        raise BadArgument(f"input {position} has gaps between its elements", help="copy it first")
    return View(pointer, facts.shape, facts.dtype, facts.device, (value, owner))
