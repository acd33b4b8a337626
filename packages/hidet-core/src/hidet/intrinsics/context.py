"""What the simulator offers to intrinsics: calls by SIMT groups, and asynchronous work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hidet.intrinsics.boxes import Boxes
from hidet.ir.expr import Expr, Var
from hidet.types import Scope

Array: TypeAlias = NDArray[Any]


class MatrixUnit(Protocol):
    """A call by whole warpgroups as the simulator shows it: asynchronous products and their groups.

    What a product reads and writes is its own until the group it is committed to is waited for.
    """

    @property
    def groups(self) -> Array:
        """The rows of the SIMT group that take part, as (warpgroups, 128)."""

    def fragment(self, pointer: Expr, count: int) -> Array:
        """The product reads `count` elements of each thread's registers: (groups, 128, count)."""

    def matrix(self, addresses: Array, chosen: Array) -> Array:
        """The product reads 16 bytes at each address of shared memory: (chosen, addresses, 16).

        `chosen` are the warpgroups that do.
        """

    def sums(self, pointer: Expr, count: int, added: Array, form: str) -> Array:
        """The product's accumulators, `added` to or not in each group; as `fragment`.

        Products of one `form` may follow each other on the same registers without a fence.
        """

    def result(self, pointer: Expr, values: Array) -> None:
        """The product's accumulators after it; nobody else sees them before they are waited for."""

    def fence(self) -> None:
        """Products that follow come after earlier accesses of registers."""

    def commit(self) -> None:
        """The products that each warpgroup started since the last commit are one group."""

    def wait(self, pending: int) -> None:
        """Wait until at most `pending` groups of each warpgroup are left."""


Place: TypeAlias = Any
"""Memory and a byte offset in it, as the simulator knows it; intrinsics only hand it on."""


class Agent(Protocol):
    """An asynchronous operation in the simulator: what it did counts for those who wait for it."""

    def read(self, place: Place, offsets: Array, width: int) -> Array:
        """(n, width) bytes at n byte offsets from a place; the source is held until completion."""

    def write(self, place: Place, offsets: Array, data: Array) -> None:
        """Write (n, width) bytes at n byte offsets; nobody may touch them before completion."""

    def update(
        self, place: Place, offsets: Array, data: Array, change: Callable[[Array, Array], Array]
    ) -> None:
        """Atomically replace the bytes at offsets by `change(old, data)`."""

    def move_to(self, block: int) -> None:
        """What it touches from now on is the shared memory of a block of the cluster."""

    def finish_at_barrier(self, barrier: Place, nbytes: int) -> None:
        """It completes as `nbytes` bytes of the current phase of an mbarrier."""

    def finish_in_group(self) -> None:
        """It completes with the group that its issuers commit next."""


