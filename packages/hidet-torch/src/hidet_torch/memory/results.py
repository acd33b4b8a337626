"""Memory of results that nobody holds any more, for the next results of that layout.

The C library seldom gives a result the memory of the one before: aligned memory needs a larger hole
than the one that its like left. So each call writes to memory that no cache holds, which takes a
copy or an addition twice as long. On a GPU PyTorch keeps memory of its own; on a CPU it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from operator import attrgetter
from sys import getrefcount
from threading import Lock
from typing import Any, TypeAlias, cast
from weakref import WeakValueDictionary

import torch
from torch._C._dynamo import guards

Layout: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]
"""Size, strides and element type of a tensor."""
LEAST, MOST = 1 << 16, 1 << 24
"""Bytes of a result that is kept: less fits a near cache wherever it lies, more fits none."""
ALL = 1 << 25
"""Bytes that are kept in a process, those of results that are still held among them."""
EACH = 2
"""Results of a layout that are kept: while a loop holds the last one, the next is made."""

quick: Any = guards  # its types are not told
empty = cast(Callable[..., torch.Tensor], quick._empty_strided_cpu)
uses: Any = torch._C._storage_Use_Count


class Kept:
    """A tensor that was given away, and who knows whether that is still there."""

    def __init__(self, layout: Layout) -> None:
        with torch.inference_mode(False):  # else no later result could be one for training
            self.tensor = empty(*layout)
        self.storage = self.tensor.untyped_storage()
        self.nbytes = self.storage.nbytes()
        self.handle = self.storage._cdata
        self.alone = self.state()

    def state(self) -> tuple[int, int, int]:
        """How many hold the memory, as tensors or as a storage, and where it lies."""
        return uses(self.handle), getrefcount(self.storage), self.tensor.data_ptr()

    def is_free(self) -> bool:
        """Whether nobody else holds the memory, which nobody has put elsewhere: what goes to
        another process is moved to memory that both share."""
        return self.state() == self.alone


class Alike:
    """The results of one layout that are kept among `every` one."""

    def __init__(self, every: Results, layout: Layout) -> None:
        self.every, self.layout = every, layout
        self.kept: list[Kept] = []
        self.asked = 0
        """How often anything had been asked for when this last was."""

    def tensor(self) -> torch.Tensor:
        """A tensor of the layout, with whatever is in its memory, which has nothing else in common
        with the tensor that is kept."""
        every = self.every
        with every.lock:
            every.asked = self.asked = every.asked + 1
            for each in self.kept:
                if each.is_free():
                    return each.tensor.data
            return every.one_more(self).tensor.data


class Results:
    """The results on the CPU that are kept."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: WeakValueDictionary[Layout, Alike] = WeakValueDictionary()
        self.kept: set[Alike] = set()
        """Those of which there are some."""
        self.nbytes = self.asked = 0

    def of(self, layout: Layout) -> Alike:
        """Those of a layout."""
        with self.lock:
            found = self.known.get(layout)
            if found is None:
                found = self.known[layout] = Alike(self, layout)
            return found

    def one_more(self, alike: Alike) -> Kept:
        """A new one of a layout; those go that were not asked for longest."""
        made = Kept(alike.layout)
        if len(alike.kept) == EACH:
            self.nbytes -= alike.kept.pop(0).nbytes
        alike.kept.append(made)
        self.kept.add(alike)
        self.nbytes += made.nbytes
        while self.nbytes > ALL:
            oldest = min(self.kept, key=attrgetter("asked"))
            self.kept.discard(oldest)
            self.nbytes -= sum(each.nbytes for each in oldest.kept)
            oldest.kept.clear()
        return made


RESULTS = Results()


def maker(layout: Layout, device: str) -> Callable[[], torch.Tensor]:
    """What makes tensors of a layout on a device, as quickly as can be."""
    size, strides, of = layout
    if device == "cpu":
        kept = LEAST <= prod(size) * of.itemsize <= MOST
        return RESULTS.of(layout).tensor if kept else partial(empty, *layout)
    if torch.cuda.device_count() == 1:  # on whatever device is current
        return partial(quick._empty_strided_cuda, *layout)
    return partial(torch.empty_strided, size, strides, dtype=of, device=torch.device(device))
