"""Measured constants of GPUs, which the cost model needs and no data sheet has.

A GPU that was measured has a row in `MEASURED`. Until then the H200's row stands for it, except for
constants that follow from published rates. Nothing here changes what a kernel computes, only which
of several kernels is chosen.
"""

from dataclasses import dataclass, replace
from functools import cache

from hidet.target.gpus import GPUS, Capability


@dataclass(frozen=True)
class WgmmaCycles:
    """Matmuls and convolutions by `wgmma`, in cycles of a multiprocessor."""

    rate: float
    """Operations on 16-bit elements per cycle, as published."""
    shared_bandwidth: float
    """Bytes per cycle into or out of shared memory, as published."""
    contention: float
    """The slowdown of multiplying while all multiprocessors multiply."""
    copied_row: float
    """Cycles of the copy engine for a row of a box, of at most 128 bytes."""
    partial_row: float
    """The slowdown of a row that the tensor fills only in part."""
    unaligned_row: float
    """The slowdown of rows of a matrix that do not begin at multiples of 128 bytes: each lies
    in two lines of the L2 cache."""
    epilogue_exclusive: float
    """Cycles of writing 64 by 64 elements in which other warpgroups of the multiprocessor wait."""
    mma_latency: float
    """Cycles in which a warpgroup issues the four dependent instructions of an iteration."""
    copy_latency: float
    """Cycles from starting a copy from memory to its arrival; all stages of a pipeline hide it
    together. For weights that no cache holds."""
    split_k_contention: float
    """The slowdown of copies where the blocks of a cluster read different parts of k, while
    all multiprocessors do."""
    partial_byte: float
    """Cycles for each byte of a tile's accumulators, for each doubling of the cluster."""
    statistics: float
    """Cycles that a residual and row statistics take longer in a block that has whole
    accumulators than in the blocks of a cluster, which share the tile."""
    staged_vector: float
    """Cycles of a multiprocessor to stage 16 bytes through registers to shared memory."""
    gathered_channel: float
    """Cycles beside that for each channel that is gathered."""
    overlap_block: float
    """Cycles to multiply and write 64 rows by 64 columns of a first layer, beside that."""
    serial_stages: float
    """The slowdown of both where one waits for the other."""


@dataclass(frozen=True)
class SmallMTimes:
    """Small-M matmuls, whose threads load the weight from memory themselves, in seconds."""

    block_overhead: float
    """Seconds of a block before its first loads arrive and after the last ones."""
    loads_in_flight: int
    """Loads of a thread that are in flight at once, whatever is asked for."""
    load_latency: float
    """Seconds from such loads to their data, while other threads load."""
    row_step: float
    """Seconds of a thread for one row of a step, beside that."""
    reduced_accumulator: float
    """Seconds to reduce each accumulator of a thread over the block."""
    ramp: float
    """The fraction of a block's own time that nothing overlaps, at the beginning and the end."""
    fma_efficiency: float
    """The fraction of the published rate that CUDA cores reach beside loads."""
    read_efficiency: float
    """The fraction of the published bandwidth that reading reaches where little is written."""
    row_conflict: float
    """The slowdown of loading a row where few lanes read different elements of it."""
    fragment_bandwidth: float
    """Bytes per second of a multiprocessor's warps to tensor cores, out of registers."""


@dataclass(frozen=True)
class AttentionCycles:
    """Attention by warpgroups, in cycles of a multiprocessor."""

    exposed_softmax: float
    """The fraction of the time of exponentials in which other warpgroups do not multiply."""
    iteration_overhead: float
    """Cycles of a tile of keys beside multiplying and that."""
    overlap_gain: float
    """The factor by which each warpgroup beyond two shortens an iteration."""
    serial_softmax: float
    """The time of a softmax that nothing overlaps, relative to its exponentials."""
    iteration_latency: float
    """Cycles of a tile of keys beside matmuls and softmax, in sequence."""
    block_turnaround: float
    """Cycles from one block's last matmul to the first one of the next."""
    causal: float
    """The slowdown of tiles in which some keys may come after rows."""


