"""wgmma: products under way, their groups, and what they hold until they are waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hidet.ir.stmt import Invoke
from hidet.ir.walk import find
from hidet.sim.asynchronous.agents import Operation, commit_group, launched, wait_group
from hidet.sim.faults import (
    DivergentBarrier,
    MissingFence,
    MissingWait,
    OutOfBounds,
    RegisterBudget,
    Uninitialised,
)
from hidet.sim.memories.access import addresses, granules
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.holds import FenceCount, Holds
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask
from hidet.target import WARPGROUP
from hidet.types import DType, Scope

LINE = 16
"""Bytes that an operand in shared memory is made of."""
PRODUCT, REGISTERS = "wgmma", "registers"


@dataclass(eq=False)
class Product:
    """One instruction, in several warpgroups: what it holds, and which group it belongs to."""

    groups: Array
    """Rows, as (warpgroups, 128)."""
    number: Array
    """The group of each warpgroup that it is committed with."""
    done: Array
    held: list[tuple[Array, Array]] = field(default_factory=list)
    """Counts to lower, and the granules of each warpgroup."""


@dataclass(eq=False)
class Pending:
    """The unfinished products of a SIMT group."""

    committed: Array
    """Of each row, how many groups its warpgroup has committed."""
    fenced: Array
    """Of each row, when its warpgroup passed the last fence."""
    fences: FenceCount = field(default_factory=FenceCount)
    products: list[Product] = field(default_factory=list)
    forms: dict[str, int] = field(default_factory=dict)


def pending(simt: SimtGroup) -> Pending | None:
    """The SIMT group's own; None if its kernel has no products."""
    if PRODUCT not in simt.state:
        some = any(s.name == PRODUCT for s in find(simt.run.kernel.body, Invoke))
        rows = np.zeros(simt.count, np.int64), np.full(simt.count, -1, np.int64)
        simt.state[PRODUCT] = Pending(*rows) if some else None
    found: Pending | None = simt.state[PRODUCT]
    return found


def holds_of(simt: SimtGroup, granule_count: int) -> Holds | None:
    """What a new register buffer needs to be watched; None where nothing can hold it."""
    work = pending(simt)
    return None if work is None else Holds(granule_count, work.fences)


def warpgroups(simt: SimtGroup, mask: Mask) -> Array:
    """The rows in the mask as (warpgroups, 128); fault unless all of each takes part."""
    threads = simt.count // len(np.unique(simt.slot))  # of each block
    whole = threads // WARPGROUP * WARPGROUP
    rows = np.arange(simt.count).reshape(-1, threads)
    groups = rows[:, :whole].reshape(-1, WARPGROUP)
    taken = mask[groups]
    torn, some = taken.any(axis=1) & ~taken.all(axis=1), taken.any(axis=1)
    message = "a warpgroup-wide operation is not reached by all 128 threads; one that is missing:"
    if torn.any():
        first = int(np.argmax(torn))
        simt.fault(
            DivergentBarrier,
            message,
            int(groups[first, np.argmin(taken[first])]),
            "a warpgroup is four warps, the first at a multiple of four",
        )
    rest = mask.reshape(-1, threads)[:, whole:]
    if rest.any():
        block, warp = (int(i) for i in np.argwhere(rest)[0])
        simt.fault(
            DivergentBarrier,
            "a warpgroup-wide operation in warps that are no whole warpgroup",
            int(rows[block, whole + warp]),
            "a block that uses wgmma has a multiple of 128 threads",
        )
    return groups[some]


