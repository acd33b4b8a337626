"""What one simulated launch did, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """Counts over all threads of all kernels launched, and what the kernels printed."""

    executed: Counter[str] = field(default_factory=Counter)
    """Threads that did each kind of thing: `load global`, `store shared`, `syncthreads`, ..."""
    barriers: int = 0
    """Block-wide barriers passed, summed over blocks."""
    shared_bytes: int = 0
    """The most shared memory that one block of any kernel held, in bytes."""
    printed: list[str] = field(default_factory=list)
    """The lines of `Print` statements, in order of execution."""
