"""Kernels without a GPU: `launch` runs kernel IR on numpy arrays and checks every step."""

from hidet.sim.faults import (
    AssertionFailed,
    ClusterMisuse,
    Deadlock,
    DivergentBarrier,
    InactiveLane,
    MbarrierMisuse,
    Misaligned,
    MissingFence,
    MissingWait,
    OutOfBounds,
    Race,
    RegisterBudget,
    StepLimit,
    Uninitialised,
)
from hidet.sim.launch import launch
from hidet.sim.report import Report

__all__ = [
    "AssertionFailed",
    "ClusterMisuse",
    "Deadlock",
    "DivergentBarrier",
    "InactiveLane",
    "MbarrierMisuse",
    "Misaligned",
    "MissingFence",
    "MissingWait",
    "OutOfBounds",
    "Race",
    "RegisterBudget",
    "Report",
    "StepLimit",
    "Uninitialised",
    "launch",
]
