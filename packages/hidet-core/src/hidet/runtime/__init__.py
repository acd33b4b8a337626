"""Runs archives: plans, binaries and weights. Knows bytes and launches, never IR."""

from hidet.runtime.binding.memory import Allocator, View
from hidet.runtime.executor import Executor
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.plan import Buffer, Host, Launch, Plan, Pointer, Scalar

__all__ = [
    "Allocator",
    "Archive",
    "Buffer",
    "Executor",
    "Host",
    "Launch",
    "Map",
    "Plan",
    "Pointer",
    "Scalar",
    "View",
]
