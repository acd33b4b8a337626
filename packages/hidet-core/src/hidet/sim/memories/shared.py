"""Shared memory of the resident blocks: where arrays lie in it, and how much of it there is."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import Builtin, Var
from hidet.ir.kernel import Kernel
from hidet.ir.walk import find
from hidet.sim.faults import ResourceOveruse
from hidet.sim.memory import Buffer, Pointer, fresh
from hidet.sim.order.races import Shadow, WarpReaders
from hidet.sim.threads.simt_group import SimtGroup
from hidet.target import Target
from hidet.types import Scope, TensorType, shared_alignment, u8

DEVICE = Target.parse("sm_90a")
"""The device whose numbers and limits the simulator has."""
DYNAMIC = Var(DYNAMIC_SHARED, TensorType(u8, (0,), Scope.SHARED))
DYNAMIC_ALIGNMENT = 1024


def shared_buffer(
    simt: SimtGroup, var: Var, element: int, shape: tuple[int, ...] | None, size: int
) -> Buffer:
    """Memory for a shared array, one for each resident block, watched for races."""
    buffer = fresh(var.name, Scope.SHARED, element, shape, size, simt.residents.blocks)
    buffer.granule = simt.run.granule[Scope.SHARED]
    ends = [each.address + each.size for each in simt.residents.shared.values()]
    whole = var is DYNAMIC or size == simt.run.kernel.launch.shared_bytes
    buffer.alignment = DYNAMIC_ALIGNMENT if whole else shared_alignment(size)
    buffer.address = -(-max(ends, default=0) // buffer.alignment) * buffer.alignment
    count = buffer.data.size // buffer.granule
    buffer.shadow = Shadow(count, simt.clocks, WarpReaders(count, simt.clocks.all_warps))
    buffer.written = np.zeros(count, np.bool_)
    simt.residents.shared[var] = buffer
    check_size(simt)
    return buffer


def dynamic_shared(simt: SimtGroup) -> Pointer:
    """The block's dynamic shared memory, undefined at first."""
    found = simt.residents.shared.get(DYNAMIC)
    if found is None:
        found = shared_buffer(simt, DYNAMIC, 1, None, simt.run.kernel.launch.shared_bytes)
    return Pointer(found, np.int64(0))


def check_size(simt: SimtGroup) -> None:
    """Note how much shared memory a block holds; `ResourceOveruse` if it is more than there is."""
    kernel = simt.run.kernel
    sizes = [each.size for var, each in simt.residents.shared.items() if var is not DYNAMIC]
    dynamic = kernel.launch.shared_bytes
    if dynamic in sizes and not asks_for_dynamic(kernel):
        dynamic = 0  # lowering made one array of all, as large as what is dynamic
    held = sum(sizes) + dynamic
    simt.run.report.shared_bytes = max(simt.run.report.shared_bytes, held)
    if held > DEVICE.max_shared_bytes_per_block:
        simt.fault(
            ResourceOveruse,
            f"a block holds {held} bytes of shared memory; it may have at most "
            f"{DEVICE.max_shared_bytes_per_block}",
            help="make the tiles smaller, or use fewer stages",
        )


@lru_cache(maxsize=256)
def asks_for_dynamic(kernel: Kernel) -> bool:
    """Whether a kernel uses its dynamic shared memory by itself, beside shared arrays."""
    return any(each.name == DYNAMIC_SHARED for each in find(kernel.body, Builtin))
