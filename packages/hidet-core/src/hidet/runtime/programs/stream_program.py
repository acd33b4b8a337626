"""A bound plan on one CUDA stream: graphs, cut where the framework runs a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from hidet.errors import Capturing
from hidet.runtime.binding.bound import BoundPlan, may_overlap
from hidet.runtime.binding.scratch import Scratch
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.graphs.early import kernel_before
from hidet.runtime.graphs.region import ITERATIONS, LoopNodes, fits_graph, graph_node, is_bounded
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.plans.plan import Branch, Host, Launch, Repeat
from hidet.runtime.profiling.profile import entered, run_step
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.host_program import HostStep
from hidet.runtime.programs.relaunch import Relaunch
from hidet.runtime.programs.stream_region import Body, Lent, StreamRegion


class StreamProgram:
    """A plan's segments and host steps, and where every buffer lay at the last run.

    What a call does is written for the host's time: it is all that a small model costs.
    """

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, CudaModule],
        host_steps: Mapping[str, HostStep],
        fixed: Mapping[int, int],
        use_graph: bool,
        chain: Chain,
        scratch: Scratch | Lent,
    ) -> None:
        self.bound, self.scratch, self.host_steps = bound, scratch, host_steps
        self.use_graph, self.chain = use_graph, chain
        self.pointers = [fixed.get(number, 0) for number in range(len(bound.plan.buffers))]
        self.moving = (*bound.plan.inputs, *bound.plan.outputs)
        self.latest: Sequence[int] = ()
        self.generation = -1  # of the scratch memory that the pointers are to
        self.has_workspaces = bound.arena.nbytes > 0
        self.modules = modules
        self.parts = split(bound, modules, self.region, use_graph)

    def region(self, number: int, step: Branch | Repeat) -> StreamRegion:
        """A step of control flow, whose bodies are programs of the same stream."""
        bodies: list[Body] = []
        for each in self.bound.bodies[number]:
            lent = Lent(self.scratch.device)
            made = StreamProgram(
                each, self.modules, self.host_steps, {}, self.use_graph, self.chain, lent
            )
            bodies.append((lent, each, made))
        return StreamRegion(step, self.bound, bodies, self.chain)

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Put all steps on the stream, after the run before has done with the arena."""
        scratch = self.scratch
        with scratch.lock:
            changed = self.moved(addresses)
            entered(self.bound, scratch.device, stream)
            if self.has_workspaces:
                scratch.begin(stream)
            try:
                for part in self.parts:
                    if isinstance(part, Host):
                        self.host(part, self.pointers)
                    elif isinstance(part, StreamRegion | Relaunch):
                        part.run(self.pointers, stream)
                    elif self.use_graph:
                        part.run(self.pointers, changed, stream)
                    else:
                        part.launch_each(self.pointers, stream)
            except BaseException:
                self.forget()
                raise
            finally:
                if self.has_workspaces:
                    scratch.end(stream)

    def moved(self, addresses: Sequence[int]) -> list[int]:
        """Note where the buffers are now; returns those that were elsewhere."""
        changed = []
        if addresses != self.latest:
            places = self.pointers
            for buffer, address in zip(self.moving, addresses, strict=True):
                if places[buffer] != address:
                    places[buffer] = address
                    changed.append(buffer)
            self.latest = addresses
        if self.generation != self.scratch.generation:
            changed += self.moved_arena()
        return changed

    def moved_arena(self) -> list[int]:
        """Note where the workspaces are now."""
        arena = self.scratch.reserve(self.bound.arena.nbytes)
        self.generation = self.scratch.generation
        for buffer, offset in self.bound.arena.offsets.items():
            self.pointers[buffer] = arena + offset
        return list(self.bound.arena.offsets)

    def launch_captured(self, addresses: Sequence[int], stream: int) -> None:
        """Launch into somebody else's capture, with an arena from the capture's memory.

        The arena is let go at once: the allocator knows that its memory belongs to the capture,
        and may give it only to later work of the same one.
        """
        parts = self.parts_for_capture()
        scratch = self.scratch
        assert isinstance(scratch, Scratch)
        with scratch.lock:
            arena = scratch.allocator.empty(self.bound.arena.nbytes, scratch.device)
            places = list(self.pointers)
            for buffer, offset in self.bound.arena.offsets.items():
                places[buffer] = arena.pointer + offset
            for buffer, address in zip(self.moving, addresses, strict=True):
                places[buffer] = address
            for number, part in enumerate(parts):
                if isinstance(part, Host):
                    self.host(part, places)
                elif not part.launchable:
                    part.add_to_capture(places, stream)
                else:
                    before = kernel_before(stream) if number == 0 else None
                    part.launch_each(places, stream, early=part.may_follow(before))

    def parts_for_capture(self) -> list[Segment | Host]:
        """Parts that somebody else's capture can take up; those with nodes of control flow are made
        anew, since each stands for the nodes of one graph."""
        parts = [part for part in self.parts if isinstance(part, Segment | Host)]
        if len(parts) < len(self.parts):
            raise Capturing(
                "the host decides what control flow runs, which a CUDA graph cannot wait for",
                help="capture what comes before and after it, or say how many iterations a loop "
                "has at most",
            )
        if all(isinstance(part, Host) or part.launchable for part in parts):
            return parts
        again = split(self.bound, self.modules, self.region, self.use_graph)
        return [part for part in again if isinstance(part, Segment | Host)]

    def host(self, step: Host, pointers: Sequence[int]) -> None:
        """Let the framework run a region."""
        views = self.bound.views(step, pointers.__getitem__, self.scratch.device)
        run_step(step.key, lambda: self.host_steps[step.key](*views))

    def forget(self) -> None:
        """After a failure nobody knows which nodes point where: build the graphs again."""
        for part in self.parts:
            if not isinstance(part, Host):
                part.forget()


Part: TypeAlias = "Segment | Host | StreamRegion | Relaunch"


def split(
    bound: BoundPlan,
    modules: Mapping[str, CudaModule],
    region: Callable[[int, Branch | Repeat], StreamRegion],
    use_graph: bool,
) -> list[Part]:
    """The plan's steps as segments, and between them the framework's steps and control flow that
    no graph can hold, of which `region` makes what runs it."""
    parts: list[Part] = []
    places: dict[int, int] = {}  # of the segment being gathered: step to position

    def close() -> None:
        if places:
            waits = [
                frozenset(places[each] for each in bound.waits[number] if each in places)
                for number in places
            ]
            early = {place for number, place in places.items() if bound.overlaps(number)}
            late = {place for number, place in places.items() if place and after(number)}
            steps = [graph_node(bound, number, modules) for number in places]
            parts.append(Segment(steps, waits, early, late))
            places.clear()

    def after(number: int) -> bool:
        before, step = bound.steps[number - 1 : number + 1]
        return not (isinstance(step, Launch) and may_overlap(before, step))

    for number, step in enumerate(bound.steps):
        if isinstance(step, Host):
            close()
            parts.append(step)
        elif isinstance(step, Launch) or (use_graph and fits_graph(bound, number)):
            places[number] = len(places)
            if isinstance(step, Repeat) and not is_bounded(step):
                close()
                body = bound.bodies[number][0]
                parts.append(Relaunch(LoopNodes(step, bound, body, modules, ITERATIONS)))
        else:
            close()
            parts.append(region(number, step))
    close()
    return parts