class Unit:
    """A call by whole warpgroups: `hidet.intrinsics.base.MatrixUnit`."""

    def __init__(self, simt: SimtGroup, mask: Mask, pointer: Any) -> None:
        self.simt = simt
        self.groups = warpgroups(simt, mask)
        self.rows = self.groups.reshape(-1)
        self.mask = mask
        self.pointer = pointer
        work = pending(simt)
        self.work = work if work is not None else Pending(simt.number * 0, simt.number * 0)
        self.product: Product | None = None
        self.operations: list[Operation] = []
        """Of each warpgroup, the product as it reads shared memory."""

    def started(self) -> Product:
        """The product that this call starts."""
        if self.product is None:
            number = self.work.committed[self.groups[:, 0]]
            self.product = Product(self.groups, number, np.zeros(len(number), np.bool_))
            self.work.products.append(self.product)
            unfenced = self.work.fenced[self.rows] < 0
            if unfenced.any():
                self.no_fence("the first wgmma", int(self.rows[np.argmax(unfenced)]))
            self.operations = [launched(self.simt, each, PRODUCT, PRODUCT) for each in self.groups]
        return self.product

    # ---- registers -------------------------------------------------------------------------------

    def located(self, e: Any, count: int) -> tuple[Pointer, Array, Array]:
        """A pointer operand, the byte positions of each row, the granules of each warpgroup."""
        pointer: Pointer = self.pointer(e, self.mask)
        buffer, width = pointer.buffer, count * e.dtype.nbytes
        if buffer.scope is not Scope.REGISTER:
            self.simt.fault(
                OutOfBounds, f"a fragment lies in registers; {buffer.name} is {buffer.scope} memory"
            )
        at = addresses(self.simt, pointer, width, self.rows, align=4)
        touched, _ = granules(buffer, at, width)
        return pointer, at, touched.reshape(len(self.groups), -1)

    def fragment(self, e: Any, count: int) -> Array:
        """The product reads elements of each thread's registers."""
        pointer, at, touched = self.located(e, count)
        held = self.watched(pointer.buffer)
        self.free(pointer.buffer, held.sums, touched, "is a fragment of A")
        self.fenced(pointer.buffer, held.touched, touched)
        self.written(pointer.buffer, touched)
        self.hold(held, held.parts, touched)
        return self.values(pointer.buffer, at, e.dtype, count)

    def sums(self, e: Any, count: int, added: Array, form: str) -> Array:
        """The product's accumulators."""
        pointer, at, touched = self.located(e, count)
        self.room(count * e.dtype.nbytes // 4)
        held = self.watched(pointer.buffer)
        number = self.work.forms.setdefault(form, len(self.work.forms) + 1)
        self.free(pointer.buffer, held.parts, touched, "is an accumulator")
        self.fenced(pointer.buffer, held.touched, touched)
        other = np.where(held.form[touched] == number, -1, held.used[touched])
        self.fenced(pointer.buffer, other, touched, by_granule=False)
        if added.any():
            self.written(pointer.buffer, touched[added])
        self.hold(held, held.sums, touched)
        held.used[touched], held.form[touched] = self.work.fences.now, number
        return self.values(pointer.buffer, at, e.dtype, count)

    def result(self, e: Any, values: Array) -> None:
        """The product's accumulators after it."""
        pointer, at, touched = self.located(e, values.shape[2])
        view = pointer.buffer.view(e.dtype.numpy)
        places = (at // e.dtype.nbytes)[:, None] + np.arange(values.shape[2])
        view[places] = values.reshape(len(self.rows), -1)
        if pointer.buffer.written is not None:
            pointer.buffer.written[touched] = True
        for each in self.operations:
            each.finish_in_group()

    def room(self, needed: int) -> None:
        """`RegisterBudget` if a thread was left fewer registers than its sums take."""
        budget = self.simt.residents.state.get(REGISTERS)
        if budget is None:
            return
        for row in map(int, self.rows[::WARPGROUP]):
            has = budget.of_group[int(self.simt.slot[row]), int(self.simt.thread[row]) // WARPGROUP]
            if has <= needed:
                self.simt.fault(
                    RegisterBudget,
                    f"the sums of a wgmma take {needed} registers of a thread, which has {has}",
                    row,
                    "take more by setmaxnreg_inc, or keep more in setmaxnreg_dec",
                )

    def watched(self, buffer: Buffer) -> Holds:
        """The holds of a register buffer."""
        if buffer.holds is None:
            buffer.holds = Holds(buffer.data.size // buffer.granule, self.work.fences)
        return buffer.holds

    def values(self, buffer: Buffer, at: Array, of: DType, count: int) -> Array:
        """Elements of each row as (warpgroups, 128, count)."""
        places = (at // of.nbytes)[:, None] + np.arange(count)
        return buffer.view(of.numpy)[places].reshape(len(self.groups), WARPGROUP, count)

    def free(self, buffer: Buffer, counts: Array, touched: Array, role: str) -> None:
        """`MissingWait` if an unfinished product uses the registers in the other way."""
        busy = counts[touched] > 0
        if busy.any():
            group, entry = (int(i) for i in np.argwhere(busy)[0])
            name = self.register(buffer, int(touched[group, entry]))
            self.simt.fault(
                MissingWait,
                f"{name} {role} while another wgmma under way uses it otherwise",
                self.row(touched, group, entry),
                "wait for the other one's group first",
            )

    def fenced(self, buffer: Buffer, times: Array, touched: Array, by_granule: bool = True) -> None:
        """`MissingFence` if something at these times is not before the warpgroup's last fence."""
        seen = times[touched] if by_granule else times
        late = seen >= self.work.fenced[self.groups[:, :1]]
        if late.any():
            group, entry = (int(i) for i in np.argwhere(late)[0])
            name = self.register(buffer, int(touched[group, entry]))
            self.no_fence(f"the use of {name}", self.row(touched, group, entry))

    def no_fence(self, what: str, row: int) -> None:
        """The error for products that nothing orders after accesses of registers."""
        self.simt.fault(
            MissingFence,
            f"no wgmma_fence comes before {what} by a wgmma",
            row,
            "call wgmma_fence() after the last access by ordinary code, in all four warps",
        )

    def written(self, buffer: Buffer, touched: Array) -> None:
        """`Uninitialised` if registers that are read hold nothing yet."""
        if buffer.written is None:
            return
        missing = ~buffer.written[touched]
        if missing.any():
            group, entry = (int(i) for i in np.argwhere(missing)[0])
            name = self.register(buffer, int(touched[group, entry]))
            self.simt.fault(Uninitialised, f"wgmma reads {name} before it is written")

    def hold(self, held: Holds, counts: Array, touched: Array) -> None:
        """The product holds these registers of each warpgroup."""
        counts[touched] += 1
        held.site[touched] = self.simt.site
        self.started().held.append((counts, touched))

    def row(self, touched: Array, group: int, entry: int) -> int:
        """The thread whose register is the `entry`-th of a warpgroup's."""
        return int(self.groups[group, entry // (touched.shape[1] // WARPGROUP)])

    def register(self, buffer: Buffer, granule: int) -> str:
        """The element of a granule, in words."""
        return f"register {buffer.at(granule * buffer.granule % buffer.stride)}"

    # ---- shared memory ---------------------------------------------------------------------------

    def matrix(self, addresses: Array, chosen: Array) -> Array:
        """The product reads 16 bytes of shared memory at each of these addresses."""
        self.started()
        buffer = self.shared(int(addresses.min()), int(addresses.max()) + LINE)
        offsets = addresses - buffer.address
        readers = [self.operations[group] for group in np.flatnonzero(chosen)]
        start = Pointer(buffer, np.int64(0))
        return np.stack([each.read(start, offsets, LINE) for each in readers])

    def shared(self, low: int, high: int) -> Buffer:
        """The shared tensor that has all bytes from `low` to `high`."""
        tensors = self.simt.residents.shared.values()
        for buffer in tensors:
            if buffer.address <= low < buffer.address + buffer.size:
                if high <= buffer.address + buffer.size:
                    return buffer
                over = high - buffer.address - buffer.size
                self.simt.fault(
                    OutOfBounds,
                    f"a wgmma operand reaches {over} bytes beyond the end of {buffer.name}",
                    int(self.rows[0]),
                    "compare the descriptor's leading and stride distances with the tile",
                )
        self.simt.fault(
            OutOfBounds,
            f"a wgmma operand begins at shared address {low}, where no tensor is",
            int(self.rows[0]),
        )

    # ---- groups ----------------------------------------------------------------------------------

    def fence(self) -> None:
        """Products that follow come after earlier accesses of registers."""
        self.work.fences.now += 1
        self.work.fenced[self.rows] = self.work.fences.now

    def commit(self) -> None:
        """Close the current group of each warpgroup."""
        self.work.committed[self.rows] += 1
        commit_group(self.simt, self.mask, PRODUCT)

    def wait(self, pending: int) -> None:
        """Finish all but the last `pending` committed groups of each warpgroup."""
        wait_group(self.simt, self.mask, PRODUCT, pending, only_read=False)
        waiting = np.zeros(self.simt.count, np.bool_)
        waiting[self.rows] = True
        for product in self.work.products:
            first = product.groups[:, 0]
            ready = waiting[first] & ~product.done
            ready &= product.number < self.work.committed[first] - pending
            for counts, touched in product.held:
                counts[touched[ready]] -= 1
            product.done |= ready
        self.work.products = [each for each in self.work.products if not each.done.all()]
