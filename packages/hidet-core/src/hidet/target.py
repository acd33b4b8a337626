"""What code is compiled for: a kind of device, its instructions and its limits, as data.

Nothing here probes a device: the runtime does, and refines a target by `dataclasses.replace`.
Limits are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute
Capability"); rates and sizes are the published ones of one typical product of each capability,
dense, and serve the cost model only.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from hidet.errors import BadArgument

KIB = 1024
MIB = 1024 * KIB
TERA = 10**12
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
    """Operations per second of the ordinary units of all cores, by element type."""
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
        extras = [f for f in CPU_FEATURES if f in self.features]
        return "+".join(["cpu", *([] if self.arch == "generic" else [self.arch]), *extras])

    @property
    def sm_count(self) -> int:
        """Multiprocessors of the device; the same as `cores`."""
        return self.cores

    @property
    def isa(self) -> str:
        """The CPU's vector ISA; the same as `arch`."""
        return self.arch

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


@dataclass(frozen=True)
class _Gpu:
    """One row of the table: rates in TFLOP/s, `bandwidth` in GB/s, cache in MiB, shared in KiB."""

    cores: int
    threads: int
    blocks: int
    shared: int
    l1: int
    l2: int
    bandwidth: int
    float32: float
    float64: float
    float16: float
    tensor: dict[str, float]
    """By type; bfloat16 is as float16 and both float8 types are as `float8`."""


_GPUS = {
    (8, 0): _Gpu(  # A100 SXM 80 GB
        108, 2048, 32, 164, 192, 40, 2039, 19.5, 9.7, 78.0,
        {"float16": 312, "tfloat32": 156, "float64": 19.5, "int8": 624},
    ),
    (8, 6): _Gpu(  # GeForce RTX 3090
        82, 1536, 16, 100, 128, 6, 936, 35.6, 0.56, 35.6,
        {"float16": 71, "tfloat32": 35.6, "int8": 284},
    ),
    (8, 7): _Gpu(  # Jetson AGX Orin 64 GB
        16, 1536, 16, 164, 192, 4, 205, 5.3, 0.083, 10.6,
        {"float16": 42.5, "tfloat32": 21.2, "int8": 85},
    ),
    (8, 9): _Gpu(  # GeForce RTX 4090
        128, 1536, 24, 100, 128, 72, 1008, 82.6, 1.3, 82.6,
        {"float16": 165.2, "tfloat32": 82.6, "float8": 330.3, "int8": 660.6},
    ),
    (9, 0): _Gpu(  # H200 SXM
        132, 2048, 32, 228, 256, 60, 4800, 66.9, 33.5, 133.8,
        {"float16": 989.4, "tfloat32": 494.7, "float64": 66.9, "float8": 1978.9, "int8": 1978.9},
    ),
    (10, 0): _Gpu(  # B200
        148, 2048, 32, 228, 256, 126, 8000, 75.0, 37.0, 150.0,
        {"float16": 2250, "tfloat32": 1125, "float64": 37, "float8": 4500, "int8": 4500},
    ),
    (12, 0): _Gpu(  # GeForce RTX 5090
        170, 1536, 24, 100, 128, 96, 1792, 104.8, 1.64, 104.8,
        {"float16": 209.5, "tfloat32": 104.8, "float8": 419, "int8": 838},
    ),
}  # fmt: skip

MOST_SHARED_BYTES = max(row.shared - 1 for row in _GPUS.values()) * KIB
"""The shared memory that a block may have on the GPU that has most, in bytes."""

_SINCE = {
    "cp_async": (8, 0), "mma_f16": (8, 0), "mma_tf32": (8, 0), "mma_int8": (8, 0), "bf16": (8, 0),
    "ldmatrix": (8, 0), "fp8": (8, 9), "tma": (9, 0), "mbarrier_tx": (9, 0), "cluster": (9, 0),
    "stmatrix": (9, 0), "programmatic_launch": (9, 0),
}  # fmt: skip
_SPECIFIC = {(9, 0): ("wgmma", "setmaxnreg"), (10, 0): ("tcgen05", "setmaxnreg"),
             (12, 0): ("setmaxnreg",)}  # fmt: skip
"""Instructions that only the `a` variant of one capability has."""

CPU_ISAS = ("generic", "avx2", "avx512")
CPU_FEATURES = ("vnni", "bf16", "amx")
KNOWN_FEATURES = (
    *_SINCE, "wgmma", "setmaxnreg", "tcgen05", "avx2", "avx512", "vnni", "amx", "fma",
)  # fmt: skip

_CPU_CORES = 8
_CPU_HERTZ = 3e9
_FMA_PORTS = 2
_ORDINARY_INTEGERS = ("int16", "uint16", "int32", "uint32", "int8", "uint8", "bool")


