"""Whether threads have registers enough for a point of a space."""

from __future__ import annotations

from hidet.target import Target


def enough_registers(target: Target, estimated: int, least: int) -> bool:
    """Whether a thread may have so many: as many as blocks are `estimated` to take beside each
    other, and the `least` without which the compiler spills some.

    On sm_90a points that spill a little stay: measured beside the others, attention in float32 is
    fastest by one of them, and those of products are not chosen.
    """
    needed = estimated if target.has_feature("wgmma") else max(estimated, least)
    return needed <= target.max_registers_per_thread
