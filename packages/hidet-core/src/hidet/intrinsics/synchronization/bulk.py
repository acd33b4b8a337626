"""Bulk copies: a thread starts a copy of many bytes that runs beside it.

Sizes and addresses are multiples of 16 bytes. Into shared memory a copy completes at an mbarrier,
as bytes; out of shared memory with a bulk group of the thread that began it.
PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import ORDERS, TOUCHES_NOTHING, Effects, Intrinsic, Spell
from hidet.intrinsics.context import Agent, Array, Context, Place
from hidet.intrinsics.expect import expect, expect_option, expect_pointer, expect_scalar
from hidet.intrinsics.synchronization.mbarrier import shared_address
from hidet.intrinsics.tensor_maps.meaning import chosen, combine
from hidet.ir.stmt import Invoke
from hidet.types import DType, bf16, f16, f32, f64, i32, i64, u16, u32, u64

UNIT = 16
"""Bytes that sizes and addresses of bulk copies are multiples of."""
HINTS = (None, "evict_first", "evict_last", "evict_normal")
"""What may be said of lines in the second cache."""
WHOLE = (i32, u32, i64, u64)
REDUCTIONS: dict[str, tuple[DType, ...]] = {
    "add": (*WHOLE, f16, bf16, f32, f64),
    **dict.fromkeys(("min", "max"), (*WHOLE, f16, bf16)),
    **dict.fromkeys(("and", "or", "xor"), WHOLE),
}
"""What global memory can be combined with, by the reduction."""
NEAR_REDUCTIONS: dict[str, tuple[DType, ...]] = {
    "add": (i32, u32, u64),
    **dict.fromkeys(("min", "max", "and", "or", "xor"), (i32, u32)),
}
"""The same for the shared memory of a block."""


def check_load(invoke: Invoke) -> None:
    """(target, source, bytes, mbarrier[, mask of blocks]); options: a mask?, and the hint."""
    expect(invoke, 5 if invoke.options[:1] == (True,) else 4, 0, 2)
    check_copy(invoke)
    expect_pointer(invoke, 3, u64, i64)
    if expect_option(invoke, 0, True, False):
        expect_scalar(invoke, 4, u16)
    expect_option(invoke, 1, *HINTS)


def check_store(invoke: Invoke) -> None:
    """(target, source in shared memory, bytes); option: the hint."""
    expect(invoke, 3, 0, 1)
    check_copy(invoke)
    expect_option(invoke, 0, *HINTS)


def check_reduce(invoke: Invoke) -> None:
    """(target, source in shared memory, bytes); options: how, and the hint."""
    expect(invoke, 3, 0, 2)
    check_copy(invoke)
    check_operation(invoke, REDUCTIONS)
    expect_option(invoke, 1, *HINTS)


def check_send(invoke: Invoke) -> None:
    """(target, source, bytes, mbarrier, block of the cluster), all in shared memory."""
    expect(invoke, 5, 0, 0)
    check_copy(invoke)
    expect_pointer(invoke, 3, u64, i64)
    expect_scalar(invoke, 4, i32, u32)


def check_combine(invoke: Invoke) -> None:
    """As `check_send`; the option says how."""
    expect(invoke, 5, 0, 1)
    check_send(replace(invoke, options=()))
    check_operation(invoke, NEAR_REDUCTIONS)


def check_operation(invoke: Invoke, allowed: dict[str, tuple[DType, ...]]) -> None:
    """A reduction that there is for the element type of the target."""
    expect_pointer(invoke, 0, *allowed[expect_option(invoke, 0, *allowed)])


def check_copy(invoke: Invoke) -> None:
    """Two pointers and a size."""
    expect_pointer(invoke, 0)
    expect_pointer(invoke, 1)
    expect_scalar(invoke, 2, i32, u32)


def check_prefetch(invoke: Invoke) -> None:
    """A pointer to global memory and a size; option: the hint."""
    expect(invoke, 2, 0, 1)
    expect_option(invoke, 0, *HINTS)
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
    return Effects(reads=invoke.args[1:2], writes=invoke.args[:1] + invoke.args[3:4])


def combine_effects(invoke: Invoke) -> Effects:
    """The target is read as well."""
    return Effects(reads=invoke.args[:2], writes=invoke.args[:1] + invoke.args[3:4])


# ---- text ----------------------------------------------------------------------------------------


def global_address(pointer: str) -> str:
    """The operand for an address in global memory."""
    return f'"l"(__cvta_generic_to_global({pointer}))'


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Global to shared memory, of one block or several, completing at an mbarrier."""
    multicast, cache = invoke.options
    target, source, size, barrier, *mask = map(spell, invoke.args)
    operands, comma = "[%0], [%1], %2, [%3]", ""
    inputs = f'{shared_address(target)}, {global_address(source)}, "r"({size}), '
    inputs += shared_address(barrier)
    if multicast:
        operands, comma = operands + ", %4", ".multicast::cluster"
        inputs += f', "h"(static_cast<unsigned short>({mask[0]}))'
    name = f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{comma}"
    return hinted(name, operands, inputs, cache)


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Shared to global memory, replacing or combining, completing with a bulk group."""
    *how, cache = invoke.options
    target, source, size = map(spell, invoke.args)
    inputs = f'{global_address(target)}, {shared_address(source)}, "r"({size})'
    kind = f".{how[0]}{element(invoke.args[0].dtype, how[0])}" if how else ""
    name = f"cp{'.reduce' if how else ''}.async.bulk.global.shared::cta.bulk_group"
    return hinted(name, "[%0], [%1], %2", inputs, cache, kind)


def hinted(name: str, operands: str, inputs: str, cache: str | None, kind: str = "") -> str:
    """An instruction, perhaps with a hint for the second cache."""
    line = f"{name}{kind} {operands};"
    if cache is not None:
        policy = f"createpolicy.fractional.L2::{cache}.b64 policy, 1.0;"
        line = f"{name}.L2::cache_hint{kind} {operands}, policy;"
        line = f"{{ .reg .b64 policy; {policy} {line} }}"
    return f'asm volatile("{line}" :: {inputs} : "memory");'


def element(of: DType, how: str) -> str:
    """How a reduction calls an element type."""
    if how in ("and", "or", "xor"):
        return f".b{of.nbytes * 8}"
    if how == "add" and of is i64:
        return ".u64"
    name = str(of) if of.is_float else f"{'s' if of in (i32, i64) else 'u'}{of.nbytes * 8}"
    return f".noftz.{name}" if of in (f16, bf16) and how == "add" else f".{name}"


def send_text(invoke: Invoke, spell: Spell) -> str:
    """Shared memory to that of another block, replacing or combining."""
    target, source, size, barrier, block = map(spell, invoke.args)
    how = invoke.options[0] if invoke.options else None
    kind = "" if how is None else f".{how}{element(invoke.args[0].dtype, how)}"
    name = f"cp{'' if how is None else '.reduce'}.async.bulk.shared::cluster.shared::cta"
    return (
        'asm volatile("{ .reg .b32 there, bar; '
        "mapa.shared::cluster.u32 there, %0, %4; mapa.shared::cluster.u32 bar, %3, %4; "
        f'{name}.mbarrier::complete_tx::bytes{kind} [there], [%1], %2, [bar]; }}" '
        f':: {shared_address(target)}, {shared_address(source)}, "r"({size}), '
        f'{shared_address(barrier)}, "r"({block}) : "memory");'
    )


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """Global memory into the L2 cache."""
    source, size = map(spell, invoke.args)
    inputs = f'{global_address(source)}, "r"({size})'
    return hinted("cp.async.bulk.prefetch.L2.global", "[%0], %1", inputs, invoke.options[0])


def wait_text(invoke: Invoke, spell: Spell) -> str:
    """Wait for complete copies, or for read sources."""
    pending, only_read = invoke.options
    read = ".read" if only_read else ""
    return f'asm volatile("cp.async.bulk.wait_group{read} {pending};" ::: "memory");'


# ---- meaning -------------------------------------------------------------------------------------


def loaded(context: Context, invoke: Invoke) -> None:
    """Each thread starts a copy that completes at an mbarrier: one for each block it goes to."""
    target, source, size, barrier, *mask = invoke.args
    sizes = context.value(size)
    masks = context.value(mask[0]) if mask else None
    for thread in np.flatnonzero(context.mask).tolist():
        nbytes = units(context, int(sizes[thread]), thread)
        for block in [None] if masks is None else chosen(context, int(masks[thread]), thread):
            agent = context.launch_agent([thread], "bulk copy", block=block)
            data = agent.read(context.locate(source, thread, UNIT), np.arange(1), nbytes)
            agent.write(context.locate(target, thread, UNIT), np.arange(1), data)
            agent.finish_at_barrier(context.locate(barrier, thread), nbytes)


def stored(context: Context, invoke: Invoke) -> None:
    """Each thread starts a copy or a reduction that completes with its group."""
    target, source, size = invoke.args
    *how, _ = invoke.options
    sizes = context.value(size)
    for thread in np.flatnonzero(context.mask).tolist():
        nbytes = units(context, int(sizes[thread]), thread)
        agent = context.launch_agent([thread], "bulk copy", "bulk")
        data = agent.read(context.locate(source, thread, UNIT), np.arange(1), nbytes)
        deliver(agent, context.locate(target, thread, UNIT), data, target.dtype, *how)
        agent.finish_in_group()


def sent(context: Context, invoke: Invoke) -> None:
    """Each thread starts a copy or a reduction into another block's shared memory."""
    target, source, size, barrier, block = invoke.args
    sizes, blocks = context.value(size), context.value(block)
    for thread in np.flatnonzero(context.mask).tolist():
        nbytes = units(context, int(sizes[thread]), thread)
        agent = context.launch_agent([thread], "bulk copy")
        data = agent.read(context.locate(source, thread, UNIT), np.arange(1), nbytes)
        (there,) = chosen(context, 1 << int(blocks[thread]), thread)
        agent.move_to(there)
        to = context.locate(target, thread, UNIT)
        deliver(agent, to, data, target.dtype, *invoke.options)
        agent.finish_at_barrier(context.locate(barrier, thread), nbytes)


