"""CPUs by instruction set: a typical machine of eight cores, for the cost model."""

from hidet.types.narrow import NARROW

ISAS = ("generic", "avx2", "avx512")
FEATURES = ("vnni", "bf16", "amx")
"""What a CPU with AVX-512 may have beside it: `vpdpbusd`, `vdpbf16ps`, and tiles, which generated
code does not use yet."""
INHERITED = {"generic": (), "avx2": ("avx2", "fma"), "avx512": ("avx2", "fma", "avx512")}
VECTOR_BYTES = {"generic": 16, "avx2": 32, "avx512": 64}
REGISTERS = {"generic": 16, "avx2": 16, "avx512": 32}
"""Vector registers."""

CORES = 8
"""What estimates count, however many cores the machine has and the process may use of them: the
same graph has the same kernels, and sums in the same order, on every machine, and a file is as good
where it is run as where it was made. Counting 1 or 2 instead gains 0 to 3 % on one thread
(`benchmarks/results/cpu-networks.md`)."""
HERTZ = 3e9
FMA_PORTS = 2


def rates(isa: str, chosen: list[str]) -> dict[str, float]:
    """Operations per second: a multiply-add on each lane of each port, where there is one."""
    operations = 1 if isa == "generic" else 2
    lanes = CORES * HERTZ * FMA_PORTS * VECTOR_BYTES[isa]
    rates = {"float64": lanes / 8 * operations, "float32": lanes / 4 * operations}
    # Narrow floats are computed as float32, unless there is a dot product for them.
    rates |= {name: rates["float32"] for name in ("tfloat32", "float16")}
    rates |= {each.name: rates["float32"] for each in NARROW if each.is_float}
    rates |= {"bfloat16": rates["float32"] * (2 if "bf16" in chosen else 1)}
    rates |= {"int64": lanes / 8, "uint64": lanes / 8, "int32": lanes / 4, "uint32": lanes / 4}
    rates |= {each.name: lanes / 4 for each in NARROW if each.is_integer}
    rates |= {"int16": lanes / 2, "uint16": lanes / 2, "bool": lanes}
    byte = lanes * 2 if "vnni" in chosen else lanes
    return rates | {"int8": byte, "uint8": byte}


def matrix_rates(chosen: list[str]) -> dict[str, float]:
    """The same of AMX, if there: a 16×16 tile of sums over 64 bytes, every 16 cycles, each core."""
    if "amx" not in chosen:
        return {}
    byte = CORES * HERTZ / 16 * 2 * 16 * 16 * 64
    return {"bfloat16": byte / 2, "int8": byte, "uint8": byte}
