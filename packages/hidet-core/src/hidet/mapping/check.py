"""Does a mapping do what it should? Answers by enumeration, for tests and for the curious."""

from collections import defaultdict
from collections.abc import Sequence
from math import prod

from hidet.errors import BadArgument
from hidet.mapping.algebra import TaskMapping

BANKS = 32
BANK_BYTES = 4


def is_partition(mapping: TaskMapping) -> bool:
    """Whether every task of the shape is done exactly once."""
    done = [task for worker in range(mapping.workers) for task in mapping.tasks(worker)]
    inside = all(0 <= i < n for task in done for i, n in zip(task, mapping.shape, strict=True))
    return inside and len(done) == len(set(done)) == prod(mapping.shape)


def overlaps(mapping: TaskMapping) -> dict[tuple[int, ...], list[int]]:
    """The tasks done more than once, each with the workers that do it."""
    done: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for worker in range(mapping.workers):
        for task in mapping.tasks(worker):
            done[task].append(worker)
    return {task: workers for task, workers in sorted(done.items()) if len(workers) > 1}


def bank_conflicts(addresses: Sequence[int | None], width_bytes: int) -> int:
    """How many extra passes over shared memory a warp's access takes; zero is free of conflicts.

    `addresses` are byte addresses, one for each lane (`None` for an inactive one), each accessing
    `width_bytes` (1 to 16). Shared memory has 32 banks of four bytes; lanes at the same word share
    one pass; 8- and 16-byte accesses go by half and quarter warps.
    Source: CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities.
    """
    if width_bytes not in (1, 2, 4, 8, 16):
        raise BadArgument(f"an access is 1, 2, 4, 8 or 16 bytes wide, not {width_bytes}")
    lanes = BANKS * BANK_BYTES // max(width_bytes, BANK_BYTES)
    extra = 0
    for start in range(0, len(addresses), lanes):
        words = {
            address // BANK_BYTES + step
            for address in addresses[start : start + lanes]
            if address is not None
            for step in range(-(-width_bytes // BANK_BYTES))
        }
        banks = [word % BANKS for word in words]
        extra += max(map(banks.count, set(banks)), default=1) - 1
    return extra
