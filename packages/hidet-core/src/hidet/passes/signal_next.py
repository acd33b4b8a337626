"""Large kernels let the next one begin while their last blocks run: programmatic dependent launch.

CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod

from hidet.ir.expr import Const, Expr
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Invoke
from hidet.ir.walk import find
from hidet.passes.base import Pass, with_body
from hidet.passes.overlap_launches import is_wait, waits_first

SIGNAL = "griddepcontrol_launch_dependents"
LEAST = 128
"""Threads of a block: every block gives the signal, which many small ones pay for (H200: 20 % more
time for a depthwise convolution of 32 threads a block)."""


def signal_next(at_once: int) -> Pass:
    """Let the next kernel begin, in kernels of more threads than a device holds at once.

    before   griddepcontrol_wait();  y[i] = x[i]
    after    griddepcontrol_wait();  griddepcontrol_launch_dependents();  y[i] = x[i]

    The signal counts when the last block has given it: blocks of the next kernel then take the
    places of those that end, and wait there, so that its launch takes no time of its own. A kernel
    of fewer threads gives none: the next one's blocks would go where multiprocessors happen to be
    free, several to one, instead of one to each (ResNet-50 at batch 1 on an H200: 25 % longer).
    """
    made = Pass("signal_next", partial(signalling, at_once=at_once))
    object.__setattr__(made, "__doc__", signal_next.__doc__)
    return made


def signalling(kernel: Kernel, at_once: int) -> Kernel:
    """The kernel with the signal behind its wait, if it is large."""
    sizes = (*kernel.launch.grid, *kernel.launch.block)
    block, threads = known_size(kernel.launch.block), known_size(sizes)
    few = threads <= at_once or block < LEAST
    if few or signals(kernel) or not waits_first(kernel):
        return kernel
    place = next(i for i, s in enumerate(kernel.body) if is_wait(s)) + 1
    return with_body(kernel, (*kernel.body[:place], Invoke(SIGNAL), *kernel.body[place:]))


def known_size(sizes: Iterable[Expr]) -> int:
    """Their product; 0 if one is not known before the launch."""
    return prod(int(each.value) if isinstance(each, Const) else 0 for each in sizes)


def signals(kernel: Kernel) -> bool:
    """Whether the kernel lets the next one begin before its blocks have ended."""
    return any(each.name == SIGNAL for each in find(kernel.body, Invoke))
