"""How much memory the host has for this process, asked before a call takes any."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from hidet.errors import OutOfMemory
from hidet.runtime.binding.bound import BoundPlan

CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""What Linux lets a container have: a number, or "max"."""


@cache
def installed() -> int:
    """The bytes of memory that this machine, or its container, has."""
    if not hasattr(os, "sysconf"):
        return 2**63
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        said = CONTAINER.read_text().strip()
    except OSError:
        return found
    return min(found, int(said)) if said.isdecimal() else found


def require_room(bound: BoundPlan) -> None:
    """Raise OutOfMemory if a call takes more than there is, for workspaces and outputs."""
    outputs = sum(map(bound.nbytes, bound.plan.outputs))
    needed = bound.arena.nbytes + outputs
    if needed > installed():
        raise OutOfMemory(
            f"a call needs {gibibytes(needed)} of memory, {gibibytes(outputs)} of them for its "
            f"outputs; there are {gibibytes(installed())}",
            help="give it smaller inputs, or a smaller batch",
        )


def refused(nbytes: int) -> OutOfMemory:
    """What to raise where the system gives no memory."""
    return OutOfMemory(
        f"the system has no {gibibytes(nbytes)} of memory for this process",
        help="give the model smaller inputs, or a smaller batch",
    )


def gibibytes(nbytes: int) -> str:
    """Bytes as users read them."""
    return f"{nbytes / 2**30:.1f} GiB"
