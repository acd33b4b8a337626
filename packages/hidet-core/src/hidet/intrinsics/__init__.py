"""Device functions, each declared once: types, effects, CUDA text, simulated meaning."""

from hidet.intrinsics.async_copy import ASYNC_COPIES
from hidet.intrinsics.atomic import ATOMICS
from hidet.intrinsics.barrier import BARRIERS
from hidet.intrinsics.base import Effects, Intrinsic
from hidet.intrinsics.builtins import BUILTINS, builtin
from hidet.intrinsics.bulk import BULK
from hidet.intrinsics.cluster import CLUSTER
from hidet.intrinsics.context import Agent, Context
from hidet.intrinsics.control import CONTROL
from hidet.intrinsics.descriptors import DESCRIPTORS
from hidet.intrinsics.inline import INLINE
from hidet.intrinsics.matrix import MATRIX
from hidet.intrinsics.mbarrier import MBARRIERS
from hidet.intrinsics.memory import MEMORY
from hidet.intrinsics.mma import MMA
from hidet.intrinsics.registers import REGISTER_COUNTS
from hidet.intrinsics.shuffle import SHUFFLES
from hidet.intrinsics.tma import TMA
from hidet.intrinsics.wgmma import WGMMA
from hidet.intrinsics.wgmma_groups import WGMMA_GROUPS

FAMILIES = (
    BARRIERS,
    SHUFFLES,
    ATOMICS,
    MEMORY,
    ASYNC_COPIES,
    MATRIX,
    MMA,
    DESCRIPTORS,
    WGMMA,
    WGMMA_GROUPS,
    REGISTER_COUNTS,
    CONTROL,
    MBARRIERS,
    BULK,
    CLUSTER,
    TMA,
    INLINE,
)

INTRINSICS: dict[str, Intrinsic] = {each.name: each for family in FAMILIES for each in family}
"""Every intrinsic by name."""

__all__ = ["BUILTINS", "INTRINSICS", "Agent", "Context", "Effects", "Intrinsic", "builtin"]
