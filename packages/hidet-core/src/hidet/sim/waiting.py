"""Nobody can go on: who waits, where, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from hidet.sim.faults import Deadlock
from hidet.sim.gang import Gang

MOST_NAMED = 8
"""Waits that the message spells out."""


def deadlock(gangs: Sequence[Gang]) -> NoReturn:
    """Raise the `Deadlock` at the wait that began first, with all others in the message."""
    waits = [(gang, *wait) for gang in gangs for wait in gang.waiting.values()]
    gang, site, mask = waits[0]
    told = [told_of(*wait) for wait in waits]
    more = f"; and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    gang.site = site
    gang.fault(
        Deadlock,
        "every thread that is left waits for another one: " + "; ".join(told[:MOST_NAMED]) + more,
        int(np.argmax(mask)),
        "see that each wait has its arrivals, and that all meet in the same order",
    )


def told_of(gang: Gang, site: int, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    """One wait, in words."""
    first, *rest = np.flatnonzero(mask)
    others = f" and {len(rest)} more" if rest else ""
    place = gang.run.place(site)
    at = f" at {place}" if place else ""
    return f"{gang.name(int(first))}{others} in `{str(gang.run.sites[site]).strip()}`{at}"
