"""Which operands the L2 cache gives up last.

A kernel that moves more than the cache holds fills it with what it has read, which nobody needs
again, and with results, which have yet to go to memory. Where what was read stays, results leave
soon after they were written; else they add up. Both ways move as many bytes, but the first takes
1 to 4 % less time (H200: norms, softmax, transposes, elements of elements, of 34 to 270 MB each
way). What fits the cache is left alone: the next kernel finds results there.
"""

from __future__ import annotations

from math import prod

from hidet.ir.expr import Var
from hidet.schedules.automatic.access import constant_size, reads
from hidet.schedules.automatic.plan import MapStage, shape_of
from hidet.target import Target

SHARE = 1 / 4
"""An operand that is less of what a kernel moves is left alone, such as weights."""
WRITTEN = 0.4
"""Where results are less of it they are not in the way (casts to half the bytes: 1.6 % more)."""


def lasting(stage: MapStage, target: Target) -> tuple[Var, ...]:
    """The operands of a stage that the cache should give up after its results."""
    also = [out for out, _ in stage.also]
    values = [stage.value, *(value for _, value in stage.also)]
    read = {e.tensor: bytes_of(e.tensor) for value in values for e in reads(value)}
    written = sum(map(bytes_of, (stage.out, *also)))
    moved = written + sum(read.values())
    if moved <= target.l2_bytes or written < WRITTEN * moved:
        return ()
    return tuple(tensor for tensor, nbytes in read.items() if nbytes >= SHARE * moved)


def bytes_of(tensor: Var) -> int:
    """Those of a tensor; 0 where its size is not known before it runs."""
    return prod(constant_size(size) or 0 for size in shape_of(tensor)) * tensor.dtype.nbytes
