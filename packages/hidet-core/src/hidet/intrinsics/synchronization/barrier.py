"""Barriers and fences. PTX ISA, "Parallel Synchronization and Communication Instructions"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import ORDERS, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_dtype, expect_option, expect_scalar
from hidet.intrinsics.shuffle import participants
from hidet.ir.stmt import Invoke
from hidet.types import boolean, i32, u32

NAMED_BARRIERS = 16


def no_operands(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_warp(invoke: Invoke) -> None:
    """Perhaps a mask of the lanes that meet."""
    expect(invoke, len(invoke.args[:1]))
    if invoke.args:
        expect_scalar(invoke, 0, u32, i32)


def check_counted(invoke: Invoke) -> None:
    """A condition, and one result: a number for syncthreads_count, else a truth value."""
    expect(invoke, 1, 1)
    expect_scalar(invoke, 0, boolean, i32, u32)
    expect_dtype(invoke, invoke.results[0], i32 if invoke.name.endswith("count") else boolean)


def check_named(invoke: Invoke) -> None:
    """The barrier's number, 1 to 15, and how many threads meet, in whole warps.

    Both are options, or both operands of type i32, which a warp's lanes agree on.
    """
    if invoke.args:
        expect(invoke, 2)
        expect_scalar(invoke, 0, i32)
        expect_scalar(invoke, 1, i32)
        return
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


FENCE_SCOPES = {"block": "cta", "cluster": "cluster", "gpu": "gpu", "sys": "sys"}
THREADFENCES = {
    "block": "__threadfence_block();",
    "gpu": "__threadfence();",
    "sys": "__threadfence_system();",
}


def check_threadfence(invoke: Invoke) -> None:
    """Option: how far the fence reaches."""
    expect(invoke, 0, 0, 1)
    expect_option(invoke, 0, *THREADFENCES)


def check_fence(invoke: Invoke) -> None:
    """Options: the order, "acq_rel" or "sc", and how far the fence reaches."""
    expect(invoke, 0, 0, 2)
    expect_option(invoke, 0, "acq_rel", "sc")
    expect_option(invoke, 1, *FENCE_SCOPES)


def named(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of a named barrier instruction."""

    def text(invoke: Invoke, spell: Spell) -> str:
        if invoke.args:
            operands = ", ".join(f'"r"({spell(arg)})' for arg in invoke.args)
            return f'asm volatile("{instruction} %0, %1;" :: {operands} : "memory");'
        number, threads = invoke.options
        return f'asm volatile("{instruction} {number}, {threads};" ::: "memory");'

    return text


def meet(wait: bool) -> Callable[[Context, Invoke], Iterator[None]]:
    """The meaning of a named barrier."""

    def simulate(context: Context, invoke: Invoke) -> Iterator[None]:
        if not invoke.args:
            number, threads = invoke.options
            return context.named_barrier(number, threads, wait)
        numbers, threads = (context.value(arg) for arg in invoke.args)
        check_numbers(context, numbers, threads)
        pairs = np.unique(np.stack([numbers, threads])[:, context.mask], axis=1).T
        parts = [
            context.narrowed((numbers == n) & (threads == t)).named_barrier(int(n), int(t), wait)
            for n, t in pairs
        ]
        return all_of(parts)

    return simulate


def check_numbers(context: Context, numbers: Array, threads: Array) -> None:
    """Fault where operands of a named barrier are none that the hardware takes."""
    for value, wrong, what in (
        (numbers, (numbers < 1) | (numbers >= NAMED_BARRIERS), "a named barrier has number"),
        (threads, (threads < 1) | (threads % 32 != 0), "the threads at a named barrier are"),
    ):
        bad = context.mask & wrong
        if bad.any():
            row = int(np.argmax(bad))
            context.fault(f"{what} {value[row]}", row)


def all_of(parts: list[Iterator[None]]) -> Iterator[None]:
    """Several waits at once, over when each of them is."""
    ended: Any = object()
    while parts:
        parts = [part for part in parts if next(part, ended) is not ended]
        if parts:
            yield


def warp_met(context: Context, invoke: Invoke) -> None:
    """The lanes of a warp meet: all of them, or those in the mask."""
    if not invoke.args:
        context.warp_barrier()
        return
    participants(context, context.value(invoke.args[0]))
    context.lanes_barrier()


def counted(context: Context, invoke: Invoke) -> Iterator[None]:
    """The threads of a block meet and learn of each other's conditions."""
    holds = context.value(invoke.args[0]) != 0
    counts = context.tally(holds)
    waiting = context.block_barrier()
    if waiting is not None:
        yield from waiting
    votes, there = counts()
    found = {
        "syncthreads_count": votes,
        "syncthreads_and": votes == there,
        "syncthreads_or": votes > 0,
    }[invoke.name]
    context.assign(invoke.results[0], found)


def counting(name: str, doc: str) -> Intrinsic:
    """One of the barriers that tell something."""

    def text(invoke: Invoke, spell: Spell) -> str:
        return f"{spell(invoke.results[0])} = __{name}({spell(invoke.args[0])});"

    doc += " PTX ISA: barrier.red."
    return Intrinsic(name, doc, check_counted, ORDERS, text, counted)


def warp_text(invoke: Invoke, spell: Spell) -> str:
    """The function of the language."""
    return f"__syncwarp({', '.join(map(spell, invoke.args))});"


BARRIERS = (
    Intrinsic(
        "syncthreads",
        "All threads of the block meet, and see each other's writes. PTX ISA: bar.sync.",
        no_operands,
        ORDERS,
        lambda invoke, spell: "__syncthreads();",
        lambda context, invoke: context.block_barrier(),
    ),
    counting("syncthreads_count", "As syncthreads; in how many threads the condition holds."),
    counting("syncthreads_and", "As syncthreads; whether the condition holds in all threads."),
    counting("syncthreads_or", "As syncthreads; whether the condition holds in any thread."),
    Intrinsic(
        "syncwarp",
        "The lanes of the warp, or those of a mask, meet and see each other's writes. "
        "PTX ISA: bar.warp.sync.",
        check_warp,
        ORDERS,
        warp_text,
        warp_met,
    ),
    Intrinsic(
        "barrier_sync",
        "That many threads meet at the barrier of that number. PTX ISA: bar.sync.",
        check_named,
        ORDERS,
        named("bar.sync"),
        meet(wait=True),
    ),
    Intrinsic(
        "barrier_arrive",
        "Arrive at the barrier of that number without waiting. PTX ISA: bar.arrive.",
        check_named,
        ORDERS,
        named("bar.arrive"),
        meet(wait=False),
    ),
    Intrinsic(
        "threadfence",
        'Option "block", "gpu" or "sys": order this thread\'s accesses for those who look. '
        "PTX ISA: membar / fence.",
        check_threadfence,
        ORDERS,
        lambda invoke, spell: THREADFENCES[invoke.options[0]],
        lambda context, invoke: context.fence(invoke.options[0]),
    ),
    Intrinsic(
        "fence",
        "Options (order, scope): order this thread's accesses for those who look. PTX ISA: fence.",
        check_fence,
        ORDERS,
        lambda invoke, spell: (
            f'asm volatile("fence.{invoke.options[0]}.{FENCE_SCOPES[invoke.options[1]]};" '
            '::: "memory");'
        ),
        lambda context, invoke: context.fence(invoke.options[1]),
    ),
)
