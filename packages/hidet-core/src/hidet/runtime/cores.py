"""How many cores this process may use, by affinity and by what its control group is given, and how
many threads calls use therefore."""

from __future__ import annotations

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def cores() -> int:
    """How many threads can compute at once; a container may see all cores and get few of them."""
    found = float(len(os.sched_getaffinity(0)))
    with suppress(OSError, ValueError):
        for folder in own_groups():
            found = min(found, quota(folder))
    return max(1, ceil(found))


def usual_threads() -> int:
    """How many threads a call uses where nobody says more: `OMP_NUM_THREADS`, which frameworks
    respect too, else one for each core."""
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(given) if given.isdecimal() and int(given) else cores()


def own_groups() -> list[Path]:
    """The folders of this process's control groups, and of those around them."""
    found = [GROUPS]
    for line in OWN.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            root = GROUPS / "cpu" if controllers else GROUPS
            own = root / path.lstrip("/")
            found += [each for each in (own, *own.parents) if each.is_relative_to(root)]
    return found


def quota(folder: Path) -> float:
    """The cores that a group gets; more than there are if nothing is said."""
    with suppress(FileNotFoundError, NotADirectoryError):
        given, period = (folder / "cpu.max").read_text().split()
        return float("inf") if given == "max" else int(given) / int(period)
    with suppress(FileNotFoundError, NotADirectoryError):
        given = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
        return float("inf") if int(given) < 0 else int(given) / int(period)
    return float("inf")
