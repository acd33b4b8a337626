"""A call of an intrinsic as the simulator shows it: what `hidet.intrinsics.Context` asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from hidet.errors import SimulationError
from hidet.intrinsics.boxes import Boxes
from hidet.ir.expr import Expr, Var, is_vector
from hidet.sim.asynchronous import agents, copies, mbarriers, phases
from hidet.sim.asynchronous.agents import Operation
from hidet.sim.asynchronous.wgmma import Unit
from hidet.sim.faults import DivergentBarrier, InactiveLane, Misaligned, Trapped
from hidet.sim.interpreter import register_pool
from hidet.sim.interpreter.compile_expr import Code
from hidet.sim.memories import dependents, ordered, release_acquire
from hidet.sim.memories.access import load, store, update
from hidet.sim.memory import Pointer
from hidet.sim.threads import barriers, clusters, debugger
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask, choose, rows, spread, varies
from hidet.target import WARP
from hidet.types import Scope


@dataclass(frozen=True)
class Call:
    """One execution of an intrinsic by the threads in `mask`."""

    simt: SimtGroup
    mask: Mask
    codes: dict[Expr, Code]
    located: dict[Expr, Pointer] = field(default_factory=dict)
    """Pointers of which each thread takes its own in turn: worked out once for all of them."""

    def value(self, e: Expr) -> Array:
        """An operand, one row for each thread."""
        return spread(self.codes[e](self.simt, self.mask), self.simt.count, is_vector(e))

    def uniform(self, e: Expr) -> int:
        """An operand that all threads agree on."""
        found = self.codes[e](self.simt, self.mask)
        if varies(found):
            taken = found[self.mask]
            if (taken != taken[0]).any():
                self.fault(f"the threads do not agree on {e}")
            found = taken[0]
        return int(found)

    def assign(self, var: Var, value: Array) -> None:
        """Set a result."""
        vector = is_vector(var)
        self.simt.assign(
            var,
            value.astype(var.dtype.numpy, copy=False),
            self.mask,
            lambda m, a, b: choose(m, a, b, vector),
        )

    def pointer(self, e: Expr, mask: Mask) -> Pointer:
        """A pointer operand."""
        found = self.codes[e](self.simt, mask)
        assert isinstance(found, Pointer)
        return found

    def where(self, some: Array | None) -> Mask:
        """The threads of the call, or some of them."""
        return self.mask if some is None else self.mask & some

    def read(
        self, pointer: Expr, count: int, *, where: Array | None = None, align: int = 0
    ) -> Array:
        """`count` consecutive elements behind a pointer for each thread, as one access."""
        mask, of = self.where(where), pointer.dtype
        if not mask.any():
            return np.zeros((self.simt.count, count), of.numpy)
        found = load(self.simt, self.pointer(pointer, mask), of, count, mask, align)
        whole = spread(found, self.simt.count, count > 1)
        return whole if count > 1 else whole[:, None]

    def write(
        self, pointer: Expr, values: Array, *, where: Array | None = None, align: int = 0
    ) -> None:
        """Consecutive elements behind a pointer for each thread, as one access."""
        mask, of, count = self.where(where), pointer.dtype, values.shape[1]
        given = values.astype(of.numpy, copy=False)
        given = given if count > 1 else given[:, 0]
        if mask.any():
            store(self.simt, self.pointer(pointer, mask), of, count, given, mask, align)

    def scope(self, pointer: Expr) -> Scope:
        """Where a pointer points."""
        return self.pointer(pointer, self.mask).buffer.scope

    def update(self, pointer: Expr, change: Callable[[Any, int], Any], count: int = 1) -> Array:
        """Atomically replace `old` by `change(old, thread)`, one after the other."""
        target, of = self.pointer(pointer, self.mask), pointer.dtype
        return update(self.simt, target, of, change, self.mask, count)

    def read_atomic(self, pointer: Expr, count: int) -> Array:
        """As `read`, of what others may write at the same time."""
        source = self.pointer(pointer, self.mask)
        return ordered.load_atomic(self.simt, source, pointer.dtype, count, self.mask)

    def write_atomic(self, pointer: Expr, values: Array) -> None:
        """As `write`, of what others may read or write at the same time."""
        target = self.pointer(pointer, self.mask)
        ordered.store_atomic(self.simt, target, pointer.dtype, values, self.mask)

    def unwritten(self, pointer: Expr, count: int) -> None:
        """Fault where this kernel has written the elements."""
        source = self.pointer(pointer, self.mask)
        ordered.refuse_written(self.simt, source, pointer.dtype.nbytes * count, self.mask)

    def narrowed(self, mask: Mask) -> Call:
        """The same call by some of its threads."""
        return Call(self.simt, self.mask & mask, self.codes)

    def tally(self, holds: Array) -> Callable[[], tuple[Array, Array]]:
        """Count in how many threads of each block something holds, at the barrier that follows."""
        return barriers.tally(self.simt, self.mask, holds)

    def present(self) -> Mask:
        """The threads that exist and have not left the kernel."""
        return self.simt.everyone & ~self.simt.exited

    def time(self) -> Array:
        """A count for each thread that never goes back."""
        self.simt.run.ticks += 1
        return np.full(self.simt.count, self.simt.run.ticks, np.int64)

    def whole_warps(self) -> None:
        """Fault unless each warp takes part with all lanes or with none."""
        lanes = self.mask.reshape(-1, WARP)
        torn = lanes.any(axis=1) & ~lanes.all(axis=1)
        if torn.any():
            row = int(np.argmax(torn)) * WARP + int(np.argmin(lanes[np.argmax(torn)]))
            self.simt.fault(
                DivergentBarrier, "a warp-wide operation is not reached by all lanes", row
            )

    def block_barrier(self) -> Iterator[None] | None:
        """All threads of a block meet; fault if some do not take part."""
        return barriers.block(self.simt, self.mask)

    def warp_barrier(self) -> None:
        """The lanes of a warp that take part meet."""
        barriers.warp(self.simt, self.mask)

    def lanes_barrier(self) -> None:
        """The lanes of a warp that take part meet, if they are some of it."""
        barriers.lanes(self.simt, self.mask)

    def grid_wait(self) -> None:
        """The kernels before this one are complete, and their writes visible."""
        dependents.wait(self.simt, self.mask)

    def grid_signal(self) -> None:
        """The kernels after this one may begin."""
        dependents.signal(self.simt, self.mask)

    def rest(self) -> None:
        """The threads need nobody to go on: they only let others have their turn."""
        self.simt.run.iterations += not self.simt.still

    def trap(self) -> NoReturn:
        """Stop the simulation: the kernel asked for it."""
        self.simt.fault(Trapped, "a trap was executed", int(np.argmax(self.mask)))

    def stop(self, values: dict[str, Expr]) -> None:
        """Stop in the debugger, with values to look at."""
        shown = {name: self.shown(e) for name, e in values.items()}
        debugger.stop(self.simt, self.mask, shown)

    def shown(self, e: Expr) -> Any:
        """A value at each thread of the call; of a tensor, all of its elements."""
        if isinstance(e, Var) and (e in self.simt.unset or e not in self.simt.env):
            return None  # not given a value yet
        found = self.codes[e](self.simt, self.mask)
        if not isinstance(found, Pointer):
            return spread(found, self.simt.count, is_vector(e))[self.mask].copy()
        buffer = found.buffer
        whole = buffer.view(e.dtype.numpy)
        each = buffer.stride // e.dtype.nbytes
        rows = whole[: whole.size // each * each].reshape(-1, each) if each else whole
        return rows[:, : buffer.size // e.dtype.nbytes].copy()

    def named_barrier(self, number: int, threads: int, wait: bool) -> Iterator[None]:
        """`threads` threads meet at barrier `number`; those that only arrive do not wait."""
        return barriers.named(self.simt, self.mask, number, threads, wait)

    def fence(self, scope: str) -> None:
        """Earlier accesses are visible to the block or the device before later ones."""
        release_acquire.fence(self.simt, self.mask, scope)

    def copy_async(self, target: Expr, source: Expr, nbytes: int, taken: Array) -> None:
        """Start copying `taken` bytes per thread; the rest of `nbytes` becomes zero."""
        reading = self.mask & (taken > 0)
        found = self.pointer(source, reading) if reading.any() else None
        copies.start(self.simt, self.pointer(target, self.mask), found, nbytes, taken, self.mask)

    def commit_copies(self) -> None:
        """The copies each thread started since the last commit are one group."""
        copies.commit(self.simt, self.mask)

    def wait_copies(self, pending: int | None) -> None:
        """Wait until at most `pending` groups of a thread are left; None: all copies."""
        copies.wait(self.simt, self.mask, pending)

    def copies_arrive(self, barrier: Expr, counts: bool) -> None:
        """The copies each thread has begun complete at an mbarrier, perhaps as its arrival."""
        at = self.pointer(barrier, self.mask)
        copies.finish_at_barrier(self.simt, at, counts, self.mask)

    def tensor_map(self, e: Expr) -> Boxes:
        """A tensor map operand."""
        found = self.codes[e](self.simt, self.mask)
        assert isinstance(found, Boxes)
        return found

    def locate(self, pointer: Expr, thread: int, align: int = 1) -> Pointer:
        """Where a thread's pointer leads to, a multiple of `align` bytes."""
        found = self.located.get(pointer)
        if found is None:
            found = self.located[pointer] = self.pointer(pointer, self.mask)
        if found.block is not None:
            self.fault("an address of another block's memory; give the block's number", thread)
        offset = int(rows(found.offset, thread))
        if offset % align:
            where = found.buffer.at(offset)
            self.simt.fault(Misaligned, f"{where} is not aligned to {align} bytes", thread)
        return Pointer(found.buffer, offset)

    def launch_agent(
        self,
        threads: Sequence[int],
        kind: str,
        group: str | None = None,
        block: int | None = None,
        generic: bool = False,
    ) -> Operation:
        """An asynchronous operation that one thread, or whole warps together, begin."""
        return agents.launched(self.simt, np.array(threads), kind, group, block, generic)

    def map_pointer(self, result: Var, pointer: Expr, block: Array) -> None:
        """Set `result` to the address that a pointer has in a block of the cluster."""
        found = self.pointer(pointer, self.mask)
        if found.buffer.scope is not Scope.SHARED:
            self.fault(f"{found.buffer.name} is {found.buffer.scope} memory, not shared")
        there = Pointer(found.buffer, found.offset, block.astype(np.int64))
        self.simt.assign(result, there, self.mask, choose)

    def cluster_arrive(self, release: bool) -> None:
        """Each thread arrives at the barrier of its cluster."""
        clusters.arrive(self.simt, self.mask, release)

    def cluster_wait(self) -> Iterator[None]:
        """Wait until all threads of the cluster have arrived."""
        return clusters.wait(self.simt, self.mask)

    def cluster_size(self) -> int:
        """How many blocks a cluster has."""
        return self.simt.team.cluster

    def commit_group(self, group: str) -> None:
        """What each thread (of "wgmma": each warp) began since its last commit is one group."""
        agents.commit_group(self.simt, self.mask, group)

    def wait_group(self, group: str, pending: int, only_read: bool = False) -> None:
        """Wait until at most `pending` groups are left, or only until their sources are read."""
        agents.wait_group(self.simt, self.mask, group, pending, only_read)

    def fence_proxy(self, where: str) -> None:
        """Accesses so far are seen by asynchronous operations."""
        agents.fence_proxy(self.simt, self.mask, where)

    def mbarrier_init(self, pointer: Expr, counts: Array) -> None:
        """Make 8 bytes of shared memory an mbarrier."""
        mbarriers.initialise(self.simt, self.pointer(pointer, self.mask), counts, self.mask)

    def mbarrier_inval(self, pointer: Expr) -> None:
        """Make an mbarrier ordinary memory again."""
        mbarriers.invalidate(self.simt, self.pointer(pointer, self.mask), self.mask)

    def mbarrier_fence_init(self) -> None:
        """Initialisations by these threads are seen by asynchronous operations and the cluster."""
        mbarriers.fence_initialisations(self.simt, self.mask)

    def mbarrier_arrive(
        self, pointer: Expr, counts: Array, nbytes: Array | None, block: Array | None = None
    ) -> Array:
        """Expect `nbytes` bytes, then arrive; the number of the phase arrived in."""
        at = self.pointer(pointer, self.mask)
        if block is not None:
            at = Pointer(at.buffer, at.offset, block.astype(np.int64))
        return phases.arrive(self.simt, at, counts, nbytes, self.mask)

    def mbarrier_expect(self, pointer: Expr, nbytes: Array) -> None:
        """The current phase expects so many bytes more."""
        phases.expect_bytes(self.simt, self.pointer(pointer, self.mask), nbytes, self.mask)

    def mbarrier_test(self, pointer: Expr, phase: Array, by_state: bool) -> Array:
        """For each thread, whether the phase of a parity, or of a state, has completed."""
        at = self.pointer(pointer, self.mask)
        return phases.test(self.simt, at, phase, by_state, self.mask)

    def mbarrier_wait(self, pointer: Expr, phase: Array, by_state: bool) -> Iterator[None]:
        """Wait until the phase of a parity, or of a state, has completed."""
        at = self.pointer(pointer, self.mask)
        return phases.wait(self.simt, at, phase, by_state, self.mask)

    def shared_address(self, pointer: Expr, period: int = 1) -> Array:
        """The address in the block's shared memory, as a number, of each thread."""
        found = self.pointer(pointer, self.mask)
        buffer = found.buffer
        if buffer.scope is not Scope.SHARED:
            self.fault(f"{buffer.name} is {buffer.scope} memory, not shared")
        if buffer.alignment % period:
            self.simt.fault(
                Misaligned,
                f"a swizzle repeats every {period} bytes; {buffer.name}, of {buffer.size} bytes, "
                f"begins at a multiple of {buffer.alignment} only",
                int(np.argmax(self.mask)),
                f"give {buffer.name} a multiple of {period} bytes",
            )
        return spread(buffer.address + found.offset, self.simt.count)

    def matrix_unit(self) -> Unit:
        """The call as one of whole warpgroups; fault if some threads of one do not take part."""
        return Unit(self.simt, self.mask, self.pointer)

    def set_registers(self, count: int, more: bool) -> Iterator[None]:
        """Give each thread of the call's warpgroups `count` registers, from the block's pool."""
        return register_pool.change(self.simt, self.mask, count, more)

    def fault(self, message: str, thread: int | None = None) -> NoReturn:
        """Stop the simulation."""
        self.simt.fault(SimulationError, message, thread)

    def misaligned(self, message: str, thread: int) -> NoReturn:
        """Stop the simulation: an address or a position is no multiple of what it must be of."""
        self.simt.fault(Misaligned, message, thread)

    def inactive(self, message: str, thread: int) -> NoReturn:
        """Stop the simulation: a lane is needed that does not take part."""
        self.simt.fault(InactiveLane, message, thread)
