"""Values that the blocks of a cluster send into each other's shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.ir.expr import Expr, Var
from hidet.ir.stmt import Declare
from hidet.lang import Int, address, part, static
from hidet.lang.cuda import (
    fence_mbarrier_init,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    store_to_block,
    threadIdx,
)
from hidet.schedules.automatic.cuda.grid import write
from hidet.types import DType, Scope, TensorType, f32, i32, u64


class ClusterExchange:
    """Barriers (PTX ISA: mbarrier), each of which counts the bytes that a block receives.

    The barrier of the cluster would also wait until all that was written before has arrived in
    memory, and for threads that send nothing.
    """

    def __init__(self, name: str, count: int) -> None:
        self.count = count
        self.barriers = Var(name, TensorType(u64, (count,), Scope.SHARED))

    def barrier(self, number: Expr | int) -> Expr:
        """The address of a barrier."""
        return address(self.barriers, number)

    @part
    def initialise(self, expected: Sequence[int]) -> None:
        """Declare and initialise the barriers; each may expect its first bytes at once."""
        write([Declare(self.barriers)])
        if threadIdx.x == 0:
            for number in static(range(self.count)):
                mbarrier_init(self.barrier(number), 1)
                if expected:
                    self.expect(number, expected[number])
            fence_mbarrier_init()

    @part
    def expect(self, number: Int, nbytes: int) -> None:
        """For one thread: the block will receive so many bytes at a barrier."""
        mbarrier_arrive_expect_tx(self.barrier(number), nbytes)

    @part
    def send(self, there: Expr, value: Expr, number: Int, block: Int) -> None:
        """Store a value at the same address in the shared memory of a block of the cluster."""
        store_to_block(there, value, self.barrier(number), block)

    @part
    def wait(self, number: Int, phase: Int) -> None:
        """Wait for the bytes that a barrier expects."""
        mbarrier_wait(self.barrier(number), phase)


def exchange_type(of: DType) -> DType:
    """The type in which a value is sent: stores to other blocks have four bytes at least."""
    if of.nbytes >= 4:
        return of
    return f32 if of.is_float else i32
