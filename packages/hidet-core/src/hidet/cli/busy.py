"""Whether other processes have the cores, so that measured times would mean little."""

from __future__ import annotations

import os

BUSY = 0.5
"""The part of the cores from which on they are busy with something else."""


def load() -> tuple[bool, str]:
    """Whether the machine is busy, and what it is busy with."""
    count = os.cpu_count() or 1
    running = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return running > BUSY * count, f"{running:.1f} processes run on {count} cores"
