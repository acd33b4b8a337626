"""A bound plan on a GPU: CUDA graphs, cut where the framework runs a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hidet.runtime.bound import BoundPlan
from hidet.runtime.host_program import HostStep
from hidet.runtime.kernel_node import KernelNode
from hidet.runtime.launchable import CudaModule
from hidet.runtime.plan import Host
from hidet.runtime.scratch import Scratch
from hidet.runtime.segment import Segment
from hidet.runtime.stream import current
from hidet.runtime.view import View


class CudaProgram:
    """A plan's segments and host steps, and where every buffer lay at the last run."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, CudaModule],
        host_steps: Mapping[str, HostStep],
        scratch: Scratch,
        fixed: Mapping[int, int],
        use_graph: bool = True,
    ) -> None:
        self.bound, self.scratch, self.host_steps = bound, scratch, host_steps
        self.use_graph = use_graph
        self.pointers = [fixed.get(number, 0) for number in range(len(bound.plan.buffers))]
        self.arena = 0
        self.parts = split(bound, modules)

    def run(self, pointers: Sequence[tuple[int, int]], stream: int = 0) -> None:
        """Put all steps on `stream`, on memory that the caller provides, as (buffer, address).

        The caller has made the device current and says by `stream.current` whether it is captured.
        """
        with self.scratch.lock:
            if current.capturing:
                self.run_captured(pointers, stream)
                return
            changed = self.moved(pointers)
            self.scratch.begin(stream)
            try:
                self.start(changed, stream)
            except BaseException:
                self.forget()
                raise
            finally:
                self.scratch.end(stream)

    def start(self, changed: Iterable[int], stream: int) -> None:
        """Put the steps on the stream."""
        for part in self.parts:
            if isinstance(part, Host):
                self.host(part, self.pointers)
            elif self.use_graph:
                part.run(self.pointers, changed, stream)
            else:
                part.launch_each(self.pointers, stream)

    def moved(self, pointers: Sequence[tuple[int, int]]) -> list[int]:
        """Note where the buffers are now; returns those that were elsewhere."""
        places = self.pointers
        changed = [buffer for buffer, address in pointers if places[buffer] != address]
        for buffer, address in pointers:
            places[buffer] = address
        arena = self.scratch.reserve(self.bound.arena.nbytes)
        if arena != self.arena:
            self.arena = arena
            for buffer, offset in self.bound.arena.offsets.items():
                places[buffer] = arena + offset
                changed.append(buffer)
        return changed

    def run_captured(self, pointers: Sequence[tuple[int, int]], stream: int) -> None:
        """Launch into somebody else's capture, with an arena from the capture's memory.

        The arena is let go at once: the allocator knows that its memory belongs to the capture,
        and may give it only to later work of the same one.
        """
        arena = self.scratch.allocator.empty(self.bound.arena.nbytes, self.scratch.device)
        places = list(self.pointers)
        for buffer, offset in self.bound.arena.offsets.items():
            places[buffer] = arena.pointer + offset
        for buffer, address in pointers:
            places[buffer] = address
        for part in self.parts:
            if isinstance(part, Host):
                self.host(part, places)
            else:
                part.launch_each(places, stream)

    def host(self, step: Host, pointers: Sequence[int]) -> None:
        """Let the framework run a region."""
        buffers, shapes = self.bound.plan.buffers, self.bound.shapes
        reads, writes = (
            [View(pointers[n], shapes[n], buffers[n].dtype, self.scratch.device) for n in numbers]
            for numbers in (step.reads, step.writes)
        )
        self.host_steps[step.key](reads, writes)

    def forget(self) -> None:
        """After a failure nobody knows which nodes point where: build the graphs again."""
        for part in self.parts:
            if isinstance(part, Segment):
                part.forget()


def split(bound: BoundPlan, modules: Mapping[str, CudaModule]) -> list[Segment | Host]:
    """The plan's steps as segments of kernels and the framework's steps between them."""
    parts: list[Segment | Host] = []
    places: dict[int, int] = {}  # of the segment being gathered: step to position

    def close() -> None:
        if places:
            waits = [
                frozenset(places[each] for each in bound.waits[number] if each in places)
                for number in places
            ]
            parts.append(Segment([node(number) for number in places], waits))
            places.clear()

    def node(number: int) -> KernelNode:
        step = bound.steps[number]
        assert not isinstance(step, Host)
        return KernelNode(step, modules[step.binary])

    for number, step in enumerate(bound.steps):
        if isinstance(step, Host):
            close()
            parts.append(step)
        else:
            places[number] = len(places)
    close()
    return parts
