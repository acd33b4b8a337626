"""Barriers and fences. PTX ISA, "Parallel Synchronization and Communication Instructions"."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hidet.errors import BadKernel
from hidet.intrinsics.base import Context, Effects, Intrinsic, Spell, expect, expect_option, fixed
from hidet.ir.stmt import Invoke

ORDERS = Effects(barrier=True, lasting=True)
MEETS = Effects(barrier=True, lasting=True, convergent=True)
NAMED_BARRIERS = 16


def no_operands(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_named(invoke: Invoke) -> None:
    """Options: the barrier's number, 1 to 15, and how many threads meet, in whole warps."""
    expect(invoke, 0, 0, 2)
    number, threads = invoke.options
    if not isinstance(number, int) or not 0 < number < NAMED_BARRIERS:
        raise BadKernel(
            f"a named barrier has a number from 1 to 15, not {number!r}",
            place=invoke.place,
            help="barrier 0 is that of syncthreads",
        )
    if not isinstance(threads, int) or threads <= 0 or threads % 32:
        raise BadKernel(f"whole warps meet at a barrier, not {threads!r} threads")


def check_fence(invoke: Invoke) -> None:
    """Option: how far the fence reaches."""
    expect(invoke, 0, 0, 1)
    expect_option(invoke, 0, "block", "gpu")


def named(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of a named barrier instruction."""

    def text(invoke: Invoke, spell: Spell) -> str:
        number, threads = invoke.options
        return f'asm volatile("{instruction} {number}, {threads};" ::: "memory");'

    return text


def meet(wait: bool) -> Callable[[Context, Invoke], Iterator[None]]:
    """The meaning of a named barrier."""

    def simulate(context: Context, invoke: Invoke) -> Iterator[None]:
        number, threads = invoke.options
        return context.named_barrier(number, threads, wait)

    return simulate


FENCES = {"block": "__threadfence_block();", "gpu": "__threadfence();"}

BARRIERS = (
    Intrinsic(
        "syncthreads",
        "All threads of the block meet, and see each other's writes. PTX ISA: bar.sync.",
        no_operands,
        fixed(MEETS),
        lambda invoke, spell: "__syncthreads();",
        lambda context, invoke: context.block_barrier(),
    ),
    Intrinsic(
        "syncwarp",
        "All lanes of the warp meet, and see each other's writes. PTX ISA: bar.warp.sync.",
        no_operands,
        fixed(MEETS),
        lambda invoke, spell: "__syncwarp();",
        lambda context, invoke: context.warp_barrier(),
    ),
    Intrinsic(
        "barrier_sync",
        "Options (number, threads): that many threads meet at a barrier. PTX ISA: bar.sync.",
        check_named,
        fixed(MEETS),
        named("bar.sync"),
        meet(wait=True),
    ),
    Intrinsic(
        "barrier_arrive",
        "Options (number, threads): arrive at a barrier without waiting. PTX ISA: bar.arrive.",
        check_named,
        fixed(MEETS),
        named("bar.arrive"),
        meet(wait=False),
    ),
    Intrinsic(
        "threadfence",
        'Option "block" or "gpu": order this thread\'s accesses for those who look. '
        "PTX ISA: membar / fence.",
        check_fence,
        fixed(ORDERS),
        lambda invoke, spell: FENCES[invoke.options[0]],
        lambda context, invoke: context.fence(invoke.options[0]),
    ),
)
