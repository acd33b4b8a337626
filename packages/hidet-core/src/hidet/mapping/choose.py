"""A task mapping chosen for a number of workers, so that neighbours take neighbouring tasks."""

from collections.abc import Sequence
from math import gcd, prod

from hidet.errors import BadArgument
from hidet.mapping.algebra import TaskMapping, repeat, spatial
from hidet.mapping.restrict import predicated


def auto_map(
    *shape: int,
    workers: int,
    vector: int = 1,
    order: Sequence[int] | None = None,
    predicate: bool = True,
) -> TaskMapping:
    """`repeat * spatial * repeat(vector)` over `shape`: coalesced accesses for any worker count.

    Each worker takes `vector` contiguous tasks along the fastest dimension (the last of `order`)
    and neighbouring workers take neighbouring groups. Where the groups do not divide evenly among
    the workers, the mapping is predicated: some workers idle, or some tasks skipped (`active`
    and `inside` say which). With `predicate=False` that is a `BadArgument` which names the nearest
    worker counts.
    """
    if workers < 1 or vector < 1:
        raise BadArgument(f"auto_map needs workers and vector >= 1, not {workers} and {vector}")
    ranked = tuple(range(len(shape)) if order is None else order)
    if not shape:
        return predicated(spatial(), workers=workers)
    fastest = ranked[-1]
    unit = tuple(vector if dimension == fastest else 1 for dimension in range(len(shape)))
    groups = [-(-extent // width) for extent, width in zip(shape, unit, strict=True)]
    exact = shape[fastest] % vector == 0 and prod(groups) % workers == 0
    if not exact and not predicate:
        raise _uneven(shape, workers, vector, shape[fastest], prod(groups))

    across = (_even if exact else _filled)(groups, workers, ranked)
    steps = [-(-count // share) for count, share in zip(groups, across, strict=True)]
    mapping = repeat(*steps, order=order) * spatial(*across, order=order)
    if vector > 1:
        mapping = mapping * repeat(*unit)
    return predicated(mapping, workers=workers, shape=shape)


def _even(groups: Sequence[int], workers: int, ranked: Sequence[int]) -> list[int]:
    """Workers along each dimension, all of them used and every group taken exactly once.

    Taking the common divisor at each dimension succeeds whenever `workers` divides the product:
    it uses up each prime factor of `workers` where the dimensions offer it.
    """
    across = [1] * len(groups)
    for dimension in reversed(ranked):
        across[dimension] = gcd(groups[dimension], workers)
        workers //= across[dimension]
    return across


def _filled(groups: Sequence[int], workers: int, ranked: Sequence[int]) -> list[int]:
    """Workers along each dimension, as many as fit, balanced over the steps they need."""
    across = [1] * len(groups)
    for dimension in reversed(ranked):
        steps = -(-groups[dimension] // workers)
        across[dimension] = -(-groups[dimension] // steps)
        workers //= across[dimension]
    return across


def _uneven(
    shape: Sequence[int], workers: int, vector: int, extent: int, groups: int
) -> BadArgument:
    if extent % vector:
        return BadArgument(
            f"the fastest extent {extent} of {tuple(shape)} is no multiple of vector={vector}",
            help=f"use vector={gcd(extent, vector)}, or leave predicate=True",
        )
    divisors = [count for count in range(1, groups + 1) if groups % count == 0]
    near = [max(c for c in divisors if c <= workers)]
    near += [c for c in divisors if c > workers][:1]
    return BadArgument(
        f"{groups} groups of tasks do not divide among {workers} workers",
        help=f"use {' or '.join(map(str, near))} workers, or leave predicate=True",
    )
