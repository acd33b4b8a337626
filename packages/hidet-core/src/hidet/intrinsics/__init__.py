"""Device functions, each declared once: types, effects, CUDA text, simulated meaning."""

from hidet.intrinsics.base import Effects, Intrinsic
from hidet.intrinsics.builtins import BUILTINS, builtin
from hidet.intrinsics.context import Agent, Context
from hidet.intrinsics.control import CONTROL
from hidet.intrinsics.inline import INLINE
from hidet.intrinsics.memory import MEMORY
from hidet.intrinsics.registers import REGISTER_COUNTS
from hidet.intrinsics.shuffle import SHUFFLES
from hidet.intrinsics.synchronization.async_copy import ASYNC_COPIES
from hidet.intrinsics.synchronization.atomic import ATOMICS
from hidet.intrinsics.synchronization.barrier import BARRIERS
from hidet.intrinsics.synchronization.bulk import BULK
from hidet.intrinsics.synchronization.cluster import CLUSTER
from hidet.intrinsics.synchronization.mbarrier import MBARRIERS
from hidet.intrinsics.tensor_cores.matrix import MATRIX
from hidet.intrinsics.tensor_cores.mma import MMA
from hidet.intrinsics.tensor_cores.wgmma import WGMMA
from hidet.intrinsics.tensor_cores.wgmma_groups import WGMMA_GROUPS
from hidet.intrinsics.tensor_maps.descriptors import DESCRIPTORS
from hidet.intrinsics.tensor_maps.tma import TMA

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
