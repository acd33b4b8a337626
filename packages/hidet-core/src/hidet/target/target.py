"""What code is compiled for: a kind of device, its instructions and its limits, as data.

Nothing here probes a device: the runtime does, and refines a target by `dataclasses.replace`.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from hidet.errors import BadArgument
from hidet.target import cpus
from hidet.target.gpus import (
    ACCESS_BYTES,
    GPUS,
    KIB,
    MAX_CLUSTER,
    MAX_THREADS,
    MIB,
    SINCE,
    SPECIFIC,
    WARP,
    Capability,
    features,
)
from hidet.target.measured import Measured, measured_of

SIMULATED = "sm_90a"
"""The device that the target `sim` simulates."""


@dataclass(frozen=True)
class Target:
    """A device to compile for. Where a limit has no meaning on a CPU its neutral value stands.

    `str(target)` is the text that `Target.parse` reads; fields refined by a probe are not in it.
    """

    kind: Literal["cuda", "cpu"]
    """Which code generator and runtime serve it."""
    arch: str
    """`sm_90a` as the CUDA compilers spell it; on a CPU the vector ISA: `generic`, `avx2`, ..."""
    features: tuple[str, ...]
    """What `has_feature` affirms, in canonical order."""
    capability: tuple[int, int] | None
    """The compute capability; `None` on a CPU."""
    cores: int
    """Multiprocessors, or CPU cores."""
    warp_size: int
    """Threads that execute together; 1 on a CPU."""
    max_threads_per_block: int
    """1 on a CPU, where a block is one core's piece of work."""
    max_blocks_per_cluster: int
    """Blocks that every such device can put into one cluster; 1 where there are no clusters."""
    max_threads_per_sm: int
    """Threads resident on a core at once."""
    max_blocks_per_sm: int
    """Blocks resident on a core at once."""
    max_shared_bytes_per_block: int
    """With the opt-in that raises the limit from 48 KiB; 0 on a CPU."""
    shared_bytes_per_sm: int
    """Shared memory of all blocks resident on a multiprocessor; 0 on a CPU."""
    registers_per_sm: int
    """32-bit registers, or vector registers on a CPU."""
    max_registers_per_thread: int
    """32-bit registers, or vector registers on a CPU."""
    vector_bytes: int
    """The widest single access of a thread."""
    l1_bytes: int
    """First-level cache of one core; on a GPU, cache and shared memory together."""
    l2_bytes: int
    """The GPU's L2, or one CPU core's."""
    l3_bytes: int
    """The CPU's last-level cache; 0 on a GPU."""
    memory_bandwidth: float
    """Bytes per second, as published."""
    rates: tuple[tuple[str, float], ...]
    """Operations per second of all cores, tensor cores apart, by element type."""
    tensor_rates: tuple[tuple[str, float], ...]
    """The same for the matrix units; types without one are absent."""
    simulated: bool = False
    """Whether the simulator runs the code, on memory of the host, in place of such a device."""

    @staticmethod
    def parse(text: str) -> "Target":
        """The target spelled `sm_90a`, `cpu`, `cpu+avx512` or `cpu+avx512+vnni`.

        `sim` is an `sm_90a` that is simulated, `sim+sm_80` another device.
        """
        name, *extras = text.strip().lower().split("+")
        if name == "sim":
            device = Target.parse("+".join(extras) if extras else SIMULATED)
            if device.kind != "cuda":
                _refuse(text)
            return replace(device, simulated=True)
        if name == "cpu":
            return _cpu(extras, text)
        found = re.fullmatch(r"sm_(\d+)(\d)(a?)", name)
        if found is None or extras:
            _refuse(text)
        return _cuda((int(found[1]), int(found[2])), bool(found[3]), text)

    @staticmethod
    def for_capability(major: int, minor: int) -> "Target":
        """What a device of this compute capability is compiled as: 9.0 as `sm_90a`."""
        return _cuda((major, minor), major >= 9, f"sm_{major}{minor}")

    def __str__(self) -> str:
        if self.simulated:
            return "sim" if self.arch == SIMULATED else f"sim+{self.arch}"
        if self.kind == "cuda":
            return self.arch
        extras = [f for f in cpus.FEATURES if f in self.features]
        return "+".join(["cpu", *([] if self.arch == "generic" else [self.arch]), *extras])

    @property
    def measured(self) -> Measured:
        """What was measured of such a GPU, or follows from what is published of it."""
        return measured_of(self.capability)

    def has_feature(self, name: str) -> bool:
        """Whether the target has `name`; `BadArgument` for a name that no target has."""
        if name not in KNOWN_FEATURES:
            raise BadArgument(
                f"no target has a feature {name!r}", help=f"known: {', '.join(KNOWN_FEATURES)}"
            )
        return name in self.features

    def peak_flops(self, dtype: str, tensor_core: bool = False) -> float:
        """Operations per second of the whole device on `dtype` (a full name such as `float16`)."""
        table = dict(self.tensor_rates if tensor_core else self.rates)
        if dtype not in table:
            units = "matrix units" if tensor_core else "arithmetic"
            raise BadArgument(
                f"{self} has no {units} for {dtype}", help=f"it has {', '.join(table) or 'none'}"
            )
        return table[dtype]

    def runs_on(self, capability: Capability) -> bool:
        """Whether a GPU of this compute capability runs code for the target: that of an `a` variant
        only its own, other code later ones of the same major version too."""
        own = self.capability
        if own is None or self.arch.endswith("a"):
            return capability == own
        return capability[0] == own[0] and capability >= own

    def resident_blocks(self, threads: int, shared_bytes: int = 0, registers: int = 0) -> int:
        """How many such blocks one core holds at once; 0 where not even one fits.

        `registers` is per thread; `shared_bytes` per block, without the driver's reserved KiB.
        """
        if self.kind == "cpu":
            return 1
        too_much = (
            threads > self.max_threads_per_block
            or shared_bytes > self.max_shared_bytes_per_block
            or registers > self.max_registers_per_thread
        )
        if too_much:
            return 0
        warps = -(-max(threads, 1) // self.warp_size)
        blocks = min(self.max_blocks_per_sm, self.max_threads_per_sm // (warps * self.warp_size))
        if shared_bytes:
            blocks = min(blocks, self.shared_bytes_per_sm // (shared_bytes + KIB))
        if registers:
            # Registers are handed out to warps in pieces of 256.
            blocks = min(
                blocks, self.registers_per_sm // (-(-registers * 32 // 256) * 256) // warps
            )
        return blocks

    def cores_in_clusters(self, blocks: int) -> int:
        """How many cores clusters of so many blocks fill, one block on each, with as many clusters
        as there is room for; all of them, for sizes that were not measured."""
        held = self.measured.clusters.get(blocks)
        if held is None:
            return self.cores
        return held * blocks * self.cores // self.measured.cores


KNOWN_FEATURES = (
    *SINCE, "wgmma", "setmaxnreg", "tcgen05", "avx2", "avx512", "vnni", "amx", "fma",
)  # fmt: skip


def _cuda(capability: tuple[int, int], specific: bool, text: str) -> Target:
    row = GPUS.get(capability)
    if row is None or (specific and capability not in SPECIFIC):
        _refuse(text)
    return Target(
        kind="cuda",
        arch=f"sm_{capability[0]}{capability[1]}{'a' if specific else ''}",
        features=features(capability, specific),
        capability=capability,
        cores=row.cores,
        warp_size=WARP,
        max_threads_per_block=MAX_THREADS,
        max_blocks_per_cluster=MAX_CLUSTER if capability >= SINCE["cluster"] else 1,
        max_threads_per_sm=row.threads,
        max_blocks_per_sm=row.blocks,
        max_shared_bytes_per_block=(row.shared - 1) * KIB,
        shared_bytes_per_sm=row.shared * KIB,
        registers_per_sm=64 * KIB,
        max_registers_per_thread=255,
        vector_bytes=ACCESS_BYTES,
        l1_bytes=row.l1 * KIB,
        l2_bytes=row.l2 * MIB,
        l3_bytes=0,
        memory_bandwidth=row.bandwidth * 1e9,
        rates=tuple(row.rates().items()),
        tensor_rates=tuple(row.tensor_rates().items()),
    )


def _cpu(extras: list[str], text: str) -> Target:
    isas = [name for name in extras if name in cpus.ISAS]
    known = (*cpus.ISAS, *cpus.FEATURES)
    if len(isas) > 1 or len(set(extras)) < len(extras) or any(e not in known for e in extras):
        _refuse(text)
    isa = isas[0] if isas else "generic"
    chosen = [name for name in cpus.FEATURES if name in extras]
    if chosen and isa != "avx512":
        raise BadArgument(
            f"target {text!r} has {', '.join(chosen)} without avx512",
            help=f"write cpu+avx512+{'+'.join(chosen)}",
        )
    return Target(
        kind="cpu",
        arch=isa,
        features=(*cpus.INHERITED[isa], *chosen),
        capability=None,
        cores=cpus.CORES,
        warp_size=1,
        max_threads_per_block=1,
        max_blocks_per_cluster=1,
        max_threads_per_sm=1,
        max_blocks_per_sm=1,
        max_shared_bytes_per_block=0,
        shared_bytes_per_sm=0,
        registers_per_sm=cpus.REGISTERS[isa],
        max_registers_per_thread=cpus.REGISTERS[isa],
        vector_bytes=cpus.VECTOR_BYTES[isa],
        l1_bytes=32 * KIB,
        l2_bytes=MIB,
        l3_bytes=32 * MIB,
        memory_bandwidth=40e9,
        rates=tuple(cpus.rates(isa, chosen).items()),
        tensor_rates=tuple(cpus.matrix_rates(chosen).items()),
    )


def _refuse(text: str) -> NoReturn:
    names = [f"sm_{major}{minor}" for major, minor in GPUS]
    names += [f"sm_{major}{minor}a" for major, minor in SPECIFIC]
    raise BadArgument(
        f"unknown target {text!r}",
        help=f"known: {', '.join(names)}, cpu, cpu+avx2, cpu+avx512, sim; "
        f"avx512 may have +{', +'.join(cpus.FEATURES)}",
    )
