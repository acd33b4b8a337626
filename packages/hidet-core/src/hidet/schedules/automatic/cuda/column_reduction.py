"""A reduction of the columns of a block: over lanes, warps and the blocks of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hidet.compute import Reduce
from hidet.ir.expr import Expr, Var, convert
from hidet.ir.stmt import Declare
from hidet.lang import Int, Registers, Shared, address, part, shared_tensor, unroll, vectorize
from hidet.lang.cuda import blockIdx, cluster_wait, syncthreads, threadIdx
from hidet.schedules.automatic.cuda.cluster_exchange import ClusterExchange, exchange_type
from hidet.schedules.automatic.cuda.column_shape import ColumnShape
from hidet.schedules.automatic.cuda.grid import THREAD, write
from hidet.schedules.automatic.cuda.reduce_across import Across, add_up
from hidet.schedules.automatic.emit import Accumulator, joined
from hidet.schedules.cuda.lane_reduction import LaneReduction
from hidet.target import WARP
from hidet.types import Scope, TensorType

LANES = (1, 2, 4, 8, 16)
"""The bits in which numbers of lanes differ."""


class ColumnReduction(Across):
    """Reduction `number` of all columns of a block; each thread has `lanes` of them.

    The results go to `known`, by lane of a thread or by column of the block; where no other thread
    needs them, each column's goes to `write_column` instead.
    """

    def __init__(
        self,
        shape: ColumnShape,
        exchange: ClusterExchange,
        reduce: Reduce,
        number: int,
        known: dict[Expr, Var],
        write_column: Callable[[Reduce, Accumulator], None] | None,
    ) -> None:
        self.shape, self.exchange, self.reduce, self.number = shape, exchange, reduce, number
        self.numbers, self.known, self.write_column = (number,), known, write_column
        of = TensorType(reduce.value.dtype, (self.shape.lanes,), Scope.REGISTER)
        self.own = Var(f"partial{number}", of)
        distances = tuple(lane for lane in LANES if lane >= self.shape.across)
        self.lane_reduction = LaneReduction(
            self.shape.lanes, distances, partial(joined, reduce.how)
        )

    @property
    def received_bytes(self) -> int:
        """Bytes of partial results that a block receives."""
        return self.shape.blocks * self.shape.width * exchange_type(self.own.dtype).nbytes

    def prepare(self) -> None:
        """The barriers are those of all reductions."""

    def start(self, number: int) -> Var:
        write([Declare(self.own, self.reduce.identity)])
        return self.own

    @part
    def finish(self, iteration: Int) -> None:
        if self.shape.deep == 1:
            self.know(self.own)
        else:
            self.combine(self.own)

    def know(self, where: Any) -> None:
        """Record where the results are."""
        self.known[self.reduce] = where

    @part
    def combine(self, own: Registers) -> None:
        """Combine the partial results of the threads of each column: in a warp, then in the order
        of warps, then of the blocks of a cluster, which send them to each other."""
        shape, lanes, last = self.shape, self.lane_reduction, self.write_column is not None
        parts = shared_tensor(own.dtype, (shape.threads // WARP, shape.width))
        lanes.reduce(own)
        if shape.across * shape.lanes // lanes.held == WARP or self.has_results:
            for v in vectorize(lanes.held):
                column = threadIdx.x % shape.across * shape.lanes + lanes.first(threadIdx.x) + v
                parts[threadIdx.x // WARP, column] = own[v]
        syncthreads()
        done = None if last else shared_tensor(own.dtype, shape.width)
        if shape.blocks > 1:
            received = shared_tensor(exchange_type(own.dtype), (shape.blocks, shape.width))
            if self.number == 0:
                cluster_wait()  # the shared memory of all blocks is there
            if self.has_column:
                self.send(parts, received, 1 if last else shape.blocks)
                if not last or blockIdx.x % shape.blocks == 0:
                    self.exchange.wait(self.number, 0)
                    self.write(received, done)
        elif self.has_column:
            self.write(parts, done)
        if not last:
            syncthreads()
            self.know(done)

    @property
    def has_results(self) -> Expr:
        """Whether a lane has results of its warp."""
        return self.shape.across * self.shape.lanes // self.lane_reduction.held > THREAD % WARP

    @property
    def has_column(self) -> Expr | bool:
        """Whether this thread has a column of the block to itself."""
        return self.shape.width % self.shape.threads == 0 or self.shape.width > THREAD

    @part
    def send(self, parts: Shared, received: Shared, blocks: int) -> None:
        """Send this block's partial result of a column to the first blocks of the cluster."""
        total = Accumulator(self.reduce, f"_part{self.number}")
        add_up(total, parts)
        for other in unroll(blocks):
            there = address(received, blockIdx.x % self.shape.blocks, threadIdx.x)
            value = convert(total.value, received.dtype)
            self.exchange.send(there, value, self.number, other)

    @part
    def write(self, parts: Shared, done: Any) -> None:
        """Combine the partial results of this thread's column, for all or to write its element."""
        total = Accumulator(self.reduce, str(self.number))
        add_up(total, parts)
        if self.write_column is not None:
            self.write_column(self.reduce, total)
        else:
            done[threadIdx.x] = total.value
