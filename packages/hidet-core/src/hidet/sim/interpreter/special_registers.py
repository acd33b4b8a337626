"""Special registers: what the hardware tells each thread about itself and its multiprocessor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel
from hidet.sim.memories.shared import DEVICE, dynamic_shared
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Value
from hidet.target import WARP


def special(simt: SimtGroup, name: str) -> Value:
    """The value of a builtin, one row for each thread; made at its first use."""
    found = simt.builtins.get(name)
    if found is None:
        if name not in REGISTERS:
            raise BadKernel(f"the simulator has no builtin {name!r}")
        found = simt.builtins[name] = REGISTERS[name](simt)
    return found


def lane_mask(holds: Callable[[Array, Array], Array]) -> Callable[[SimtGroup], Value]:
    """A bit for each lane whose number compares so with the thread's own."""

    def run(simt: SimtGroup) -> Value:
        lanes = np.arange(WARP)
        bits = holds(lanes, (simt.thread % WARP)[:, None])
        return (bits * (np.uint32(1) << lanes.astype(np.uint32))).sum(axis=1, dtype=np.uint32)

    return run


REGISTERS: dict[str, Callable[[SimtGroup], Value]] = {
    "warpid": lambda simt: (simt.thread // WARP).astype(np.int32),
    "smid": lambda simt: ((simt.team.first + simt.slot) % DEVICE.cores).astype(np.int32),
    "nsmid": lambda simt: np.int32(DEVICE.cores),
    "dynamic_smem_size": lambda simt: np.int32(simt.run.kernel.launch.shared_bytes),
    "lanemask_eq": lane_mask(lambda lane, own: lane == own),
    "lanemask_lt": lane_mask(lambda lane, own: lane < own),
    "lanemask_le": lane_mask(lambda lane, own: lane <= own),
    "lanemask_gt": lane_mask(lambda lane, own: lane > own),
    "lanemask_ge": lane_mask(lambda lane, own: lane >= own),
    "dynamic_shared": dynamic_shared,
}
