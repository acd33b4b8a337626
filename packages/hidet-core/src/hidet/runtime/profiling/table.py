"""Runs of kernels, what they come to for each kernel, and that as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.errors import BadArgument
from hidet.runtime.cores import cores
from hidet.runtime.plans.kernel_note import KernelNote
from hidet.target import Target


@dataclass(frozen=True)
class Run:
    """One run of a kernel, or of a region of the framework's, of which no `note` is known.

    `start` counts in seconds from some moment; `seconds` is None in the simulator. `nbytes` is what
    it reads and writes, each buffer once.
    """

    name: str
    device: str
    start: float
    seconds: float | None
    nbytes: int = 0
    flops: int = 0
    note: KernelNote | None = None
    target: Target | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The source locations of its operators, where these are known."""
        return () if self.note is None else self.note.places

    @property
    def least(self) -> float:
        """The seconds that a roofline of the target's published rates allows at least."""
        if self.target is None:
            return 0.0
        dtype = "float32" if self.note is None else self.note.dtype
        return max(
            self.nbytes / self.target.memory_bandwidth, self.flops / rate(self.target, dtype)
        )


@dataclass(frozen=True)
class Kernel:
    """All runs of a kernel: their number, and sums of microseconds, bytes and operations.

    `roofline` is the part of the target's published rates that they reach, of bandwidth or of
    arithmetic, whichever is the limit; None where no time is known.
    """

    name: str
    runs: int
    microseconds: float | None
    nbytes: int
    flops: int
    roofline: float | None
    operators: tuple[str, ...]
    schedule: str
    places: tuple[str, ...]


def rate(target: Target, dtype: str) -> float:
    """Operations per second of a device, by matrix units where it has some for the type; of a CPU
    those of the cores that this process may use."""
    for name, units in ((dtype, True), (dtype, False), ("float32", False)):
        try:
            found = target.peak_flops(name, units)
        except BadArgument:
            continue
        return found * cores() / target.cores if target.kind == "cpu" else found
    raise BadArgument(f"{target} has no rate for float32")


def kernels(runs: Sequence[Run]) -> list[Kernel]:
    """What all runs of each kernel come to, the slowest first."""
    found: dict[tuple[str, tuple[str, ...]], list[Run]] = {}
    for each in runs:
        found.setdefault((each.name, each.places), []).append(each)
    return sorted(map(together, found.values()), key=lambda each: -(each.microseconds or 0.0))


def together(runs: Sequence[Run]) -> Kernel:
    """The sum of a kernel's runs."""
    note = runs[0].note
    times = [each.seconds for each in runs if each.seconds is not None]
    seconds = sum(times) if times else None
    least = sum(each.least for each in runs)
    return Kernel(
        runs[0].name,
        len(runs),
        None if seconds is None else seconds * 1e6,
        sum(each.nbytes for each in runs),
        sum(each.flops for each in runs),
        least / seconds if seconds and least else None,
        () if note is None else note.operators,
        "the framework" if note is None else note.schedule,
        runs[0].places,
    )


HEAD = ("us", "share", "runs", "MB", "MFLOP", "roofline", "kernel", "schedule", "where")


def table(found: Sequence[Kernel]) -> str:
    """The kernels as a table; roofline is the part of the target's published rates."""
    total = sum(each.microseconds or 0.0 for each in found)
    rows = [HEAD, *(row(each, total) for each in found)]
    wide = [max(len(line[column]) for line in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if column < 6 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, wide, strict=True))
        ).rstrip()
        for line in rows
    ]
    runs = sum(each.runs for each in found)
    count = len(found)
    of = f"{runs} run{'s' * (runs != 1)} of {count} kernel{'s' * (count != 1)}"
    return "\n".join([*lines, f"{total:.1f} us in {of}"])


def row(each: Kernel, total: float) -> tuple[str, ...]:
    """A kernel as cells."""
    time = each.microseconds
    more = f" and {len(each.places) - 1} more" if len(each.places) > 1 else ""
    return (
        "" if time is None else f"{time:.1f}",
        "" if time is None else f"{time / max(total, 1e-9):.0%}",
        str(each.runs),
        f"{each.nbytes / 1e6:.3g}",
        f"{each.flops / 1e6:.3g}",
        "" if each.roofline is None else f"{each.roofline:.0%}",
        each.name,
        each.schedule,
        each.places[0] + more if each.places else "",
    )
