"""A bound plan on a GPU: for each stream CUDA graphs and an arena of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock

from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.binding.scratch import Scratch
from hidet.runtime.devices.device import is_current, primary_context
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.devices.stream import Work, current, is_capturing
from hidet.runtime.profiling.profile import RECORDER
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.host_program import HostStep
from hidet.runtime.programs.stream_program import StreamProgram

STREAMS_KEPT = 8
"""Streams a plan is kept ready for; what was made for others is let go when their work is done."""


class CudaProgram:
    """Runs a plan on the caller's stream, or into the caller's capture; several threads may call.

    `scratch_on` gives the memory for workspaces on a stream.
    """

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, CudaModule],
        host_steps: Mapping[str, HostStep],
        scratch_on: Callable[[int], Scratch],
        device: str,
        fixed: Mapping[int, int],
        chain: Chain,
        use_graph: bool = True,
    ) -> None:
        self.bound, self.device, self.scratch_on = bound, device, scratch_on
        self.use_graph = use_graph
        self.make = partial(StreamProgram, bound, modules, host_steps, fixed, chain=chain)
        self.recorded: tuple[int, StreamProgram] | None = None
        self.context = int(primary_context(device))
        self.known: OrderedDict[int, StreamProgram] = OrderedDict()
        self.latest: tuple[int | None, StreamProgram | None] = None, None
        self.lock = Lock()

    def __call__(self, addresses: Sequence[int], stream: int = 0) -> None:
        """Run on inputs and outputs at these addresses, whatever the thread did before."""
        if is_current(self.context) and not is_capturing(stream) and RECORDER.get() is None:
            self.on(stream)(addresses, stream)
            return
        with Work(self.device, stream):
            if current.capturing:
                self.any(stream).launch_captured(addresses, stream)
            elif RECORDER.get() is not None:
                self.each_of(stream)(addresses, stream)
            else:
                self.on(stream)(addresses, stream)

    def each_of(self, stream: int) -> StreamProgram:
        """A program that launches kernels one by one, which a recorder can look at."""
        if not self.use_graph:
            return self.on(stream)
        with self.lock:
            if self.recorded is None or self.recorded[0] != stream:
                made = self.make(use_graph=False, scratch=self.scratch_on(stream))
                self.recorded = stream, made
            return self.recorded[1]

    def any(self, stream: int) -> StreamProgram:
        """A program that is there, to launch its kernels one by one; for `stream` if none is."""
        with self.lock:
            there = next(iter(self.known.values()), None)
        return there or self.on(stream)

    def on(self, stream: int) -> StreamProgram:
        """The program for a stream, made when it is first used there."""
        latest, ready = self.latest
        if ready is not None and stream == latest:
            return ready
        with self.lock:
            found = self.known.get(stream)
            if found is None:
                found = self.make(use_graph=self.use_graph, scratch=self.scratch_on(stream))
                self.known[stream] = found
                if len(self.known) > STREAMS_KEPT:
                    self.known.popitem(last=False)
            self.known.move_to_end(stream)
            self.latest = stream, found
            return found
