"""Device functions, each declared once: types, effects, CUDA text, simulated meaning."""

from hidet.intrinsics.async_copy import ASYNC_COPIES
from hidet.intrinsics.atomic import ATOMICS
from hidet.intrinsics.barrier import BARRIERS
from hidet.intrinsics.base import Agent, Context, Effects, Intrinsic
from hidet.intrinsics.builtins import BUILTINS, builtin
from hidet.intrinsics.bulk import BULK
from hidet.intrinsics.control import CONTROL
from hidet.intrinsics.matrix import MATRIX
from hidet.intrinsics.mbarrier import MBARRIERS
from hidet.intrinsics.shuffle import SHUFFLES
from hidet.intrinsics.tma import TMA

INTRINSICS: dict[str, Intrinsic] = {
    each.name: each
    for family in (
        BARRIERS,
        SHUFFLES,
        ATOMICS,
        ASYNC_COPIES,
        MATRIX,
        CONTROL,
        MBARRIERS,
        BULK,
        TMA,
    )
    for each in family
}
"""Every intrinsic by name."""

__all__ = ["BUILTINS", "INTRINSICS", "Agent", "Context", "Effects", "Intrinsic", "builtin"]
