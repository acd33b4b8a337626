"""What is said of an mbarrier that is used wrongly."""

from __future__ import annotations

from typing import NoReturn

from hidet.sim.faults import MbarrierMisuse
from hidet.sim.gang import Gang


def misuse(gang: Gang, message: str, row: int, help: str | None = None) -> NoReturn:
    """Raise `MbarrierMisuse`."""
    gang.fault(MbarrierMisuse, message, row, help)
