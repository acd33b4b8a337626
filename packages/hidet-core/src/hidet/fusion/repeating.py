"""When what is read several times had better be computed each time than stored."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hidet.fusion.group import Group
from hidet.fusion.traits import cheap, moves_only, picks, reads
from hidet.graph.tensor import Node, Tensor
from hidet.ops.resampling.interpolation import UNROLLED
from hidet.ops.windows.conv import Conv

LAUNCH_BYTES = 1 << 22
"""The bytes that a device moves in the time that one more kernel takes."""
SEVERAL = 4
"""From how many elements on one is the sum of several."""


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


def summed_again(chain: Group, tensor: Tensor, node: Node) -> str:
    """Why a CPU stores sums that `node` reads several of for each of its elements; else nothing.

    An image that is resized along both axes would be read, for each new element, at all pairs of
    places. On GPUs, where one more kernel costs more, nobody has measured it.
    """
    if node.device != "cpu" or node.op.kind != "kernels":
        return ""
    places = [place for place, each in enumerate(node.inputs) if each is tensor]
    read = sum(reads(node.op, place) for place in places)
    summed = max(
        (reads(each.op, place) for each in chain.nodes for place in range(len(each.inputs))),
        default=0,
    )
    if min(read, summed) < SEVERAL or read * summed <= UNROLLED:
        return ""
    return f"it reads {read} elements for one, of which each is made of {summed}"


def read_by_windows(tensor: Tensor, node: Node) -> str:
    """Why a CPU stores what a convolution of integers reads; else nothing.

    It copies windows to panels, so that it reads each element at every place of them, neighbours
    in memory at once. Convolutions of floats read a padded copy that they make.
    """
    op = node.op
    if not isinstance(op, Conv) or node.device != "cpu" or node.inputs[0] is not tensor:
        return ""
    if op.infer().dtype.is_float or prod(op.window) < SEVERAL:
        return ""
    return f"its windows read each element {prod(op.window)} times"


def weight(nodes: Sequence[Node]) -> int:
    """How many of the operators compute."""
    return sum(not moves_only(each.op) for each in nodes)


def nbytes(tensor: Tensor) -> int:
    """The bytes of a tensor; sizes known only at run time count as 256."""
    sizes = (size if isinstance(size, int) else 256 for size in tensor.shape)
    return prod(sizes) * tensor.dtype.nbytes
