"""Which device of this machine an archive runs on, and which of its parts runs there."""

from __future__ import annotations

from hidet.errors import BadArchive
from hidet.runtime.devices.device import device_count, host_flags
from hidet.runtime.executor import check_target
from hidet.runtime.plans.archive import Archive
from hidet.target import Target


def device_for(archive: Archive) -> str:
    """The first device of this machine that an archive can run on."""
    reasons = []
    for device in [*(f"cuda:{index}" for index in range(device_count())), "cpu"]:
        try:
            fitting(archive, device)
        except BadArchive as error:
            reasons.append(error.message)
        else:
            return device
    raise BadArchive(
        f"no device of this machine fits: {'; '.join(dict.fromkeys(reasons))}",
        help="`graph.build` takes several targets, and `save` keeps all of them in one file",
    )


def fitting(archive: Archive, device: str) -> Archive:
    """The part of an archive that runs on a device; of several the one for the most instructions,
    and one that runs there before one that is simulated."""
    parts, reasons = [], []
    for target in archive.targets:
        part = archive.only(target)
        try:
            check_target(part.main, device)
        except BadArchive as error:
            reasons.append(error.message)
        else:
            parts.append((part, Target.parse(target)))
    if not parts:
        raise BadArchive("; ".join(reasons))
    # Where nobody knows what a CPU has, the fewest instructions are safest.
    sign = -1 if device == "cpu" and not host_flags() else 1
    return max(parts, key=lambda each: (not each[1].simulated, sign * len(each[1].features)))[0]
