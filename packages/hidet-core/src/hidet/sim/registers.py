"""setmaxnreg: how many registers each warpgroup has, and what is left in the pool of its block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hidet.sim.faults import RegisterBudget
from hidet.sim.gang import Gang
from hidet.sim.values import Array, Mask
from hidet.sim.wgmma import REGISTERS, WARPGROUP, warpgroups

FILE = 64 * 1024
"""Registers of a multiprocessor."""
STEP, MOST = 8, 256


@dataclass
class Budget:
    """What the threads of each row's warpgroup have, and what each resident block has left."""

    of_thread: Array
    pool: dict[int, int]


def budget(gang: Gang) -> Budget:
    """The gang's own; at the start all threads have what the launch bound leaves each."""
    found = gang.state.get(REGISTERS)
    if isinstance(found, Budget):
        return found
    threads, blocks = gang.team.threads, gang.run.kernel.launch.min_blocks
    if not blocks:
        gang.fault(
            RegisterBudget,
            "setmaxnreg is ignored in a kernel that does not say how many blocks should fit",
            help="set attr.cuda_min_blocks = 1",
        )
    share = min(FILE // (threads * blocks) // STEP * STEP, MOST)
    made = Budget(np.full(gang.count, share), dict.fromkeys(map(int, np.unique(gang.slot)), 0))
    gang.state[REGISTERS] = made
    return made


def change(gang: Gang, mask: Mask, count: int, more: bool) -> Iterator[None]:
    """Give or take registers; one that takes waits until the pool has enough."""
    own, waiting = budget(gang), list(warpgroups(gang, mask))
    for rows in waiting:
        check_direction(gang, int(own.of_thread[rows[0]]), count, more, int(rows[0]))
    check_sum(gang, own, waiting, count)
    while True:
        left = [rows for rows in waiting if not taken(gang, own, rows, count)]
        if len(left) < len(waiting):
            gang.run.progress += 1
        if not left:
            return
        waiting = left
        yield


def taken(gang: Gang, own: Budget, rows: Array, count: int) -> bool:
    """Whether the block's pool had what the warpgroup asks for."""
    slot = int(gang.slot[rows[0]])
    wanted = (count - int(own.of_thread[rows[0]])) * WARPGROUP
    if wanted > own.pool[slot]:
        return False
    own.pool[slot] -= wanted
    own.of_thread[rows] = count
    return True


def check_direction(gang: Gang, now: int, count: int, more: bool, row: int) -> None:
    """`RegisterBudget` if a warpgroup would take fewer than it has, or give more."""
    if (count < now) if more else (count > now):
        verb, other = ("inc", "dec") if more else ("dec", "inc")
        gang.fault(
            RegisterBudget,
            f"setmaxnreg_{verb} to {count} registers of a thread that has {now}",
            row,
            f"use setmaxnreg_{other}, or another number",
        )


def check_sum(gang: Gang, own: Budget, asking: list[Array], count: int) -> None:
    """`RegisterBudget` if a block could not have so many even if all others had the fewest."""
    for slot in {int(gang.slot[rows[0]]) for rows in asking}:
        there = gang.everyone & (gang.slot == slot)
        total = int(own.of_thread[there].sum()) + own.pool[slot]
        wanted = sum(WARPGROUP * count for rows in asking if gang.slot[rows[0]] == slot)
        if wanted > total:
            gang.fault(
                RegisterBudget,
                f"setmaxnreg asks for {wanted} registers; the block has {total}",
                int(asking[0][0]),
                "let other warpgroups give more back, or take fewer",
            )
