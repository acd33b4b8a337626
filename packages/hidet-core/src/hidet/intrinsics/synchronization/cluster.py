"""Clusters: blocks that run together and reach each other's shared memory (sm_90 and later).

Addresses of another block's shared memory come from `mapa`; loads, stores and atomics take them
like others. PTX ISA, "Cluster of Cooperative Thread Arrays".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import ORDERS, Effects, Intrinsic, Spell, fixed
from hidet.intrinsics.context import Context
from hidet.intrinsics.expect import expect, expect_option, expect_pointer, expect_scalar
from hidet.intrinsics.synchronization.mbarrier import changes, shared_address
from hidet.intrinsics.tensor_maps.meaning import chosen
from hidet.ir.stmt import Invoke
from hidet.types import DType, f32, f64, i32, i64, u32, u64

STORED: dict[DType, tuple[str, str]] = {
    f32: (".f32", "f"), f64: (".f64", "d"), i32: (".s32", "r"), u32: (".u32", "r"),
    i64: (".s64", "l"), u64: (".u64", "l"),
}  # fmt: skip
"""What a register can be told as: the instruction's type, and the constraint of an operand."""


def check_map(invoke: Invoke) -> None:
    """(address in shared memory, block of the cluster) → an address of the same type."""
    expect(invoke, 2, 1)
    expect_pointer(invoke, 0)
    expect_scalar(invoke, 1, i32, u32)
    if invoke.results[0].type != invoke.args[0].type:
        raise BadKernel(f"{invoke.name} gives a {invoke.args[0].type}", place=invoke.place)


def check_arrive(invoke: Invoke) -> None:
    """The option says whether earlier accesses are passed on."""
    expect(invoke, 0, 0, 1)
    expect_option(invoke, 0, "release", "relaxed")


def check_wait(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_remote(invoke: Invoke) -> None:
    """(mbarrier, block of the cluster, number of arrivals or bytes)."""
    expect(invoke, 3)
    expect_pointer(invoke, 0, u64, i64)
    expect_scalar(invoke, 1, i32, u32)
    expect_scalar(invoke, 2, i32, u32)


def check_store(invoke: Invoke) -> None:
    """(address, value, mbarrier, block of the cluster)."""
    expect(invoke, 4)
    expect_pointer(invoke, 0, *STORED)
    expect_scalar(invoke, 1, invoke.args[0].dtype)
    expect_pointer(invoke, 2, u64, i64)
    expect_scalar(invoke, 3, i32, u32)


# ---- text ----------------------------------------------------------------------------------------


def map_text(invoke: Invoke, spell: Spell) -> str:
    """A generic address, which C++ can use like any other."""
    pointer, block = map(spell, invoke.args)
    result = spell(invoke.results[0])
    return (
        "{ unsigned long long hidet_there; "
        f'asm("mapa.u64 %0, %1, %2;" : "=l"(hidet_there) : "l"({pointer}), "r"({block})); '
        f"{result} = reinterpret_cast<decltype({result})>(hidet_there); }}"
    )


def arrive_text(invoke: Invoke, spell: Spell) -> str:
    """By whole warps."""
    return f'asm volatile("barrier.cluster.arrive.{invoke.options[0]}.aligned;" ::: "memory");'


def remote_text(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of an arrival at a barrier of another block."""

    def text(invoke: Invoke, spell: Spell) -> str:
        pointer, block, number = map(spell, invoke.args)
        return (
            'asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; '
            f'{instruction}.release.cluster.shared::cluster.b64 _, [there], %2; }}" '
            f':: {shared_address(pointer)}, "r"({block}), "r"({number}) : "memory");'
        )

    return text


def store_text(invoke: Invoke, spell: Spell) -> str:
    """A register to the shared memory of a block."""
    pointer, value, barrier, block = map(spell, invoke.args)
    kind, constraint = STORED[invoke.args[1].dtype]
    return (
        'asm volatile("{ .reg .b32 there, bar; '
        "mapa.shared::cluster.u32 there, %0, %3; mapa.shared::cluster.u32 bar, %2, %3; "
        f'st.async.shared::cluster.mbarrier::complete_tx::bytes{kind} [there], %1, [bar]; }}" '
        f':: {shared_address(pointer)}, "{constraint}"({value}), '
        f'{shared_address(barrier)}, "r"({block}) : "memory");'
    )


# ---- meaning -------------------------------------------------------------------------------------


def mapped(context: Context, invoke: Invoke) -> None:
    """The same place in another block."""
    context.map_pointer(invoke.results[0], invoke.args[0], context.value(invoke.args[1]))


def arrived(context: Context, invoke: Invoke) -> None:
    """All lanes of a warp arrive together."""
    context.whole_warps()
    context.cluster_arrive(invoke.options[0] == "release")


def arrived_remotely(context: Context, invoke: Invoke) -> None:
    """Each thread arrives at a barrier of a block."""
    barrier, block, number = invoke.args
    counts, blocks = context.value(number), context.value(block)
    if invoke.name == "mbarrier_arrive_cluster":
        context.mbarrier_arrive(barrier, counts, None, blocks)
    else:
        context.mbarrier_arrive(barrier, np.ones_like(counts), counts, blocks)


def store_remote(context: Context, invoke: Invoke) -> None:
    """Each thread starts a store that completes at an mbarrier, both in the same block."""
    target, value, barrier, block = invoke.args
    values, blocks = context.value(value), context.value(block)
    for thread in np.flatnonzero(context.mask).tolist():
        agent = context.launch_agent([thread], "asynchronous store", generic=True)
        (there,) = chosen(context, 1 << int(blocks[thread]), thread)
        agent.move_to(there)
        data = values[thread : thread + 1].view(np.uint8)[None]
        agent.write(context.locate(target, thread), np.arange(1), data)
        agent.finish_at_barrier(context.locate(barrier, thread), data.size)


CLUSTER = (
    Intrinsic(
        "mapa",
        "The address in a block of the cluster that corresponds to one in shared memory. "
        "PTX ISA: mapa.",
        check_map,
        fixed(Effects()),
        map_text,
        mapped,
    ),
    Intrinsic(
        "cluster_arrive",
        "Arrive at the barrier of the cluster, passing on earlier accesses or not. "
        "PTX ISA: barrier.cluster.",
        check_arrive,
        ORDERS,
        arrive_text,
        arrived,
    ),
    Intrinsic(
        "cluster_wait",
        "Wait until all threads of the cluster have arrived. PTX ISA: barrier.cluster.",
        check_wait,
        ORDERS,
        lambda invoke, spell: 'asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");',
        lambda context, invoke: context.cluster_wait(),
    ),
    Intrinsic(
        "store_to_block",
        "Start to store a value in the shared memory of a block of the cluster, completing at its "
        "mbarrier. PTX ISA: st.async.",
        check_store,
        lambda invoke: Effects(writes=(invoke.args[0], invoke.args[2])),
        store_text,
        store_remote,
    ),
    Intrinsic(
        "mbarrier_arrive_cluster",
        "Arrive a number of times at an mbarrier of a block of the cluster. "
        "PTX ISA: mbarrier.arrive.",
        check_remote,
        changes,
        remote_text("mbarrier.arrive"),
        arrived_remotely,
    ),
    Intrinsic(
        "mbarrier_arrive_expect_tx_cluster",
        "Expect bytes at an mbarrier of a block of the cluster, and arrive once. "
        "PTX ISA: mbarrier.arrive.expect_tx.",
        check_remote,
        changes,
        remote_text("mbarrier.arrive.expect_tx"),
        arrived_remotely,
    ),
)
