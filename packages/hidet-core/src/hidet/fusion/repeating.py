"""When what several operators read had better be computed by each of them than stored."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hidet.fusion.group import Group
from hidet.fusion.traits import cheap, moves_only, picks
from hidet.graph.tensor import Node, Tensor

LAUNCH_BYTES = 1 << 22
"""The bytes that a device moves in the time that one more kernel takes."""


def repeatable(chain: Group, readers: int, straight: bool) -> bool:
    """Whether each of so many readers had better compute the result of `chain` than read it.

    What only moves elements, or picks a row of them, costs nothing again. Arithmetic does where the
    reader takes each element once (`straight`): there the bytes decide that are read again, or
    written and read back.
    """
    if all(picks(each.op) for each in chain.nodes):
        return True
    if not straight or not all(cheap(each.op) for each in chain.nodes):
        return False
    (result,) = chain.results
    again = (readers - 1) * sum(map(nbytes, chain.inputs))
    return again <= (readers + 1) * nbytes(result) + LAUNCH_BYTES


def weight(nodes: Sequence[Node]) -> int:
    """How many of the operators compute."""
    return sum(not moves_only(each.op) for each in nodes)


def nbytes(tensor: Tensor) -> int:
    """The bytes of a tensor; sizes known only at run time count as 256."""
    sizes = (size if isinstance(size, int) else 256 for size in tensor.shape)
    return prod(sizes) * tensor.dtype.nbytes
