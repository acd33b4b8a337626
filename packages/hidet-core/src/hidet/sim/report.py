"""What one simulated launch did, counted; `str(report)` is a table to read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hidet.errors import Place


@dataclass
class Access:
    """One load, store or atomic of a kernel: how often warps executed it, and what it cost."""

    kernel: str
    place: Place | None
    verb: str
    scope: str
    name: str
    """The tensor."""
    warps: int = 0
    """Executions by a warp."""
    threads: int = 0
    nbytes: int = 0
    """Bytes that the threads asked for."""
    served: int = 0
    """Global memory: sectors of 32 bytes. Shared memory: wavefronts that the banks took."""
    least: int = 0
    """The fewest sectors, or wavefronts, that so many bytes and threads need."""

    @property
    def sectors(self) -> int:
        """Sectors of global memory that the warps touched; 0 for shared memory."""
        return self.served if self.scope == "global" else 0

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the fewest, because lanes wanted different words of one bank."""
        return self.served - self.least if self.scope == "shared" else 0


@dataclass
class Report:
    """Counts over all threads of all kernels launched, and what the kernels printed."""

    executed: Counter[str] = field(default_factory=Counter)
    """Threads that did each kind of thing: `load global`, `store shared`, `syncthreads`, ..."""
    barriers: int = 0
    """Block-wide barriers passed, summed over blocks."""
    shared_bytes: int = 0
    """The most shared memory that one block of any kernel held, in bytes."""
    registers: dict[str, int] = field(default_factory=dict)
    """For each kernel, an estimate of the 32-bit registers that a thread needs."""
    printed: list[str] = field(default_factory=list)
    """The lines of `Print` statements, in order of execution."""
    measures: bool = True
    """Whether accesses are counted one by one."""
    seen: dict[Any, Access] = field(default_factory=dict, repr=False)
    patterns: dict[Any, tuple[int, int]] = field(default_factory=dict, repr=False)
    """What patterns of addresses cost: see `hidet.sim.memories.traffic`."""

    def access(self, kernel: str, site: int, place: Place | None, verb: str, buffer: Any) -> Access:
        """The counts of one access in the kernel, by its statement and its tensor."""
        key = kernel, site, verb, buffer.name
        found = self.seen.get(key)
        if found is None:
            found = Access(kernel, place, verb, str(buffer.scope), buffer.name)
            self.seen[key] = found
        return found

    @property
    def accesses(self) -> list[Access]:
        """Every load, store and atomic of global and shared memory, in order of first execution."""
        return list(self.seen.values())

    @property
    def sectors(self) -> int:
        """Sectors of 32 bytes of global memory that all warps touched, each access on its own."""
        return sum(each.sectors for each in self.accesses)

    @property
    def conflicts(self) -> int:
        """Wavefronts that shared memory took beyond the fewest."""
        return sum(each.conflicts for each in self.accesses)

    def __str__(self) -> str:
        lines = [
            f"{self.barriers} barriers of a block, {self.shared_bytes} bytes of shared memory"
            + "".join(f", {name}: about {n} registers" for name, n in self.registers.items())
        ]
        lines += [f"{count:>12,} {what}" for what, count in sorted(self.executed.items())]
        rows = [row(each) for each in self.accesses]
        if rows:
            rows.insert(0, ("access", "line", "warps", "bytes", "sectors", "conflicts"))
            widths = [max(len(r[i]) for r in rows) for i in range(6)]
            lines += [
                "  ".join(
                    text.ljust(width) if i < 2 else text.rjust(width)
                    for i, (text, width) in enumerate(zip(r, widths, strict=True))
                ).rstrip()
                for r in rows
            ]
        return "\n".join(lines)


def row(access: Access) -> tuple[str, ...]:
    """An access as a line of the table; what does not apply to its memory is a dash."""
    at = access.place
    line = f"{Path(at.file).name}:{at.line}" if at is not None else "-"
    shared = access.scope == "shared"
    sectors = "-" if shared else f"{access.sectors:,} of {access.least:,}"
    return (
        f"{access.verb} {access.scope} {access.name}",
        line,
        f"{access.warps:,}",
        f"{access.nbytes:,}",
        sectors,
        f"{access.conflicts:,}" if shared else "-",
    )
