"""The instructions of a CUDA source, as NVRTC makes them, and what they take."""

from __future__ import annotations

from dataclasses import dataclass
from struct import iter_unpack, unpack_from

from ci.same_code.problems import TARGET
from hidet.toolchain.nvrtc import ResourceUsage, compile_cuda

SECTION = "<IIQQQQIIQQ"
"""A section's header. ELF-64: name, type, flags, address, offset, size, link, info, alignment,
entry size."""
TABLE, COUNT = 0x28, 0x3C
"""Where an ELF file says where its section headers lie, and how many there are."""


@dataclass(frozen=True)
class MachineCode:
    """The bytes of all functions' instructions, by name, and the resources of each."""

    instructions: dict[str, bytes]
    usage: dict[str, ResourceUsage]

    def __str__(self) -> str:
        sizes = {name.removeprefix(".text."): len(code) for name, code in self.instructions.items()}
        return ", ".join(
            f"{name}: {sizes.get(name, 0)} bytes, {each.registers} registers,"
            f" {each.spill_bytes} spilled"
            for name, each in self.usage.items()
        )


def machine_code(source: str) -> MachineCode:
    """What NVRTC makes of a source for the target of the cases."""
    made = compile_cuda(source, arch=str(TARGET))
    return MachineCode(instructions_of(made.cubin), made.usage)


def instructions_of(cubin: bytes) -> dict[str, bytes]:
    """The sections of a cubin that hold instructions."""
    (table,), (count, names) = unpack_from("<Q", cubin, TABLE), unpack_from("<HH", cubin, COUNT)
    headers = list(iter_unpack(SECTION, cubin[table : table + 64 * count]))
    texts = headers[names][4]
    found = {}
    for name, _, _, _, offset, size, *_ in headers:
        start = texts + name
        spelled = cubin[start : cubin.index(b"\0", start)].decode()
        if spelled.startswith(".text."):
            found[spelled] = cubin[offset : offset + size]
    return found
