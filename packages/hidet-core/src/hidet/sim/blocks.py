"""Blocks of a launch: how many are resident at once, and running them to their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from hidet.ir.expr import Var
from hidet.ir.kernel import KernelKind
from hidet.sim.clocks import Clocks, Team
from hidet.sim.faults import Deadlock
from hidet.sim.gang import Gang, Run, coordinates
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.program import Program
from hidet.sim.races import LastReader, Shadow
from hidet.sim.releases import Releases
from hidet.types import Scope

LANES = 1 << 16
"""Threads that run as one gang at most (more only if one block has more)."""

WARP = 32
MOST_WAITS = 8
"""Waits that the message about a deadlock names."""

TURNS = 1 << 30
"""On the CPU all turns of parallel loops count as one warp of one block."""


def run_blocks(program: Program, run: Run, env: dict[Var, Any]) -> None:
    """Run every block of the grid."""
    buffers = {value.buffer for value in env.values() if isinstance(value, Pointer)}
    watched = {env[var].buffer for var in program.written if isinstance(env[var], Pointer)}
    clocks = Clocks(1, 1, Team(1, 1, 0), Releases(0, 1))
    for buffer in buffers:
        watch(buffer, run, buffer in watched, clocks)
    for gangs in batches(program, run):
        for buffer in watched:
            assert buffer.shadow is not None
            buffer.shadow.clocks = gangs[0].clocks
        for gang in gangs:
            gang.env.update(env)
        finish(program, gangs)


def watch(buffer: Buffer, run: Run, written: bool, clocks: Clocks) -> None:
    """Give a buffer new shadows for this launch; memory that is only read needs none."""
    buffer.granule = run.granule[Scope.GLOBAL]
    count = -(-buffer.data.size // buffer.granule)
    buffer.shadow = Shadow(count, clocks, LastReader(count)) if written else None
    if buffer.starts_undefined and buffer.written is None:
        buffer.written = np.zeros(count, np.bool_)


def batches(program: Program, run: Run) -> Iterator[list[Gang]]:
    """Gangs that are resident together, batch after batch."""
    if program.kernel.kind is KernelKind.CPU:
        yield [single_thread(run)]
        return
    total = run.grid[0] * run.grid[1] * run.grid[2]
    if program.spins:
        shared: dict[Var, Buffer] = {}
        team = padded_team(run, 0)
        clocks = Clocks(total, team.threads // WARP, team, Releases(total, team.threads))
        yield [gang_of_blocks(run, clocks, b, b + 1, total, shared) for b in range(total)]
        return
    threads = padded_team(run, 0).threads
    releases = Releases(total, threads)
    each = max(1, LANES // threads)
    now = 1
    for first in range(0, total, each):
        count = min(each, total - first)
        team = padded_team(run, first)
        clocks = Clocks(count, threads // WARP, team, releases)
        clocks.now = now  # time goes on, so that stamps of earlier batches stay comparable
        yield [gang_of_blocks(run, clocks, 0, count, count, {})]
        now = clocks.tick()


def padded_team(run: Run, first: int) -> Team:
    """Blocks rounded up to whole warps."""
    threads = run.block[0] * run.block[1] * run.block[2]
    return Team(-(-threads // WARP) * WARP, WARP, first)


def gang_of_blocks(
    run: Run, clocks: Clocks, start: int, stop: int, blocks: int, shared: dict[Var, Buffer]
) -> Gang:
    """The threads of resident blocks `start` to `stop`."""
    team, count = clocks.team, stop - start
    slot = np.repeat(np.arange(start, stop), team.threads)
    thread = np.tile(np.arange(team.threads), count)
    real = thread < run.block[0] * run.block[1] * run.block[2]
    gang = Gang(
        run=run,
        clocks=clocks,
        team=team,
        blocks=blocks,
        slot=slot,
        thread=thread,
        warp=thread // WARP,
        everyone=real,
        origin=(np.arange(len(slot)),),
        shared=shared,
    )
    gang.builtins = builtins(gang, count == 1)
    return gang


def builtins(gang: Gang, one_block: bool) -> dict[str, Any]:
    """What the hardware tells each thread about itself."""
    run, found = gang.run, {}
    block = coordinates(gang.team.first + gang.slot, run.grid)
    thread = coordinates(gang.thread, run.block)
    for axis, name in enumerate("xyz"):
        found[f"threadIdx.{name}"] = thread[axis].astype(np.int32)
        own = block[axis].astype(np.int32)
        found[f"blockIdx.{name}"] = own[0] if one_block or (own == own[0]).all() else own
        found[f"blockDim.{name}"] = np.int32(run.block[axis])
        found[f"gridDim.{name}"] = np.int32(run.grid[axis])
        if run.block[axis] == 1:
            found[f"threadIdx.{name}"] = np.int32(0)
    found["laneid"] = (gang.thread % WARP).astype(np.int32)
    return found


def single_thread(run: Run) -> Gang:
    """The one thread that starts a CPU kernel."""
    team = Team(TURNS, TURNS, 0)
    zero = np.zeros(1, np.int64)
    return Gang(
        run=run,
        clocks=Clocks(1, 1, team, Releases(0, 1)),
        team=team,
        blocks=1,
        slot=zero,
        thread=zero,
        warp=zero,
        everyone=np.ones(1, np.bool_),
        origin=(zero,),
    )


def finish(program: Program, gangs: list[Gang]) -> None:
    """Run gangs in turns until all have ended; `Deadlock` when none can go on."""
    alive = [(gang, program.run(gang, gang.everyone)) for gang in gangs]
    while alive:
        before, left = alive[0][0].run.progress, []
        for gang, part in alive:
            try:
                next(part)
                left.append((gang, part))
            except StopIteration:
                gang.run.progress += 1
        if left and left[0][0].run.progress == before:
            deadlock(left[0][0])
        alive = left


def deadlock(gang: Gang) -> NoReturn:
    """`Deadlock`, with who waits for what."""
    waits = []
    for wait in gang.run.waits[:MOST_WAITS]:
        who = wait.gang.name(int(np.argmax(wait.mask)))
        more = int(np.count_nonzero(wait.mask)) - 1
        others = f" and {more} more" if more else ""
        place = gang.run.place(wait.site)
        at = f" at {place}" if place else ""
        waits.append(f"{who}{others} waits{at} for {wait.what()}")
    if gang.run.waits:
        gang.site = gang.run.waits[0].site
    gang.fault(Deadlock, "; ".join(["every thread that is left waits for another one", *waits]))