def deliver(agent: Agent, to: Place, data: Array, of: DType, how: str | None = None) -> None:
    """Bytes replace those at a place, or are combined with them, element by element."""
    if how is None:
        agent.write(to, np.arange(1), data)
        return
    elements = data.reshape(-1, of.nbytes)
    agent.update(to, np.arange(len(elements)) * of.nbytes, elements, combine(of, how))


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
        "cp_async_bulk_reduce",
        "Start combining shared memory with global memory, each element atomically; it completes "
        "with a bulk group. PTX ISA: cp.reduce.async.bulk.",
        check_reduce,
        combine_effects,
        store_text,
        stored,
    ),
    Intrinsic(
        "cp_async_bulk_send",
        "Start a copy to the shared memory of a block of the cluster, completing at its mbarrier. "
        "PTX ISA: cp.async.bulk.",
        check_send,
        copy_effects,
        send_text,
        sent,
    ),
    Intrinsic(
        "cp_async_bulk_send_reduce",
        "As cp_async_bulk_send, combining elements atomically. PTX ISA: cp.reduce.async.bulk.",
        check_combine,
        combine_effects,
        send_text,
        sent,
    ),
    Intrinsic(
        "cp_async_bulk_prefetch",
        "Bring global memory into the L2 cache. PTX ISA: cp.async.bulk.prefetch.",
        check_prefetch,
        TOUCHES_NOTHING,
        prefetch_text,
        prefetched,
    ),
    Intrinsic(
        "cp_async_bulk_commit_group",
        "The thread's bulk copies since the last commit are one group. "
        "PTX ISA: cp.async.bulk.commit_group.",
        check_commit,
        TOUCHES_NOTHING,
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
