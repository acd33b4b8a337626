"""Python's cycle collector, kept from searching the heap again and again while a kernel is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_inside = 0
_was_on = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collections in this block; what it leaves behind is collected at its end.

    A kernel is made of hundreds of thousands of small objects that know no cycles; the heap of a
    framework, which is searched along with them, holds millions.
    """
    global _inside, _was_on
    with _lock:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.collect(0)  # what was made in the block, nothing older
                gc.enable()
