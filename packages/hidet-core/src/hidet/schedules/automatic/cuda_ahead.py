"""Rows that are read before it is their turn.

Each thread copies those elements into shared memory that it will itself take, so that nobody else
has to be waited for: memory stays busy while the threads of a row meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from hidet.compute.sizes import product
from hidet.ir.expr import Address, Const, Expr, Get, Load, Var
from hidet.ir.stmt import Body, Declare, Invoke
from hidet.schedules.automatic.access import reads
from hidet.schedules.automatic.cuda_spread import Spot
from hidet.schedules.automatic.plan import shape_of
from hidet.types import Scope, Size, TensorType

COPIED = (4, 8, 16)
"""Bytes that one asynchronous copy may have."""


class Ahead:
    """The elements of `fetched` of a row, `elements` for each block; `clusters` take turns."""

    def __init__(self, fetched: Sequence[Get], elements: int, clusters: int) -> None:
        self.clusters = clusters
        self.arrays = {
            read: Var(f"ahead{number}", TensorType(read.dtype, (elements,), Scope.SHARED))
            for number, read in enumerate(fetched)
        }
        self.nbytes = sum(elements * read.dtype.nbytes for read in fetched)

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def loads(self, spot: Spot) -> dict[Expr, Expr]:
        """The elements at a spot, once they are there."""
        return {read: Load(array, (spot.shared,)) for read, array in self.arrays.items()}

    def copies(self, spot: Spot, lanes: int) -> Iterator[Invoke]:
        """Start to copy `lanes` neighbours."""
        for read, array in self.arrays.items():
            where = Address(array, (spot.shared,)), Address(read.tensor, read.index)
            yield Invoke("cp_async", where, options=(lanes * read.dtype.nbytes,))


def fetchable(value: Expr, sizes: Mapping[Var, Size], along: Var, lanes: int) -> list[Get]:
    """The reads in `value` that are whole, aligned copies inside of their tensors for certain:
    those at plain indices of which each runs over `sizes`, the innermost one `along`."""
    everything = product(sizes.values())
    found = []
    for read in dict.fromkeys(reads(value)):
        shape, last = shape_of(read.tensor), read.index[-1:]
        inside = all(map(partial(runs_over, sizes), read.index, shape))
        known = isinstance(everything, int) and product(shape) == everything
        if inside and known and last == (along,) and lanes * read.dtype.nbytes in COPIED:
            found.append(read)
    return found


def runs_over(sizes: Mapping[Var, Size], index: Expr, size: Size) -> bool:
    """Whether an index is a variable that takes every value below `size`, or is at zero."""
    if isinstance(index, Var):
        return sizes.get(index) == size
    return isinstance(index, Const) and index.value == 0
