"""Memory of results that nobody holds any more, for the next results of that layout.

The C library seldom gives a result the memory of the one before: aligned memory needs a larger hole
than the one that its like left. So each call writes to memory that no cache holds, which takes a
copy or an addition twice as long. On a GPU PyTorch keeps memory of its own; on a CPU it does not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from math import prod
from sys import getrefcount
from threading import Lock
from typing import Any, TypeAlias, cast

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
        self.alone = self.state()

    def state(self) -> tuple[int, int, int]:
        """How many hold the memory, as tensors or as a storage, and where it lies."""
        return uses(self.storage._cdata), getrefcount(self.storage), self.tensor.data_ptr()

    def is_free(self) -> bool:
        """Whether nobody else holds the memory, which nobody has put elsewhere: what goes to
        another process is moved to memory that both share."""
        return self.state() == self.alone

    def given(self) -> torch.Tensor:
        """The memory as a tensor that has nothing else in common with this one."""
        return self.tensor.data


class Results:
    """The results on the CPU that are kept, those asked for last at the end."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.kept: OrderedDict[Layout, list[Kept]] = OrderedDict()
        self.nbytes = 0

    def tensor(self, layout: Layout) -> torch.Tensor:
        """A tensor of a layout, with whatever is in its memory."""
        with self.lock:
            known = self.kept.setdefault(layout, [])
            self.kept.move_to_end(layout)
            for each in known:
                if each.is_free():
                    return each.given()
            made = Kept(layout)
            if len(known) == EACH:
                self.nbytes -= known.pop(0).nbytes
            known.append(made)
            self.nbytes += made.nbytes
            while self.nbytes > ALL:
                _, gone = self.kept.popitem(last=False)
                self.nbytes -= sum(each.nbytes for each in gone)
            return made.given()


RESULTS = Results()


def maker(layout: Layout, device: str) -> Callable[[], torch.Tensor]:
    """What makes tensors of a layout on a device, as quickly as can be."""
    size, strides, of = layout
    if device == "cpu":
        kept = LEAST <= prod(size) * of.itemsize <= MOST
        return partial(RESULTS.tensor, layout) if kept else partial(empty, *layout)
    if torch.cuda.device_count() == 1:  # on whatever device is current
        return partial(quick._empty_strided_cuda, *layout)
    return partial(torch.empty_strided, size, strides, dtype=of, device=torch.device(device))
