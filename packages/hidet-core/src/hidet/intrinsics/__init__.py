"""Device functions with effects, each declared once: types, effects, CUDA text, simulated meaning."""

from hidet.intrinsics.barrier import BARRIERS
from hidet.intrinsics.base import Context, Effects, Intrinsic

INTRINSICS: dict[str, Intrinsic] = {each.name: each for family in (BARRIERS,) for each in family}

__all__ = ["INTRINSICS", "Context", "Effects", "Intrinsic"]
