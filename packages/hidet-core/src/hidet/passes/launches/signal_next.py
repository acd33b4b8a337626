"""Kernels let the next one begin before they have ended: programmatic dependent launch.

CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod

from hidet.ir.bounds import range_of
from hidet.ir.expr import Builtin, Const, Expr, Less, LessEqual, Minimum, Mul, Var, wrap
from hidet.ir.kernel import Kernel, PdlTrigger
from hidet.ir.stmt import Body, For, If, Invoke, Stmt
from hidet.ir.walk import find, variables
from hidet.passes.base import Pass, with_body
from hidet.passes.launches.overlap_launches import SIGNAL, is_wait, waits_first
from hidet.passes.launches.touched import touched

GIVEN = Invoke(SIGNAL)
LEAST = 128
"""Threads of a block: every block gives the signal, which many small ones pay for (H200: 20 % more
time for a depthwise convolution of 32 threads a block)."""


def signal_next(at_once: int) -> Pass:
    """Let the next kernel begin once everything is read, or at the start where that comes in waves.

    before   griddepcontrol_wait();  t = x[i];  y[i] = t
    after    griddepcontrol_wait();  t = x[i];  griddepcontrol_launch_dependents();  y[i] = t

    The signal counts when the last block has given it: blocks of the next kernel then take what
    places there are, and wait there, so that its launch takes no time of its own. Given before all
    is read it would let them take what the reads need. Of a kernel with more threads than a device
    holds at once the last blocks begin late: it gives the signal first, as those do that say so.
    Where the blocks of the next kernel go is the plan's concern (`runtime/plans/spread.py`).
    """
    made = Pass("signal_next", partial(signalling, at_once=at_once))
    object.__setattr__(made, "__doc__", signal_next.__doc__)
    return made


def signalling(kernel: Kernel, at_once: int) -> Kernel:
    """The kernel with the signal behind its reads, or behind its wait if it is large; where only a
    call tells how large it is, the kernel looks."""
    if signals(kernel) or not waits_first(kernel):
        return kernel
    blocks, threads = known_size(kernel.launch.grid), known_size(kernel.launch.block)
    if threads < LEAST and not 0 < blocks * threads <= at_once:
        return kernel
    if blocks * threads > at_once or kernel.launch.pdl_trigger is PdlTrigger.START:
        return behind_wait(kernel, GIVEN)
    made = behind(kernel)
    most = at_once // threads
    if not signals(made) or at_most(kernel.launch.grid, most):
        return made
    # A signal that a thread gives once more counts for nothing.
    return behind_wait(made, If(Less(wrap(most), grid_size(kernel)), (GIVEN,)))


def behind_wait(kernel: Kernel, signal: Stmt) -> Kernel:
    """The kernel with a statement right behind its wait."""
    place = after_wait(kernel)
    return with_body(kernel, (*kernel.body[:place], signal, *kernel.body[place:]))


def at_most(grid: Sequence[Expr], most: int) -> bool:
    """Whether a launch is known to have so many blocks at most."""
    ends = [range_of(each).high for each in grid]
    return prod(inf if each is None else each for each in ends) <= most


def grid_size(kernel: Kernel) -> Expr:
    """The blocks of a launch, as the kernel sees them."""
    x, y, z = (Builtin(f"gridDim.{axis}") for axis in "xyz")
    return Mul(Mul(x, y), z)


def behind(kernel: Kernel) -> Kernel:
    """The kernel with the signal behind its reads, unless it is to be at the end of its blocks."""
    match kernel.launch.pdl_trigger, kernel.launch.grid[0]:
        case PdlTrigger.READ, _:
            return behind_reads(kernel, Reads.of(kernel))
        case PdlTrigger.ONLY_TILE, Minimum(tiles, Const() as most):
            # The grid is how many tiles there are, or how many blocks run at once.
            if set(variables(tiles)) <= set(kernel.params):
                signal = If(LessEqual(tiles, most), (GIVEN,))
                return behind_reads(kernel, replace(Reads.of(kernel), signal=signal, loops=True))
    return kernel


def behind_reads(kernel: Kernel, seen: Reads) -> Kernel:
    """The kernel with the signal behind its reads; as it is where it reads what it writes: not all
    that it reads is there before."""
    reads, writes = seen.touched(kernel.body)
    waited = after_wait(kernel)
    made = seen.followed(kernel.body[waited:]) if reads.isdisjoint(writes) else None
    return kernel if made is None else with_body(kernel, (*kernel.body[:waited], *made))


def after_wait(kernel: Kernel) -> int:
    """The place behind the wait: a signal ahead of it would let kernels begin beside those before,
    which nobody knows to be there."""
    return next(i for i, s in enumerate(kernel.body) if is_wait(s)) + 1


@dataclass(frozen=True)
class Reads:
    """Where a kernel touches global memory."""

    memory: Mapping[Var, Var]
    """Parameters and maps, and the tensors to which they lead."""
    signal: Stmt = GIVEN
    loops: bool = False
    """Whether loops count as what they do once."""

    @staticmethod
    def of(kernel: Kernel) -> Reads:
        """Those of a kernel: by its parameters, or by maps of them."""
        maps = {each.var: each.tensor for each in kernel.maps}
        return Reads({each: each for each in kernel.params} | maps)

    def followed(self, body: Body) -> Body | None:
        """The statements with the signal behind the last one that reads, if none before that one
        writes: in the branches of roles, where they do both. None if nothing is read before."""
        last = None
        for position, s in enumerate(body):
            reads, writes = self.touched(s)
            if writes:
                branches = None if last is not None else self.in_branches(s)
                if branches is not None:
                    return (*body[:position], branches, *body[position + 1 :])
                break
            last = position if reads else last
        if last is None:
            return None
        return (*body[: last + 1], self.signal, *body[last + 1 :])

    def in_branches(self, s: Stmt) -> Stmt | None:
        """A choice with the signal in its branches, if it can be in one of them; a loop with it in
        what it does."""
        if self.loops and isinstance(s, For):
            inside = self.followed(s.body)
            return None if inside is None else replace(s, body=inside)
        if not isinstance(s, If):
            return None
        then, otherwise = (self.followed(each) for each in (s.then, s.otherwise))
        if then is None and otherwise is None:
            return None
        return replace(s, then=then or s.then, otherwise=otherwise or s.otherwise)

    def touched(self, root: Stmt | Body) -> tuple[set[Var], set[Var]]:
        """What is read of global memory, and what is written."""
        known = self.memory
        reads, writes = touched(root)
        return {known[v] for v in reads if v in known}, {known[v] for v in writes if v in known}


def known_size(sizes: Iterable[Expr]) -> int:
    """Their product; 0 if one is not known before the launch."""
    return prod(int(each.value) if isinstance(each, Const) else 0 for each in sizes)


def signals(kernel: Kernel) -> bool:
    """Whether the kernel lets the next one begin before its blocks have ended."""
    return any(each.name == SIGNAL for each in find(kernel.body, Invoke))
