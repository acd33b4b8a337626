"""setmaxnreg: how many registers each warpgroup has, and what is left in the pool of its block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hidet.sim.asynchronous.wgmma import REGISTERS, warpgroups
from hidet.sim.faults import RegisterBudget
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask
from hidet.target import WARPGROUP

FILE = 64 * 1024
"""Registers of a multiprocessor."""
STEP, MOST = 8, 256


@dataclass
class Budget:
    """What the threads of each warpgroup (block, number) have, and what each block has left."""

    of_group: dict[tuple[int, int], int]
    pool: dict[int, int]


def budget(simt: SimtGroup) -> Budget:
    """That of the resident blocks; at the start all threads have what the launch bound leaves."""
    found = simt.residents.state.get(REGISTERS)
    if isinstance(found, Budget):
        return found
    threads, blocks = simt.team.threads, simt.run.kernel.launch.min_blocks
    if not blocks:
        simt.fault(
            RegisterBudget,
            "setmaxnreg is ignored in a kernel that does not say how many blocks should fit",
            help="set attr.cuda_min_blocks = 1",
        )
    share = min(FILE // (threads * blocks) // STEP * STEP, MOST)
    slots, groups = range(simt.residents.blocks), range(-(-threads // WARPGROUP))
    shares = {(slot, group): share for slot in slots for group in groups}
    made = Budget(shares, dict.fromkeys(slots, 0))
    simt.residents.state[REGISTERS] = made
    return made


def group_of(simt: SimtGroup, row: int) -> tuple[int, int]:
    """The warpgroup of a thread: its block, and its number in it."""
    return int(simt.slot[row]), int(simt.thread[row]) // WARPGROUP


def change(simt: SimtGroup, mask: Mask, count: int, more: bool) -> Iterator[None]:
    """Give or take registers; one that takes waits until the pool has enough."""
    own, waiting = budget(simt), list(warpgroups(simt, mask))
    for rows in waiting:
        row = int(rows[0])
        check_direction(simt, own.of_group[group_of(simt, row)], count, more, row)
    check_sum(simt, own, waiting, count)
    with simt.waiting(mask, lambda: missing(simt, own, waiting, count)):
        while True:
            left = [rows for rows in waiting if not taken(simt, own, rows, count)]
            if len(left) < len(waiting):
                simt.run.progress += 1
            if not left:
                return
            waiting = left
            yield


def missing(simt: SimtGroup, own: Budget, waiting: list[Array], count: int) -> str:
    """What warpgroups wait for, in words."""
    group = group_of(simt, int(waiting[0][0]))
    wanted = (count - own.of_group[group]) * WARPGROUP
    return f"{wanted} registers, of which {own.pool[group[0]]} were given back"


def taken(simt: SimtGroup, own: Budget, rows: Array, count: int) -> bool:
    """Whether the block's pool had what the warpgroup asks for."""
    group = group_of(simt, int(rows[0]))
    wanted = (count - own.of_group[group]) * WARPGROUP
    if wanted > own.pool[group[0]]:
        return False
    own.pool[group[0]] -= wanted
    own.of_group[group] = count
    return True


def check_direction(simt: SimtGroup, now: int, count: int, more: bool, row: int) -> None:
    """`RegisterBudget` if a warpgroup would take fewer than it has, or give more."""
    if (count < now) if more else (count > now):
        verb, other = ("inc", "dec") if more else ("dec", "inc")
        simt.fault(
            RegisterBudget,
            f"setmaxnreg_{verb} to {count} registers of a thread that has {now}",
            row,
            f"use setmaxnreg_{other}, or another number",
        )


def check_sum(simt: SimtGroup, own: Budget, asking: list[Array], count: int) -> None:
    """`RegisterBudget` if a block could not have so many even if all others had the fewest."""
    for slot in {int(simt.slot[rows[0]]) for rows in asking}:
        threads = simt.team.threads
        has = [
            each * min(WARPGROUP, threads - group * WARPGROUP)
            for (block, group), each in own.of_group.items()
            if block == slot
        ]
        total = sum(has) + own.pool[slot]
        wanted = sum(WARPGROUP * count for rows in asking if simt.slot[rows[0]] == slot)
        if wanted > total:
            simt.fault(
                RegisterBudget,
                f"setmaxnreg asks for {wanted} registers; the block has {total}",
                int(asking[0][0]),
                "let other warpgroups give more back, or take fewer",
            )
