"""Driver calls beside captures of CUDA graphs, by whomever, in this thread or another.

While a graph is captured CUDA refuses calls that wait, take and give back memory, make graphs
ready or end them: in the mode "global" to all threads, else to that thread. Whoever makes one ends
the capture on top, unless it says that the call has nothing to do with it. `cuCtxSynchronize` is
beyond that: it waits for the capture too and ends any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hidet.runtime.driver import call, cu


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


def give_back(*kept: tuple[str, Any]) -> None:
    """Call a function of the driver, by name, on each handle that is not None.

    For the collector, which comes at any time, also while somebody captures: nobody is there to
    hear of a failure, and at the end of the interpreter the driver takes everything back itself.
    """
    if cu is not None and any(handle is not None for _, handle in kept):
        with beside_captures():
            for name, handle in kept:
                if handle is not None:
                    getattr(cu, name)(handle)
