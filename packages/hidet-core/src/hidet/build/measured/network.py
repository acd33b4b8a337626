"""A whole graph on its device, as it is scheduled now: what a call takes, and each kernel in it.

It runs in this process, on the weights that are there and on inputs of no meaning. A candidate that
crashes was found out alone, in a process of its own.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from statistics import geometric_mean

import numpy as np
from filelock import FileLock

from hidet.codegen.common.function import Function
from hidet.errors import BadArgument
from hidet.fusion.group import Group
from hidet.graph.body import bodies_of
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.ops.flow.control import Loop
from hidet.ops.indexing.in_place import origin
from hidet.runtime.binding.memory import exposed, to_device
from hidet.runtime.cores import usual_threads
from hidet.runtime.devices.device import canonical
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import Work, current
from hidet.runtime.devices.timing import device_seconds, host_seconds, thread_seconds
from hidet.runtime.devices.view import View
from hidet.runtime.executor import Executor
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Host
from hidet.runtime.profiling.stream_profile import Ahead
from hidet.runtime.programs.host_program import HostStep
from hidet.tuning.problem import harmless_inputs

TOTALS = 128, 4
"""What the sizes that only calls tell come to together, in calls that count alike."""
SAMPLE_SECONDS = 0.005
"""How long the calls of one measurement take together, if one call takes less: a GPU is never
without work then, and caches are as they are from call to call."""
MOST_CALLS = 100
"""How many calls they are at most: more do not wait in a stream."""
PROFILE_SECONDS = 0.2
"""How long the calls take whose kernels are timed at once."""
PROFILED = 3, 20
"""How many calls that are at least and at most."""


class Given:
    """What calls of a graph need on a device, whatever its schedules: weights by name, and inputs
    of each of several sizes where only calls tell them.

    BadArgument where a call of no meaning could do harm, or weights are on another device.
    """

    def __init__(self, graph: FlowGraph, names: Mapping[Tensor, str], device: str) -> None:
        require_harmless(graph)
        self.device = device
        self.weights = {name: view_on(device, tensor) for tensor, name in names.items()}
        known = all(isinstance(size, int) for each in graph.inputs for size in each.shape)
        self.calls = [
            [to_device(each, device) for each in harmless_inputs(graph, total)]
            for total in (TOTALS[:1] if known else TOTALS)
        ]
        self.ahead: Ahead | None = None
        if device != "cpu":
            with Work(device, 0):
                self.ahead = Ahead(device, 0)


def require_harmless(graph: FlowGraph) -> None:
    """Raise BadArgument if a call would change weights, or may never end."""
    for node in graph.nodes:
        if any(origin(each).storage is not None for each in node.outputs):
            raise BadArgument("a call changes the weights")
        if isinstance(node.op, Loop) and node.op.trips is None and node.op.count is None:
            raise BadArgument("it depends on data when a loop ends")
        for body in bodies_of(node.op):
            require_harmless(body.graph)


def view_on(device: str, tensor: Tensor) -> View:
    """The values of a weight on a device."""
    storage = tensor.storage
    if isinstance(storage, np.ndarray):
        return to_device(storage, device)
    if not isinstance(storage, View) or canonical(storage.device) != device:
        raise BadArgument("the weights are not on the device that is measured")
    return storage


class Whole:
    """A graph that is being scheduled, and what runs of it.

    `build` gives its archive as the groups are scheduled now, `functions` those of a group.
    """

    def __init__(
        self,
        graph: FlowGraph,
        names: Mapping[Tensor, str],
        build: Callable[[], Archive],
        functions: Callable[[Group], Sequence[Function]],
    ) -> None:
        self.graph, self.names = graph, names
        self.build, self.functions = build, functions

    def loader(self, device: str, lock: FileLock) -> Callable[[], Network]:
        """What loads it on a device, as its groups are scheduled then; nobody else measures there
        who holds the lock."""
        given = Given(self.graph, self.names, canonical(device))
        return lambda: Network(self.build(), given, lock)

    def kernels(self, group: Group) -> list[str]:
        """The names of a group's kernels, as it is scheduled now."""
        return [each.name for each in self.functions(group)]


class Network:
    """An archive of the graph, loaded and run once on each of the inputs."""

    def __init__(self, archive: Archive, given: Given, lock: FileLock) -> None:
        self.device, self.calls, self.lock = given.device, given.calls, lock
        self.ahead = given.ahead
        self.executor = Executor(
            archive, self.device, weights=given.weights, host_steps=blanks(archive)
        )
        # What else the machine does adds nothing to the time of a thread that is alone.
        self.clock = thread_seconds if usual_threads() == 1 else host_seconds
        for each in self.calls:
            self.took(each, 1)  # its memory and its launches are there now
        took = [self.took(each, 1) for each in self.calls]
        self.counts = [min(max(1, ceil(SAMPLE_SECONDS / each)), MOST_CALLS) for each in took]

    def took(self, inputs: Sequence[View], count: int) -> float:
        """The mean time of so many calls, one after the other."""

        def several() -> None:
            for _ in range(count):
                self.executor(inputs)

        with self.lock, self.executor.work(0):
            if self.ahead is None:
                return self.clock(several) / count
            # Where the GPU waited for the host, that would be measured.
            self.ahead.keep_busy()
            run = partial(self.ahead.measured, several)
            return device_seconds(run, self.device, 0) / count

    def seconds(self) -> float:
        """The time of a call; where there are calls of several sizes they count alike."""
        return geometric_mean(map(self.took, self.calls, self.counts))

    def kernels(self) -> dict[str, float]:
        """The seconds of one run of each kernel, by name: in a call, or in all sizes together."""
        found: dict[str, float] = {}
        least, most = PROFILED
        for inputs, count in zip(self.calls, self.counts, strict=True):
            repeat = int(PROFILE_SECONDS / self.took(inputs, count))
            for name, seconds in self.profile(inputs, min(max(least, repeat), most)).items():
                found[name] = found.get(name, 0.0) + seconds
        return found

    def profile(self, inputs: Sequence[View], repeat: int) -> dict[str, float]:
        """The seconds of one run of each kernel in so many calls."""
        with self.lock:
            rows = self.executor.profile(lambda: self.executor(inputs), repeat).rows
        return {each.name: (each.microseconds or 0.0) / 1e6 / each.runs for each in rows}

    def close(self) -> None:
        """Give back its memory, which a cycle of references would keep for a while."""
        del self.executor
        gc.collect()


def blanks(archive: Archive) -> dict[str, HostStep]:
    """What stands for the regions that the framework runs: their results are zeros."""
    plans = archive.plans.values()
    keys = {each.key for plan in plans for each in plan.steps if isinstance(each, Host)}
    return dict.fromkeys(keys, blank)


def blank(inputs: Sequence[View], outputs: Sequence[View]) -> None:
    """Fill results with zeros."""
    for each in outputs:
        if each.device == "cpu":
            exposed(each).fill(0)
        else:
            call("cuMemsetD8Async", each.pointer, 0, each.nbytes, current.handle)
