"""GPUs as published, by compute capability: limits, instructions and rates.

Limits are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute
Capability"); rates and sizes are those of one typical product of each capability, dense, and serve
the cost model only.
"""

from dataclasses import dataclass
from typing import TypeAlias

from hidet.types.narrow import NARROW

Capability: TypeAlias = tuple[int, int]
WARP = 32
"""Threads that execute together, on every GPU."""
WARPGROUP = 4 * WARP
"""Threads of four warps in a row, which multiply together. PTX ISA: wgmma."""
ACCESS_BYTES = 16
"""The widest access of a thread."""
MAX_THREADS = 1024
"""Threads that a block has at most."""
MAX_CLUSTER = 8
"""Blocks that a cluster has at most on every GPU that has clusters. CUDA C++ Programming Guide,
"Thread Block Clusters"."""
PAIR = 2
"""Blocks of the largest cluster that finds a place wherever there is one for each of them:
multiprocessors come in pairs, of which larger clusters leave some over."""
KIB = 1024
MIB = 1024 * KIB
TERA = 10**12


@dataclass(frozen=True)
class Gpu:
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

    def rates(self) -> dict[str, float]:
        """Operations per second of the CUDA cores, by element type."""
        rates = {"float64": self.float64, "float32": self.float32, "tfloat32": self.float32}
        rates |= {"float16": self.float16, "bfloat16": self.float16}
        # Half as many integer as float units; 64 bits take several of their operations.
        rates |= dict.fromkeys(ORDINARY_INTEGERS, self.float32 / 2)
        rates |= dict.fromkeys(("int64", "uint64"), self.float32 / 8)
        # Narrow types are computed in float32 and int32; two are converted by way of float16.
        rates |= {of.name: self.float32 / (2 if of.is_integer else 1) for of in NARROW}
        rates |= dict.fromkeys(("float8_e4m3", "float8_e5m2"), self.float16)
        return {name: rate * TERA for name, rate in rates.items()}

    def tensor_rates(self) -> dict[str, float]:
        """The same of the matrix units; types without one are absent."""
        rates = dict(self.tensor)
        rates["bfloat16"], rates["uint8"] = rates["float16"], rates["int8"]
        if "float8" in rates:
            rates["float8_e4m3"] = rates["float8_e5m2"] = rates.pop("float8")
        return {name: rate * TERA for name, rate in rates.items()}


GPUS: dict[Capability, Gpu] = {
    (8, 0): Gpu(  # A100 SXM 80 GB
        108, 2048, 32, 164, 192, 40, 2039, 19.5, 9.7, 78.0,
        {"float16": 312, "tfloat32": 156, "float64": 19.5, "int8": 624},
    ),
    (8, 6): Gpu(  # GeForce RTX 3090
        82, 1536, 16, 100, 128, 6, 936, 35.6, 0.56, 35.6,
        {"float16": 71, "tfloat32": 35.6, "int8": 284},
    ),
    (8, 7): Gpu(  # Jetson AGX Orin 64 GB
        16, 1536, 16, 164, 192, 4, 205, 5.3, 0.083, 10.6,
        {"float16": 42.5, "tfloat32": 21.2, "int8": 85},
    ),
    (8, 9): Gpu(  # GeForce RTX 4090
        128, 1536, 24, 100, 128, 72, 1008, 82.6, 1.3, 82.6,
        {"float16": 165.2, "tfloat32": 82.6, "float8": 330.3, "int8": 660.6},
    ),
    (9, 0): Gpu(  # H200 SXM
        132, 2048, 32, 228, 256, 60, 4800, 66.9, 33.5, 133.8,
        {"float16": 989.4, "tfloat32": 494.7, "float64": 66.9, "float8": 1978.9, "int8": 1978.9},
    ),
    (10, 0): Gpu(  # B200
        148, 2048, 32, 228, 256, 126, 8000, 75.0, 37.0, 150.0,
        {"float16": 2250, "tfloat32": 1125, "float64": 37, "float8": 4500, "int8": 4500},
    ),
    (12, 0): Gpu(  # GeForce RTX 5090
        170, 1536, 24, 100, 128, 96, 1792, 104.8, 1.64, 104.8,
        {"float16": 209.5, "tfloat32": 104.8, "float8": 419, "int8": 838},
    ),
}  # fmt: skip

ORDINARY_INTEGERS = ("int16", "uint16", "int32", "uint32", "int8", "uint8", "bool")
MOST_SHARED_BYTES = max(row.shared - 1 for row in GPUS.values()) * KIB
"""The shared memory that a block may have on the GPU that has most, in bytes."""

SINCE: dict[str, Capability] = {
    "cp_async": (8, 0), "mma_f16": (8, 0), "mma_tf32": (8, 0), "mma_int8": (8, 0), "bf16": (8, 0),
    "ldmatrix": (8, 0), "fp8": (8, 9), "tma": (9, 0), "mbarrier_tx": (9, 0), "cluster": (9, 0),
    "stmatrix": (9, 0), "programmatic_launch": (9, 0),
}  # fmt: skip
"""The first capability that has a feature."""
SPECIFIC: dict[Capability, tuple[str, ...]] = {
    (9, 0): ("wgmma", "setmaxnreg"),
    (10, 0): ("tcgen05", "setmaxnreg"),
    (12, 0): ("setmaxnreg",),
}
"""Instructions that only the `a` variant of one capability has."""


def features(capability: Capability, specific: bool) -> tuple[str, ...]:
    """What a capability has, and its `a` variant if that is meant."""
    common = (name for name, since in SINCE.items() if capability >= since)
    return (*common, *(SPECIFIC[capability] if specific else ()))