@dataclass(frozen=True)
class Measured:
    """The measured constants of one device."""

    name: str
    cores: int
    """Multiprocessors of the device that was measured."""
    clusters: dict[int, int]
    """How many clusters of each size the device holds at once, one block on each multiprocessor.
    A cluster lies within one group of multiprocessors, whose number need not be a multiple. Devices
    of a name differ in which multiprocessors are off; this is the fewest seen, since one cluster
    that does not fit costs a wave."""
    launch: float
    """Seconds of one dependent kernel in a CUDA graph, with a full edge."""
    wave: float
    """Seconds to fill and drain a multiprocessor with a wave of blocks; an estimate."""
    memory_latency: float
    """Seconds from a block's load to the data, with little else to do; an estimate."""
    startup: float
    """Seconds of a kernel of tiles beside its launch and its waves; negative, since it begins while
    the kernel before ends."""
    l2_bandwidth: float
    """Bytes per second from the L2 cache to one multiprocessor, while all of them read."""
    shared_bandwidth: float
    """Bytes per second through the shared memory and L1 cache of one multiprocessor."""
    cluster_reduction: float
    """Seconds of a reduction over a cluster: its barriers, with what comes before and after."""
    epilogue_element: float
    """Seconds of a multiprocessor to write one element of a tile, to memory or for the others of a
    cluster."""
    iteration_overhead: float
    """Seconds of an iteration beside moving tiles and multiplying: barriers, addresses."""
    mma_efficiency: float
    """The fraction of the published rate that `mma.sync` reaches."""
    warp_latency: float
    """Seconds of an iteration of one warp beside multiplying: latencies in sequence."""
    gathered_element: float
    """Seconds of a thread to gather one element; more threads overlap, though not fully."""
    narrow_access: float
    """The cost of an access that is a piece of a vector, relative to `gathered_element`."""
    wgmma: WgmmaCycles
    bytes_in_flight: int
    """Bytes of rows that a multiprocessor should have in flight while it reads and writes them:
    with fewer memory idles, with more reads and writes disturb each other."""
    small_m: SmallMTimes
    attention: float
    """The fraction of a large matmul's rate that attention by `mma.sync` reaches."""
    attention_groups: AttentionCycles
    attention_single: float
    """The same of attention in float32, by 3xTF32."""


H200 = Measured(
    name="H200",
    cores=132,
    clusters={2: 66, 3: 39, 4: 30, 6: 16, 8: 15},  # of groups of 16 or 18
    # Fitted to points of 75 matmuls and convolutions: `benchmarks/results/h200-cost-model.md`.
    launch=1.43e-6,
    wave=0.4e-6,
    memory_latency=0.5e-6,
    startup=-0.7e-6,
    l2_bandwidth=43e9,
    shared_bandwidth=200e9,
    cluster_reduction=1.5e-6,
    epilogue_element=1.6e-10,
    iteration_overhead=0.06e-6,
    mma_efficiency=0.45,
    warp_latency=0.4e-6,
    gathered_element=2e-8,
    narrow_access=0.1,
    wgmma=WgmmaCycles(
        rate=4096,
        shared_bandwidth=128,
        contention=1.17,
        copied_row=2.0,
        partial_row=4.0,
        unaligned_row=2.1,
        epilogue_exclusive=400,
        mma_latency=280,
        copy_latency=1560,
        split_k_contention=1.25,
        partial_byte=1 / 54,
        statistics=800,
        staged_vector=0.7,
        gathered_channel=0.5,
        overlap_block=350,
        serial_stages=1.25,
    ),
    small_m=SmallMTimes(  # fitted to 1000 points of 60 matmuls
        block_overhead=1.0e-6,
        loads_in_flight=2,
        load_latency=0.25e-6,
        row_step=0.08e-6,
        reduced_accumulator=0.015e-6,
        ramp=0.02,
        fma_efficiency=0.44,
        read_efficiency=0.93,
        row_conflict=2.8,
        fragment_bandwidth=42e9,
    ),
    bytes_in_flight=64 * 1024,
    attention=0.36,  # 250 of 692 TFLOP/s
    attention_groups=AttentionCycles(  # fitted to 43 points of 13 operators
        exposed_softmax=0.5,
        iteration_overhead=180,
        overlap_gain=0.93,
        serial_softmax=1.15,
        iteration_latency=290,
        block_turnaround=5200,
        causal=1.1,
    ),
    attention_single=0.6,  # 187 of 346 TFLOP/s, three of which are one
)

MEASURED: dict[Capability, Measured] = {(9, 0): H200}
"""By the compute capability that a device compiles for."""
MMA_SYNC, ATTENTION = 0.9, 0.65
"""The most of the published rate that `mma.sync` reaches, in large matmuls and in attention, where
that is the rate of `mma.sync` itself; estimates."""


@cache
def measured_of(capability: Capability | None) -> Measured:
    """The constants of a GPU of this compute capability.

    `mma.sync` reaches a smaller part of the H200's published rate, which is that of `wgmma`. A
    multiprocessor of another GPU multiplies as fast as the H200's, up to its own published rate.
    """
    if capability in MEASURED:
        return MEASURED[capability]
    if capability not in GPUS:
        return H200
    here, there = (GPUS[each].tensor["float16"] / GPUS[each].cores for each in (capability, (9, 0)))
    return replace(
        H200,
        mma_efficiency=min(MMA_SYNC, H200.mma_efficiency * there / here),
        attention=min(ATTENTION, H200.attention * there / here),
    )
