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
    MissingGridWait,
    MissingWait,
    OutOfBounds,
    Race,
    RegisterBudget,
    ResourceOveruse,
    StepLimit,
    Trapped,
    Uninitialised,
    WriteToInput,
)
from hidet.sim.launch import launch
from hidet.sim.memories.undefined import empty
from hidet.sim.report import Access, Report

__all__ = [
    "Access",
    "AssertionFailed",
    "ClusterMisuse",
    "Deadlock",
    "DivergentBarrier",
    "InactiveLane",
    "MbarrierMisuse",
    "Misaligned",
    "MissingFence",
    "MissingGridWait",
    "MissingWait",
    "OutOfBounds",
    "Race",
    "RegisterBudget",
    "Report",
    "ResourceOveruse",
    "StepLimit",
    "Trapped",
    "Uninitialised",
    "WriteToInput",
    "empty",
    "launch",
]
