"""What one launch knows of its waits for the launches before it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Dependency:
    """Who waited when, and whether a block let its dependents begin before it had waited."""

    waiters: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """For each block, threads that waited, with the time."""
    early: bool = False