class Context(Protocol):
    """A call as the simulator shows it to an intrinsic: a SIMT group of threads in whole warps.

    Arrays have one row for each thread of the SIMT group; rows outside of `mask` mean nothing.
    """

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which threads execute the call."""

    def value(self, e: Expr) -> Array:
        """An operand, one row for each thread."""

    def uniform(self, e: Expr) -> int:
        """An operand that all threads agree on."""

    def assign(self, var: Var, value: Array) -> None:
        """Set a result."""

    def read(
        self, pointer: Expr, count: int, *, where: Array | None = None, align: int = 0
    ) -> Array:
        """`count` consecutive elements behind a pointer for each thread, as one access.

        The address is a multiple of `align` bytes, or of the access's width if that is 0.
        """

    def write(
        self, pointer: Expr, values: Array, *, where: Array | None = None, align: int = 0
    ) -> None:
        """Consecutive elements behind a pointer for each thread, as one access."""

    def scope(self, pointer: Expr) -> Scope:
        """Where a pointer points."""

    def read_atomic(self, pointer: Expr, count: int) -> Array:
        """As `read`, of what others may write at the same time."""

    def write_atomic(self, pointer: Expr, values: Array) -> None:
        """As `write`, of what others may read or write at the same time."""

    def unwritten(self, pointer: Expr, count: int) -> None:
        """Fault where this kernel has written the elements."""

    def update(self, pointer: Expr, change: Callable[[Any, int], Any], count: int = 1) -> Array:
        """Atomically replace `old` by `change(old, thread)`, in turn; the old values.

        With a `count` of elements at once, `old` is an array of them, as each old value is.
        """

    def narrowed(self, mask: NDArray[np.bool_]) -> Context:
        """The same call by some of its threads."""

    def tally(self, holds: Array) -> Callable[[], tuple[Array, Array]]:
        """Count in how many threads of each block something holds, at the barrier that follows.

        What is returned tells each thread, after the barrier, how many those are, and of how many.
        """

    def present(self) -> NDArray[np.bool_]:
        """The threads that exist and have not left the kernel."""

    def time(self) -> Array:
        """A count for each thread that never goes back."""

    def whole_warps(self) -> None:
        """Fault unless each warp takes part with all lanes or with none."""

    def block_barrier(self) -> Iterator[None] | None:
        """All threads of a block meet; fault if some do not take part."""

    def warp_barrier(self) -> None:
        """The lanes of a warp that take part meet; fault if some do not take part."""

    def lanes_barrier(self) -> None:
        """The lanes of a warp that take part meet, if they are some of it."""

    def grid_wait(self) -> None:
        """The kernels before this one are complete, and their writes visible."""

    def grid_signal(self) -> None:
        """The kernels after this one may begin."""

    def rest(self) -> None:
        """The threads need nobody to go on: they only let others have their turn."""

    def trap(self) -> NoReturn:
        """Stop the simulation: the kernel asked for it."""

    def stop(self, values: dict[str, Expr]) -> None:
        """Stop in the debugger, with values to look at."""

    def named_barrier(self, number: int, threads: int, wait: bool) -> Iterator[None]:
        """`threads` threads meet at barrier `number`; those that only arrive do not wait."""

    def fence(self, scope: str) -> None:
        """Earlier accesses are visible to the block or the device before later ones."""

    def copy_async(self, target: Expr, source: Expr, nbytes: int, taken: Array) -> None:
        """Start copying `taken` bytes per thread; the rest of `nbytes` becomes zero."""

    def commit_copies(self) -> None:
        """The copies each thread started since the last commit are one group."""

    def wait_copies(self, pending: int | None) -> None:
        """Wait until at most `pending` groups of a thread are left; None: all copies."""

    def copies_arrive(self, barrier: Expr, counts: bool) -> None:
        """The copies each thread has begun complete at an mbarrier, perhaps as its arrival."""

    def tensor_map(self, e: Expr) -> Boxes:
        """A tensor map operand."""

    def shared_address(self, pointer: Expr, period: int = 1) -> Array:
        """The address in the block's shared memory, as a number, of each thread.

        Fault unless it is known modulo `period` bytes, a power of two: that of a swizzle.
        """

    def matrix_unit(self) -> MatrixUnit:
        """The call as one of whole warpgroups; fault if some threads of one do not take part."""

    def set_registers(self, count: int, more: bool) -> Iterator[None]:
        """Give each thread of the call's warpgroups `count` registers, from the block's pool."""

    def locate(self, pointer: Expr, thread: int, align: int = 1) -> Place:
        """Where a thread's pointer leads to, a multiple of `align` bytes."""

    def launch_agent(
        self,
        threads: Sequence[int],
        kind: str,
        group: str | None = None,
        block: int | None = None,
        generic: bool = False,
    ) -> Agent:
        """An asynchronous operation that one thread, or whole warps together, begin.

        `threads` are rows, `kind` names it in messages ("bulk copy"); `group` is "bulk" or
        "wgmma" if it completes with a group, None if at an mbarrier. It touches shared memory of
        the threads' own block, or of block `block` of their cluster, and sees what their
        asynchronous proxies see, or, if it is `generic`, what they see themselves.
        """

    def map_pointer(self, result: Var, pointer: Expr, block: Array) -> None:
        """Set `result` to the address that a pointer has in a block of the cluster."""

    def cluster_arrive(self, release: bool) -> None:
        """Each thread arrives at the barrier of its cluster; what it knows is passed on, or not."""

    def cluster_wait(self) -> Iterator[None]:
        """Wait until all threads of the cluster have arrived."""

    def cluster_size(self) -> int:
        """How many blocks a cluster has."""

    def commit_group(self, group: str) -> None:
        """What each thread (of "wgmma": each warp) began since its last commit is one group."""

    def wait_group(self, group: str, pending: int, only_read: bool = False) -> None:
        """Wait until at most `pending` groups are left, or only until their sources are read."""

    def fence_proxy(self, where: str) -> None:
        """Accesses so far to "shared::cta", "global" or "all" are seen by asynchronous ones."""

    def mbarrier_init(self, pointer: Expr, counts: Array) -> None:
        """Make 8 bytes of shared memory an mbarrier."""

    def mbarrier_inval(self, pointer: Expr) -> None:
        """Make an mbarrier ordinary memory again."""

    def mbarrier_fence_init(self) -> None:
        """Initialisations by these threads are seen by asynchronous operations and the cluster."""

    def mbarrier_arrive(
        self, pointer: Expr, counts: Array, nbytes: Array | None, block: Array | None = None
    ) -> Array:
        """Expect `nbytes` bytes, then arrive; the state: the number of the phase arrived in.

        `block` names another block of the cluster, whose barrier it is.
        """

    def mbarrier_expect(self, pointer: Expr, nbytes: Array) -> None:
        """The current phase expects so many bytes more."""

    def mbarrier_test(self, pointer: Expr, phase: Array, by_state: bool) -> Array:
        """For each thread, whether the phase of a parity, or of a state, has completed."""

    def mbarrier_wait(self, pointer: Expr, phase: Array, by_state: bool) -> Iterator[None]:
        """Wait until the phase of a parity, or of a state, has completed."""

    def fault(self, message: str, thread: int | None = None) -> NoReturn:
        """Stop the simulation."""

    def misaligned(self, message: str, thread: int) -> NoReturn:
        """Stop the simulation: an address or a position is no multiple of what it must be of."""

    def inactive(self, message: str, thread: int) -> NoReturn:
        """Stop the simulation: a lane is needed that does not take part."""
