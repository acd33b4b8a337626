"""What runs between two steps of the host: one CUDA graph, its pointers patched in place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from hidet.runtime.devices.captures import (
    Handle,
    Owner,
    beside_captures,
    captured_nodes,
    give_back,
    go_on_behind,
)
from hidet.runtime.devices.driver import call, cu, expect
from hidet.runtime.graphs.kernel_node import SIGNALLING, KernelNode
from hidet.runtime.graphs.nodes import GraphNode, add_nodes
from hidet.runtime.profiling.profile import RECORDER, run_step


class Segment(Owner):
    """Steps of which each waits only for those it depends on; parallel branches are parallel.

    Those numbered in `early` may begin while the one they wait for still runs; launched one by one,
    all that wait themselves may but those in `late`. Only kernels can be launched one by one.
    """

    def __init__(
        self,
        steps: Sequence[GraphNode],
        waits: Sequence[frozenset[int]],
        early: Collection[int] = (),
        late: Collection[int] = (),
    ) -> None:
        self.graph: Any = None
        self.executable: Any = None
        self.nodes: list[Any] = []
        self.steps, self.waits, self.early, self.late = steps, waits, early, late
        self.users: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            for buffer in step.buffers:
                self.users.setdefault(buffer, []).append(number)

    @property
    def kernels(self) -> list[KernelNode]:
        """The steps that are kernels."""
        return [each for each in self.steps if isinstance(each, KernelNode)]

    def run(self, pointers: Sequence[int], changed: Collection[int], stream: int) -> None:
        """Launch the graph with the buffers at `pointers`, of which `changed` moved."""
        if self.executable is None:
            self.build(pointers)
        elif changed:
            self.patch(pointers, changed)
        expect(cu.cuGraphLaunch(self.executable, stream)[0], "cuGraphLaunch")

    def build(self, pointers: Sequence[int]) -> None:
        """Make the graph: a node for each kernel, several for a step of control flow."""
        self.forget()
        self.graph = call("cuGraphCreate", 0)
        self.nodes = add_nodes(self.graph, [], self.steps, self.waits, self.early, pointers)
        with beside_captures():
            self.executable = call("cuGraphInstantiate", self.graph, 0)

    def patch(self, pointers: Sequence[int], changed: Collection[int]) -> None:
        """Point the nodes that use a buffer which moved to where it is now."""
        for number in {step for buffer in changed for step in self.users.get(buffer, ())}:
            self.steps[number].update(self.executable, self.nodes[number], pointers)

    @property
    def launchable(self) -> bool:
        """Whether the steps can be launched one by one."""
        return len(self.kernels) == len(self.steps)

    def add_to_capture(self, pointers: Sequence[int], stream: int) -> None:
        """Add the nodes to the graph into which a stream is captured."""
        captured = captured_nodes(stream)
        assert captured is not None, "the caller has seen that it is captured"
        nodes = add_nodes(*captured, self.steps, self.waits, self.early, pointers)
        waited = set[int]().union(*self.waits)
        go_on_behind(stream, [node for number, node in enumerate(nodes) if number not in waited])

    def launch_each(self, pointers: Sequence[int], stream: int, *, early: bool = False) -> None:
        """Launch the kernels one after the other, the first one after a kernel if it may be
        `early`."""
        is_recorded = RECORDER.get() is not None
        for number, kernel in enumerate(self.kernels):
            kernel.point(pointers)
            if is_recorded:  # none overlaps the one before: their times would be mixed
                run_step(kernel.step.function, partial(kernel.launch, stream))
            else:
                kernel.launch(stream, early=early if number == 0 else number not in self.late)

    def may_follow(self, function: int | None) -> bool:
        """Whether the first kernel may begin while one of somebody's function still runs, which no
        plan knows as the one before, nor what it writes; None: it is none, or not alone."""
        (first, *_) = self.kernels
        if function is None or first.step.ahead:
            return False
        return function not in SIGNALLING or first.step.room is not None

    def forget(self) -> None:
        """Drop the graph; the next run builds it again."""
        handles = self.handles()
        self.executable, self.graph, self.nodes = None, None, []
        give_back(*handles)

    def handles(self) -> Iterable[Handle]:
        """The graph, and what runs."""
        return [("cuGraphExecDestroy", self.executable), ("cuGraphDestroy", self.graph)]