def _cuda(capability: tuple[int, int], specific: bool, text: str) -> Target:
    row = _GPUS.get(capability)
    if row is None or (specific and capability not in _SPECIFIC):
        _refuse(text)
    features = [name for name, since in _SINCE.items() if capability >= since]
    features += _SPECIFIC[capability] if specific else ()
    tensor = dict(row.tensor)
    tensor["bfloat16"], tensor["uint8"] = tensor["float16"], tensor["int8"]
    if "float8" in tensor:
        tensor["float8_e4m3"] = tensor["float8_e5m2"] = tensor.pop("float8")
    rates = {"float64": row.float64, "float32": row.float32, "tfloat32": row.float32}
    rates |= {"float16": row.float16, "bfloat16": row.float16}
    # Half as many integer as float units; 64 bits take several of their operations.
    rates |= dict.fromkeys(_ORDINARY_INTEGERS, row.float32 / 2)
    rates |= dict.fromkeys(("int64", "uint64"), row.float32 / 8)
    # float8 has conversions only: arithmetic happens in float16.
    rates |= dict.fromkeys(("float8_e4m3", "float8_e5m2"), row.float16)
    return Target(
        kind="cuda",
        arch=f"sm_{capability[0]}{capability[1]}{'a' if specific else ''}",
        features=tuple(features),
        capability=capability,
        cores=row.cores,
        warp_size=32,
        max_threads_per_block=1024,
        max_threads_per_sm=row.threads,
        max_blocks_per_sm=row.blocks,
        max_shared_bytes_per_block=(row.shared - 1) * KIB,
        shared_bytes_per_sm=row.shared * KIB,
        registers_per_sm=64 * KIB,
        max_registers_per_thread=255,
        vector_bytes=16,
        l1_bytes=row.l1 * KIB,
        l2_bytes=row.l2 * MIB,
        l3_bytes=0,
        memory_bandwidth=row.bandwidth * 1e9,
        rates=tuple((name, rate * TERA) for name, rate in rates.items()),
        tensor_rates=tuple((name, rate * TERA) for name, rate in tensor.items()),
    )


def _cpu(extras: list[str], text: str) -> Target:
    isas = [name for name in extras if name in CPU_ISAS]
    known = (*CPU_ISAS, *CPU_FEATURES)
    if len(isas) > 1 or len(set(extras)) < len(extras) or any(e not in known for e in extras):
        _refuse(text)
    isa = isas[0] if isas else "generic"
    chosen = [name for name in CPU_FEATURES if name in extras]
    if chosen and isa != "avx512":
        raise BadArgument(
            f"target {text!r} has {', '.join(chosen)} without avx512",
            help=f"write cpu+avx512+{'+'.join(chosen)}",
        )
    vector = {"generic": 16, "avx2": 32, "avx512": 64}[isa]
    registers = 32 if isa == "avx512" else 16
    inherited = {"generic": (), "avx2": ("avx2", "fma"), "avx512": ("avx2", "fma", "avx512")}[isa]
    return Target(
        kind="cpu",
        arch=isa,
        features=(*inherited, *chosen),
        capability=None,
        cores=_CPU_CORES,
        warp_size=1,
        max_threads_per_block=1,
        max_threads_per_sm=1,
        max_blocks_per_sm=1,
        max_shared_bytes_per_block=0,
        shared_bytes_per_sm=0,
        registers_per_sm=registers,
        max_registers_per_thread=registers,
        vector_bytes=vector,
        l1_bytes=32 * KIB,
        l2_bytes=MIB,
        l3_bytes=32 * MIB,
        memory_bandwidth=40e9,
        rates=tuple(_cpu_rates(vector, isa, chosen).items()),
        tensor_rates=_amx_rates() if "amx" in chosen else (),
    )


def _cpu_rates(vector: int, isa: str, chosen: list[str]) -> dict[str, float]:
    """Operations per second: a multiply-add on each lane of each port, where there is one."""
    operations = 1 if isa == "generic" else 2
    lanes = _CPU_CORES * _CPU_HERTZ * _FMA_PORTS * vector
    rates = {"float64": lanes / 8 * operations, "float32": lanes / 4 * operations}
    # Narrow floats are computed as float32, unless there is a dot product for them.
    rates |= {name: rates["float32"] for name in ("tfloat32", "float16", "float8_e4m3")}
    rates |= {"float8_e5m2": rates["float32"]}
    rates |= {"bfloat16": rates["float32"] * (2 if "bf16" in chosen else 1)}
    rates |= {"int64": lanes / 8, "uint64": lanes / 8, "int32": lanes / 4, "uint32": lanes / 4}
    rates |= {"int16": lanes / 2, "uint16": lanes / 2, "bool": lanes}
    byte = lanes * 2 if "vnni" in chosen else lanes
    return rates | {"int8": byte, "uint8": byte}


def _amx_rates() -> tuple[tuple[str, float], ...]:
    """A 16×16 tile of sums over 64 bytes, every 16 cycles on each core."""
    cycles = _CPU_CORES * _CPU_HERTZ / 16
    byte = cycles * 2 * 16 * 16 * 64
    return (("bfloat16", byte / 2), ("int8", byte), ("uint8", byte))


def _refuse(text: str) -> NoReturn:
    names = [f"sm_{major}{minor}" for major, minor in _GPUS]
    names += [f"sm_{major}{minor}a" for major, minor in _SPECIFIC]
    raise BadArgument(
        f"unknown target {text!r}",
        help=f"known: {', '.join(names)}, cpu, cpu+avx2, cpu+avx512, sim; "
        f"avx512 may have +{', +'.join(CPU_FEATURES)}",
    )
