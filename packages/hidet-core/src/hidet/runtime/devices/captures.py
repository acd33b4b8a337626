"""Driver calls beside captures of CUDA graphs, by whomever, in this thread or another.

While a graph is captured CUDA refuses calls that wait, take and give back memory, make graphs
ready or end them: in the mode "global" to all threads, else to that thread. Whoever makes one ends
the capture on top, unless it says that the call has nothing to do with it. `cuCtxSynchronize` is
beyond that: it waits for the capture too and ends any. Kernels, copies, modules, streams and events
are made and launched as ever, on other streams; where the captured stream is one that waits for the
default stream, which frameworks' do not, nothing may use that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any

from hidet.errors import OutOfMemory
from hidet.runtime.devices.driver import call, cu

Handle = tuple[str, Any]
"""The name of the function that gives something back, and the driver's handle of it, if any."""


@contextmanager
def beside_captures() -> Iterator[None]:
    """A block whose driver calls are no part of any capture: they neither fail for one nor end
    it."""
    relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)


def aside(device: str) -> AbstractContextManager[None]:
    """The same for work on a device that is no part of a capture; on a CPU there is none."""
    return nullcontext() if device == "cpu" else beside_captures()


def wait_for_device() -> None:
    """Wait for all work on the current device, on any stream, but for what is being captured.

    Giving memory back does, of the host's where the device has none left: what runs may use it.
    CUDA's documents say that it may; frameworks' allocators rely on it, and a test sees to it.
    """
    with beside_captures():
        try:
            kept_piece(int(call("cuCtxGetCurrent")))
            give, piece = "cuMemFree", call("cuMemAlloc", 1)
        except OutOfMemory:
            give, piece = "cuMemFreeHost", call("cuMemHostAlloc", 1, 0)
        call(give, piece)


@lru_cache(maxsize=64)
def kept_piece(context: int) -> Any:
    """A byte of a device that stays: else a wait maps memory and unmaps it, for 80 us instead of 7
    on an H200."""
    return call("cuMemAlloc", 1)


def captured_nodes(stream: int) -> tuple[Any, list[Any]] | None:
    """The graph into which a stream is captured, and the nodes that what comes next depends on;
    None while it is not captured."""
    # CUDA 12 has two functions of that purpose, 13 only that which tells of edges' data.
    name = "cuStreamGetCaptureInfo"
    found = call(f"{name}_v3" if hasattr(cu, f"{name}_v3") else name, stream)
    status, _, graph, nodes, *_ = found
    if status != cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE:
        return None
    return graph, list(nodes)


def go_on_behind(stream: int, nodes: Sequence[Any]) -> None:
    """Let what a stream captures next depend on these nodes alone."""
    name, known = "cuStreamUpdateCaptureDependencies", [*nodes]
    replace = cu.CUstreamUpdateCaptureDependencies_flags.CU_STREAM_SET_CAPTURE_DEPENDENCIES
    edges = [] if hasattr(cu, f"{name}_v2") else [[cu.CUgraphEdgeData() for _ in known]]
    call(name, stream, known, *edges, len(known), replace.value)


def give_back(*handles: Handle) -> None:
    """Give the driver back what there is of these.

    For the collector, which comes at any time, also while somebody captures: nobody is there to
    hear of a failure. At the end of the interpreter the driver takes everything back itself.
    """
    if cu is None or all(handle is None for _, handle in handles):
        return
    relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    status, before = cu.cuThreadExchangeStreamCaptureMode(relaxed)
    if status:
        return  # the driver has ended
    for name, handle in handles:
        if handle is not None:
            getattr(cu, name)(handle)
    cu.cuThreadExchangeStreamCaptureMode(before)


class Owner:
    """What has handles of the driver's; they are given back with the last reference to it."""

    __slots__ = ()

    def handles(self) -> Iterable[Handle]:
        """Those it has now; it may not have got far in the making."""
        raise NotImplementedError

    def __del__(self, give_back: Callable[..., None] = give_back) -> None:
        # Bound here, since at the end of the interpreter modules lose their names.
        give_back(*self.handles())
