"""Special registers: what the hardware tells each thread about itself and its multiprocessor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel
from hidet.sim.memories.shared import DEVICE, dynamic_shared
from hidet.sim.threads.gang import Gang
from hidet.sim.values import Array, Value
from hidet.target import WARP


def special(gang: Gang, name: str) -> Value:
    """The value of a builtin, one row for each thread; made at its first use."""
    found = gang.builtins.get(name)
    if found is None:
        if name not in REGISTERS:
            raise BadKernel(f"the simulator has no builtin {name!r}")
        found = gang.builtins[name] = REGISTERS[name](gang)
    return found


def lane_mask(holds: Callable[[Array, Array], Array]) -> Callable[[Gang], Value]:
    """A bit for each lane whose number compares so with the thread's own."""

    def run(gang: Gang) -> Value:
        lanes = np.arange(WARP)
        bits = holds(lanes, (gang.thread % WARP)[:, None])
        return (bits * (np.uint32(1) << lanes.astype(np.uint32))).sum(axis=1, dtype=np.uint32)

    return run


REGISTERS: dict[str, Callable[[Gang], Value]] = {
    "warpid": lambda gang: (gang.thread // WARP).astype(np.int32),
    "smid": lambda gang: ((gang.team.first + gang.slot) % DEVICE.cores).astype(np.int32),
    "nsmid": lambda gang: np.int32(DEVICE.cores),
    "dynamic_smem_size": lambda gang: np.int32(gang.run.kernel.launch.shared_bytes),
    "lanemask_eq": lane_mask(lambda lane, own: lane == own),
    "lanemask_lt": lane_mask(lambda lane, own: lane < own),
    "lanemask_le": lane_mask(lambda lane, own: lane <= own),
    "lanemask_gt": lane_mask(lambda lane, own: lane > own),
    "lanemask_ge": lane_mask(lambda lane, own: lane >= own),
    "dynamic_shared": dynamic_shared,
}
