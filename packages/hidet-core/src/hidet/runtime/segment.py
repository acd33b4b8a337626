"""Kernels between two steps of the framework: one CUDA graph, its pointers patched in place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from hidet.runtime.captures import Handle, Owner, beside_captures, give_back
from hidet.runtime.driver import call, cu, expect
from hidet.runtime.early import add_early_edge, early_edges
from hidet.runtime.kernel_node import SIGNALLING, KernelNode


class Segment(Owner):
    """Launches of which each waits only for those it depends on; parallel branches are parallel.

    Those numbered in `early` may begin while the one they wait for still runs; launched one by one,
    all that wait themselves may but those in `late`.
    """

    def __init__(
        self,
        kernels: Sequence[KernelNode],
        waits: Sequence[frozenset[int]],
        early: Collection[int] = (),
        late: Collection[int] = (),
    ) -> None:
        self.graph: Any = None
        self.executable: Any = None
        self.nodes: list[Any] = []
        self.kernels, self.waits, self.early, self.late = kernels, waits, early, late
        self.users: dict[int, list[int]] = {}
        for number, kernel in enumerate(kernels):
            for buffer in kernel.buffers:
                self.users.setdefault(buffer, []).append(number)

    def run(self, pointers: Sequence[int], changed: Sequence[int], stream: int) -> None:
        """Launch the graph with the buffers at `pointers`, of which `changed` moved."""
        if self.executable is None:
            self.build(pointers)
        elif changed:
            self.patch(pointers, changed)
        expect(cu.cuGraphLaunch(self.executable, stream)[0], "cuGraphLaunch")

    def build(self, pointers: Sequence[int]) -> None:
        """Make the graph: a node for each kernel, an edge for each dependency."""
        self.forget()
        self.graph = call("cuGraphCreate", 0)
        for number, (kernel, needs) in enumerate(zip(self.kernels, self.waits, strict=True)):
            kernel.point(pointers)
            before = [self.nodes[each] for each in sorted(needs)]
            early = number in self.early and early_edges()
            full = [] if early else before
            node = call("cuGraphAddKernelNode", self.graph, full, len(full), kernel.params)
            if early:
                for each in before:
                    add_early_edge(self.graph, each, node)
            self.nodes.append(node)
        with beside_captures():
            self.executable = call("cuGraphInstantiate", self.graph, 0)

    def patch(self, pointers: Sequence[int], changed: Sequence[int]) -> None:
        """Point the nodes that use a buffer which moved to where it is now."""
        for number in {node for buffer in changed for node in self.users.get(buffer, ())}:
            kernel = self.kernels[number]
            kernel.point(pointers)
            (status,) = cu.cuGraphExecKernelNodeSetParams(
                self.executable, self.nodes[number], kernel.params
            )
            expect(status, "cuGraphExecKernelNodeSetParams")

    def launch_each(self, pointers: Sequence[int], stream: int, *, early: bool = False) -> None:
        """Launch the kernels one after the other, the first one after a kernel if it may be
        `early`."""
        for number, kernel in enumerate(self.kernels):
            kernel.point(pointers)
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
