"""Pieces of kernels in which each lane moves its own values."""

from by_hand import c

from hidet.ir.expr import Address, Builtin, Var
from hidet.ir.stmt import For
from hidet.types import i32

LANE, THREAD = Builtin("laneid"), Builtin("threadIdx.x")


def start(array):
    """The address of an array."""
    return Address(array, (c(0),))


def moved(body_of, count):
    """A loop over the values of a lane."""
    i = Var("i", i32)
    return For(i, c(count), (body_of(i),))
