"""Blocks of a launch: how many are resident at once, and running them to their end."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np

from hidet.ir.expr import Var
from hidet.ir.kernel import KernelKind
from hidet.sim.asynchronous import agents
from hidet.sim.asynchronous.deliveries import deliver
from hidet.sim.faults import Deadlock
from hidet.sim.interpreter.program import Program
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.actors import Team
from hidet.sim.order.clocks import Clocks
from hidet.sim.order.races import LastReader, Shadow
from hidet.sim.threads import clusters
from hidet.sim.threads.simt_group import Residents, Run, SimtGroup, block_index, coordinates
from hidet.sim.values import Array
from hidet.target import WARP, WARPGROUP
from hidet.types import Scope

LANES = 1 << 16
"""Threads that run as one SIMT group at most (more only if one block has more)."""

QUIET = 3
"""Rounds without any change after which there will be none; one iteration of a loop may take
two."""
PATIENT = 32
"""Rounds in which loops only iterate, after which they may be what waits for an operation."""
MOST_WAITS = 8
"""Waits that the message about a deadlock names."""

ITERATIONS = 1 << 30
"""On the CPU all iterations of parallel loops count as one warp of one block."""


@dataclass(frozen=True)
class Parting:
    """How the threads of resident blocks are parted into SIMT groups."""

    by_block: bool
    """Whether each block has SIMT groups of its own."""
    threads: int
    """How many threads of one block are in one SIMT group."""


def run_blocks(program: Program, run: Run, env: dict[Var, Any]) -> None:
    """Run every block of the grid.

    The threads of a SIMT group wait for each other where their ways join, so large groups, which
    are quick, may end in a deadlock that is none for smaller ones: the launch is then begun again.
    """
    buffers = {value.buffer for value in env.values() if isinstance(value, Pointer)}
    watched = {env[var].buffer for var in program.written if isinstance(env[var], Pointer)}
    before = [
        (b, b.data.copy(), None if b.written is None else b.written.copy())
        for b in watched
        if b.data.flags.writeable
    ]
    report = deepcopy(run.report)
    *coarse, finest = partings(program, run)
    for parting in coarse:
        try:
            attempt(program, run, env, buffers, watched, parting)
        except Deadlock:
            for buffer, data, written in before:
                buffer.data[:] = data
                buffer.written = None if written is None else written.copy()
            vars(run.report).update(vars(deepcopy(report)))
            run.again()
        else:
            return
    attempt(program, run, env, buffers, watched, finest)


def partings(program: Program, run: Run) -> list[Parting]:
    """Ways to part threads into SIMT groups, from few SIMT groups to many."""
    if program.kernel.kind is KernelKind.CPU:
        return [Parting(False, 1)]
    threads, several = padded_team(run, 0).threads, prod(run.grid) > 1
    alone = program.spins and several
    found = [Parting(alone, threads)]
    for size in (WARPGROUP, WARP):
        if program.together <= size < threads:
            found += [Parting(alone, size)] * (size == WARPGROUP) + [Parting(several, size)]
    if several:
        found.append(Parting(True, found[-1].threads))
    return list(dict.fromkeys(found))


def attempt(
    program: Program,
    run: Run,
    env: dict[Var, Any],
    buffers: set[Buffer],
    watched: set[Buffer],
    parting: Parting,
) -> None:
    """Run every block, the threads parted into SIMT groups in one way."""
    clocks = Clocks(padded_team(run, 0))
    for buffer in buffers:
        watch(buffer, run, buffer in watched, clocks)
    for residents in batches(program, run, parting, clocks):
        for simt in residents.simt_groups:
            simt.env.update(env)
        finish(program, residents)
        agents.check_end(residents)
        clusters.check_end(residents)


def watch(buffer: Buffer, run: Run, written: bool, clocks: Clocks) -> None:
    """Give a buffer new shadows for this launch; memory that is only read needs none."""
    buffer.granule, buffer.copied = run.granule[Scope.GLOBAL], []
    count = -(-buffer.data.size // buffer.granule)
    buffer.shadow = Shadow(count, clocks, LastReader(count)) if written else None
    if buffer.starts_undefined and buffer.written is None:
        known = buffer.source
        new = np.zeros(count, np.bool_)
        buffer.written = new if known is None else known.granules(buffer.granule)


def batches(program: Program, run: Run, parting: Parting, clocks: Clocks) -> Iterator[Residents]:
    """Blocks that are resident together, batch after batch, parted into SIMT groups."""
    if program.kernel.kind is KernelKind.CPU:
        yield single_thread(run, clocks)
        return
    total = prod(run.grid)
    size = prod(run.cluster)
    each = total if program.spins else max(1, LANES // clocks.team.threads // size) * size
    for first in range(0, total, each):
        count = min(each, total - first)
        clocks.renew(padded_team(run, first), count)
        yield parted(run, clocks, count, parting)


def parted(run: Run, clocks: Clocks, blocks: int, parting: Parting) -> Residents:
    """The threads of resident blocks, in SIMT groups."""
    residents = Residents(blocks)
    each = 1 if parting.by_block else blocks
    for start in range(0, blocks, each):
        for first in range(0, clocks.team.threads, parting.threads):
            last = min(first + parting.threads, clocks.team.threads)
            slots, threads = np.arange(start, start + each), np.arange(first, last)
            residents.simt_groups.append(simt_group_of(run, clocks, residents, slots, threads))
    return residents


def padded_team(run: Run, first: int) -> Team:
    """Blocks rounded up to whole warps."""
    if run.kernel.kind is KernelKind.CPU:
        return Team(ITERATIONS, ITERATIONS, 0)
    threads = prod(run.block)
    return Team(-(-threads // WARP) * WARP, WARP, first, prod(run.cluster))


def simt_group_of(
    run: Run, clocks: Clocks, residents: Residents, slots: Array, threads: Array
) -> SimtGroup:
    """Threads of the same numbers in several resident blocks."""
    slot, thread = np.repeat(slots, len(threads)), np.tile(threads, len(slots))
    simt = SimtGroup(
        run=run,
        clocks=clocks,
        team=clocks.team,
        residents=residents,
        slot=slot,
        thread=thread,
        warp=thread // WARP,
        everyone=thread < prod(run.block),
        origin=(np.arange(len(slot)),),
    )
    simt.builtins = builtins(simt, len(slots) == 1)
    return simt


def builtins(simt: SimtGroup, one_block: bool) -> dict[str, Any]:
    """What the hardware tells each thread about itself."""
    run, found = simt.run, {}
    block = block_index(run, simt.team.first + simt.slot)
    thread = coordinates(simt.thread, run.block)
    for axis, name in enumerate("xyz"):
        found[f"threadIdx.{name}"] = thread[axis].astype(np.int32)
        own = block[axis].astype(np.int32)
        found[f"blockIdx.{name}"] = own[0] if one_block or (own == own[0]).all() else own
        found[f"blockDim.{name}"] = np.int32(run.block[axis])
        found[f"gridDim.{name}"] = np.int32(run.grid[axis])
        if run.block[axis] == 1:
            found[f"threadIdx.{name}"] = np.int32(0)
    size = prod(run.cluster)
    found["clusterRank"] = (simt.slot % size).astype(np.int32)
    inside = coordinates(simt.slot % size, run.cluster)
    for axis, name in enumerate("xyz"):
        found[f"clusterBlockIdx.{name}"] = inside[axis].astype(np.int32)
        found[f"clusterIdx.{name}"] = (block[axis] // run.cluster[axis]).astype(np.int32)
        found[f"clusterDim.{name}"] = np.int32(run.cluster[axis])
    found["laneid"] = (simt.thread % WARP).astype(np.int32)
    return found


def single_thread(run: Run, clocks: Clocks) -> Residents:
    """The one thread that starts a CPU kernel."""
    zero = np.zeros(1, np.int64)
    simt = SimtGroup(
        run=run,
        clocks=clocks,
        team=clocks.team,
        residents=Residents(),
        slot=zero,
        thread=zero,
        warp=zero,
        everyone=np.ones(1, np.bool_),
        origin=(zero,),
    )
    simt.residents.simt_groups.append(simt)
    return simt.residents


def finish(program: Program, residents: Residents) -> None:
    """Run SIMT groups in turns until all have ended; `Deadlock` when none can go on.

    What asynchronous operations bring comes when nobody can go on without it, or when for long
    only loops have turned.
    """
    simt_groups = residents.simt_groups
    alive, quiet, idle = [(simt, program.run(simt, simt.everyone)) for simt in simt_groups], 0, 0
    while alive:
        run, left = alive[0][0].run, []
        progress, iterations = run.progress, run.iterations
        for simt, part in alive:
            try:
                next(part)
                left.append((simt, part))
            except StopIteration:
                simt.exited = simt.everyone
                simt.run.progress += 1
        idle = idle + 1 if run.progress == progress else 0
        quiet = quiet + 1 if idle and run.iterations == iterations else 0
        if left and (quiet == QUIET or idle == PATIENT):
            if deliver(residents):
                quiet = idle = 0
            elif quiet == QUIET:
                deadlock(left[0][0])
        alive = left


def deadlock(simt: SimtGroup) -> NoReturn:
    """`Deadlock`, with who waits for what."""
    waits = []
    for wait in simt.run.waits[:MOST_WAITS]:
        who = wait.simt.name(int(np.argmax(wait.mask)))
        more = int(np.count_nonzero(wait.mask)) - 1
        others = f" and {more} more" if more else ""
        place = simt.run.place(wait.site)
        at = f" at {place}" if place else ""
        waits.append(f"{who}{others} waits{at} for {wait.what()}")
    if simt.run.waits:
        simt.site = simt.run.waits[0].site
    simt.fault(Deadlock, "; ".join(["every thread that is left waits for another one", *waits]))
