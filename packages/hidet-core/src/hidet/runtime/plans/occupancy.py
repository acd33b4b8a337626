"""What is known of where the blocks of a launch go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OccupancyLimit:
    """Where the blocks of a launch go: as many as `cores` fill so many multiprocessors, each with
    `shared_bytes` of shared memory and places for `most` blocks that take none; a block takes
    `fixed` bytes beside what is dynamic. `few` blocks on one are no loss, even if others have none.
    """

    cores: int
    shared_bytes: int
    most: int
    fixed: int
    few: int = 1
