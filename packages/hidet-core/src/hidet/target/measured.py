"""What was measured of GPUs, where nothing is published: schedules count with it in estimates.

A GPU that is measured gets a row in `MEASURED`; until then the H200's stand for it, but for what
follows from published rates. Nothing here changes what a kernel computes, only which of several is
chosen.
"""

from dataclasses import dataclass, replace
from functools import cache

from hidet.target.gpus import GPUS, Capability


@dataclass(frozen=True)
class MmaTimes:
    """What turns of products by `mma.sync` take and wait for."""

    feed: float
    """Bytes that one multiprocessor gets from the second-level cache in a second."""
    shared_feed: float
    """Bytes that its warps read as fragments from shared memory in a second, beside the rest."""
    multiplied: float
    """The part of the published rate that is reached with fragments from shared memory."""
    turn: float
    """Seconds that a turn costs a multiprocessor beside reading fragments: barriers, addresses of
    copies."""
    warp: float
    """The same of one warp beside multiplying: the latencies of one step after the other."""
    write: float
    """Seconds for one element of a tile, written or left for the others of the cluster."""
    meeting: float
    """Seconds of the barriers of a cluster."""
    beginning: float
    """Seconds that a kernel takes beside its launch and its waves; less than none, since it begins
    while others end."""
    handed: float
    """Seconds that a turn waits for tiles that come through registers, one turn ahead."""
    gather: float
    """Seconds to find one element by itself, for one thread; more threads overlap, though not all
    at once."""
    piece: float
    """The part of that which an access to a piece of a row takes, where rows begin anywhere."""


@dataclass(frozen=True)
class WgmmaCycles:
    """What turns of products by warpgroups take and wait for, in cycles of a multiprocessor."""

    rate: float
    """Operations on 16-bit elements in a cycle, as published."""
    shared_rate: float
    """Bytes that shared memory takes or gives in a cycle, as published."""
    crowded: float
    """How much longer products take than that, where all multiprocessors multiply."""
    copy: float
    """Cycles that the copy engine takes for a row of a box, of at most 128 bytes."""
    partial: float
    """How much longer it takes for a row of which the tensor has only a part."""
    crossing: float
    """How much longer it takes for rows of a matrix that do not begin at multiples of 128 bytes:
    each lies in two lines."""
    writing: float
    """Cycles in which a warpgroup writes 64 columns of its rows."""
    moving: float
    """Cycles of those in which no other warpgroup of the multiprocessor does anything."""
    least: float
    """Cycles in which a warpgroup issues the four products of a turn, each after the last."""
    latency: float
    """Cycles from starting a copy out of memory to its arrival, in which a ring has all of its
    stages brought; of weights that are in no cache."""
    beside: float
    """Cycles that a turn takes beside its part of that."""
    clustered: float
    """How much longer tiles take to come where the blocks of a cluster read different parts of k,
    while all multiprocessors do."""
    meeting: float
    """Cycles that two barriers of a cluster take, with what comes before and after them."""
    handing: float
    """Cycles for each byte of a tile's sums, whenever twice as many blocks share them."""
    unshared: float
    """Cycles by which adding a residual to a tile and telling moments of its rows take longer for
    a block that has all of its sums than for those that share it."""
    line: float
    """Cycles that a multiprocessor takes to bring 16 bytes to shared memory through registers,
    beside finding what is in them."""
    found: float
    """The same for each channel that is found by itself."""
    piece: float
    """Cycles for 64 rows by 64 columns, multiplied and written, beside that."""
    again: float
    """How much longer both take where one waits for the other."""


@dataclass(frozen=True)
class PartTimes:
    """Tiles of float32 in two parts by warpgroups, in seconds."""

    shared: float
    """Bytes that a multiprocessor moves through its shared memory and first cache in a second."""
    latency: float
    """The least time of a turn: tiles come from memory meanwhile."""
    turn: float
    """A turn, beside what it moves."""
    found: float
    """An element that is found one by one."""


@dataclass(frozen=True)
class SmallMTimes:
    """Small-M matmuls, whose threads read the other operand for themselves, in seconds."""

    begun: float
    """A block beside its reads: until the first ones are there, and all that follows the last."""
    under_way: int
    """Reads that a thread has under way at once, whatever is asked for."""
    waited: float
    """From such reads to what they bring, while others read."""
    row: float
    """What a thread needs of one row for a step, beside that."""
    added: float
    """Each sum of a thread, added to those of others."""
    meeting: float
    """What the blocks of a cluster take beside that."""
    alone: float
    """The part of a block's own time in which nothing else reads, at the beginning and the end."""
    multiplied: float
    """The part of the published rate that CUDA cores reach beside reads."""
    read: float
    """The part of the published bandwidth at which memory is read where little is written."""
    near: float
    """Bytes that a multiprocessor's threads take from its first cache in a second."""
    shared: float
    """How much more a row costs where few lanes read different elements of it."""
    fed: float
    """Bytes that its warps hand to tensor cores in a second, out of registers."""


