"""Bulk copies: a thread starts a copy of many bytes that runs beside it.

Sizes and addresses are multiples of 16 bytes. Into shared memory a copy completes at an mbarrier,
as bytes; out of shared memory with a bulk group of the thread that began it.
PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import (
    Context,
    Effects,
    Intrinsic,
    Spell,
    expect,
    expect_option,
    expect_pointer,
    expect_scalar,
    fixed,
)
from hidet.intrinsics.mbarrier import shared_address
from hidet.ir.stmt import Invoke
from hidet.types import i32, i64, u32, u64

UNIT = 16
"""Bytes that sizes and addresses of bulk copies are multiples of."""


def check_load(invoke: Invoke) -> None:
    """(target in shared memory, source, bytes, mbarrier)."""
    expect(invoke, 4)
    check_copy(invoke)
    expect_pointer(invoke, 3, u64, i64)


def check_store(invoke: Invoke) -> None:
    """(target, source in shared memory, bytes)."""
    expect(invoke, 3)
    check_copy(invoke)


def check_copy(invoke: Invoke) -> None:
    """Two pointers and a size."""
    expect_pointer(invoke, 0)
    expect_pointer(invoke, 1)
    expect_scalar(invoke, 2, i32, u32)


def check_prefetch(invoke: Invoke) -> None:
    """A pointer to global memory and a size."""
    expect(invoke, 2)
    expect_pointer(invoke, 0)
    expect_scalar(invoke, 1, i32, u32)


def check_commit(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_wait(invoke: Invoke) -> None:
    """Options: how many groups may be left, and whether only sources need to be read."""
    expect(invoke, 0, 0, 2)
    pending = invoke.options[0]
    if not isinstance(pending, int) or pending < 0:
        raise BadKernel(f"{invoke.name} waits for all but {pending!r} groups", place=invoke.place)
    expect_option(invoke, 1, True, False)


def copy_effects(invoke: Invoke) -> Effects:
    """Reads behind the source, writes behind the target and the mbarrier."""
    return Effects(reads=invoke.args[1:2], writes=invoke.args[:1] + invoke.args[3:], lasting=True)


LASTING = fixed(Effects(lasting=True))
ORDERS = fixed(Effects(barrier=True, lasting=True))


# ---- text ----------------------------------------------------------------------------------------


def global_address(pointer: str) -> str:
    """The operand for an address in global memory."""
    return f'"l"(__cvta_generic_to_global({pointer}))'


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Global to shared memory, completing at an mbarrier."""
    target, source, size, barrier = map(spell, invoke.args)
    return (
        'asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes '
        f'[%0], [%1], %2, [%3];" :: {shared_address(target)}, {global_address(source)}, '
        f'"r"({size}), {shared_address(barrier)} : "memory");'
    )


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Shared to global memory, completing with a bulk group."""
    target, source, size = map(spell, invoke.args)
    return (
        'asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" '
        f':: {global_address(target)}, {shared_address(source)}, "r"({size}) : "memory");'
    )


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """Global memory into the L2 cache."""
    source, size = map(spell, invoke.args)
    return (
        'asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" '
        f':: {global_address(source)}, "r"({size}));'
    )


def wait_text(invoke: Invoke, spell: Spell) -> str:
    """Wait for complete copies, or for read sources."""
    pending, only_read = invoke.options
    read = ".read" if only_read else ""
    return f'asm volatile("cp.async.bulk.wait_group{read} {pending};" ::: "memory");'


# ---- meaning -------------------------------------------------------------------------------------


def loaded(context: Context, invoke: Invoke) -> None:
    """Each thread starts a copy that completes at an mbarrier."""
    target, source, size, barrier = invoke.args
    sizes = context.value(size)
    for thread in np.flatnonzero(context.mask).tolist():
        nbytes = units(context, int(sizes[thread]), thread)
        agent = context.launch_agent([thread], "bulk copy")
        data = agent.read(context.locate(source, thread, UNIT), np.arange(1), nbytes)
        agent.write(context.locate(target, thread, UNIT), np.arange(1), data)
        agent.finish_at_barrier(context.locate(barrier, thread), nbytes)


def stored(context: Context, invoke: Invoke) -> None:
    """Each thread starts a copy that completes with its group."""
    target, source, size = invoke.args
    sizes = context.value(size)
    for thread in np.flatnonzero(context.mask).tolist():
        nbytes = units(context, int(sizes[thread]), thread)
        agent = context.launch_agent([thread], "bulk copy", "bulk")
        data = agent.read(context.locate(source, thread, UNIT), np.arange(1), nbytes)
        agent.write(context.locate(target, thread, UNIT), np.arange(1), data)
        agent.finish_in_group()


def prefetched(context: Context, invoke: Invoke) -> None:
    """Nothing but the check of what is asked for."""
    sizes = context.value(invoke.args[1])
    for thread in np.flatnonzero(context.mask).tolist():
        units(context, int(sizes[thread]), thread)
        context.locate(invoke.args[0], thread, UNIT)


def units(context: Context, nbytes: int, thread: int) -> int:
    """A size in bytes; it must be whole units."""
    if nbytes <= 0 or nbytes % UNIT:
        context.fault(f"a bulk copy of {nbytes} bytes: it copies multiples of {UNIT}", thread)
    return nbytes


BULK = (
    Intrinsic(
        "cp_async_bulk_load",
        "Start a copy from global to shared memory that completes at an mbarrier. "
        "PTX ISA: cp.async.bulk.",
        check_load,
        copy_effects,
        load_text,
        loaded,
    ),
    Intrinsic(
        "cp_async_bulk_store",
        "Start a copy from shared to global memory that completes with a bulk group. "
        "PTX ISA: cp.async.bulk.",
        check_store,
        copy_effects,
        store_text,
        stored,
    ),
    Intrinsic(
        "cp_async_bulk_prefetch",
        "Bring global memory into the L2 cache. PTX ISA: cp.async.bulk.prefetch.",
        check_prefetch,
        LASTING,
        prefetch_text,
        prefetched,
    ),
    Intrinsic(
        "cp_async_bulk_commit_group",
        "The thread's bulk copies since the last commit are one group. "
        "PTX ISA: cp.async.bulk.commit_group.",
        check_commit,
        LASTING,
        lambda invoke, spell: 'asm volatile("cp.async.bulk.commit_group;" ::: "memory");',
        lambda context, invoke: context.commit_group("bulk"),
    ),
    Intrinsic(
        "cp_async_bulk_wait_group",
        "Options (pending, read): wait until at most that many groups are left, or are unread. "
        "PTX ISA: cp.async.bulk.wait_group.",
        check_wait,
        ORDERS,
        wait_text,
        lambda context, invoke: context.wait_group("bulk", *invoke.options),
    ),
)