@dataclass(frozen=True)
class AttentionCycles:
    """What attention by warpgroups takes, in cycles of a multiprocessor."""

    softmax: float
    """The part of the time of exponentials in which other warpgroups do not multiply."""
    turn: float
    """Cycles of a tile of keys beside products and that."""
    crowd: float
    """How much less tiles take with every warpgroup beyond two, while one waits."""
    alone: float
    """The time of a softmax after the products, by the time of its exponentials."""
    latency: float
    """Cycles of a tile of keys beside products and softmax, one after the other."""
    anew: float
    """Cycles from one block's last product to the first one of the next."""
    causal: float
    """How much longer tiles take where some of their keys may come after rows."""


@dataclass(frozen=True)
class Measured:
    """One device."""

    name: str
    cores: int
    """Multiprocessors of the one that was measured."""
    clusters: dict[int, int]
    """Clusters of so many blocks that it holds at once, one block on each multiprocessor: those of
    a cluster are of one group of multiprocessors, which need not be a multiple. Devices of a name
    differ in which multiprocessors are off: the fewest that were seen, since one cluster that does
    not fit costs a round, and one more that would have fit only its share."""
    mma: MmaTimes
    wgmma: WgmmaCycles
    under_way: int
    """Bytes of rows that a multiprocessor has under way where it reads and writes them: with fewer
    memory waits, with more reads and writes are in each other's way."""
    parts: PartTimes
    small_m: SmallMTimes
    attention: float
    """The part of a large product's rate that both products of attention by `mma.sync` reach, with
    a softmax between them."""
    attention_groups: AttentionCycles
    attention_single: float
    """The same of float32, in products of tf32."""


H200 = Measured(
    name="H200",
    cores=132,
    clusters={2: 66, 3: 39, 4: 30, 6: 16, 8: 15},  # of groups of 16 or 18
    # Fitted to 470 points of 130 products and convolutions; `multiplied` since fragments are loaded
    # a step ahead, to 156 points of six.
    mma=MmaTimes(
        feed=38e9,
        shared_feed=131e9,
        multiplied=0.45,
        turn=0.08e-6,
        warp=0.3e-6,
        write=1.5e-10,
        meeting=1.0e-6,
        beginning=-0.7e-6,
        handed=0.33e-6,
        gather=2e-8,
        piece=0.1,
    ),
    wgmma=WgmmaCycles(
        rate=4096,
        shared_rate=128,
        crowded=1.17,
        copy=2.0,
        partial=4.0,
        crossing=2.1,
        writing=1200,
        moving=400,
        least=280,
        latency=1560,
        beside=110,
        clustered=1.25,
        meeting=2800,
        handing=1 / 54,
        unshared=800,
        line=0.7,
        found=0.5,
        piece=350,
        again=1.25,
    ),
    parts=PartTimes(  # fitted to 119 points of 11 products and 6 convolutions
        shared=220e9,
        latency=0.72e-6,
        turn=0.3e-6,
        found=1.2e-10,
    ),
    small_m=SmallMTimes(  # fitted to 1000 points of 60 products
        begun=1.0e-6,
        under_way=2,
        waited=0.25e-6,
        row=0.08e-6,
        added=0.015e-6,
        meeting=1.5e-6,
        alone=0.02,
        multiplied=0.44,
        read=0.93,
        near=200e9,
        shared=2.8,
        fed=42e9,
    ),
    under_way=64 * 1024,
    attention=0.36,  # 250 of 692 TFLOP/s
    attention_groups=AttentionCycles(  # fitted to 43 points of 13 operators
        softmax=0.5,
        turn=180,
        crowd=0.93,
        alone=1.15,
        latency=290,
        anew=5200,
        causal=1.1,
    ),
    attention_single=0.6,  # 187 of 346 TFLOP/s, three of which are one
)

MEASURED: dict[Capability, Measured] = {(9, 0): H200}
"""By the compute capability that a device compiles for."""
MULTIPLIED, ATTENDED = 0.9, 0.65
"""The parts of the published rate that `mma.sync` reaches at most, in large products and in those
of attention, where the rate is that of `mma.sync` itself; estimates."""


@cache
def measured_of(capability: Capability | None) -> Measured:
    """What counts for a GPU of this compute capability.

    `mma.sync` reaches a smaller part of what is published of the H200, since that is the rate of
    `wgmma`: a multiprocessor of another GPU multiplies as fast, as far as its own units go.
    """
    if capability in MEASURED:
        return MEASURED[capability]
    if capability not in GPUS:
        return H200
    here, there = (GPUS[each].tensor["float16"] / GPUS[each].cores for each in (capability, (9, 0)))
    times = H200.mma
    return replace(
        H200,
        mma=replace(times, multiplied=min(MULTIPLIED, times.multiplied * there / here)),
        attention=min(ATTENDED, H200.attention * there / here),
    )
