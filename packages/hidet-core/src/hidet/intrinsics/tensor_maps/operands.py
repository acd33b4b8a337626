"""What the calls of TMA take: a tensor map and positions in it, checked against each other."""

from __future__ import annotations

from dataclasses import replace

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.expect import expect_option, expect_pointer, expect_scalar
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import DType, Im2col, TensorMapType, bf16, f16, f32, i32, i64, u16, u32, u64

CACHES = (None, "evict_first", "evict_last", "evict_normal")
"""What the second cache should do with the lines of a box."""

FIRST = {"tma_load": 3, "tma_store": 2, "tma_reduce": 2, "tma_prefetch": 1}
"""Which operand the first position is."""

NUMBERS = (u32, i32, u64, f32, f16, bf16)
ORDERED = (u32, i32, u64, i64, f16, bf16)
BITS = (u32, i32, u64, i64)
REDUCTIONS: dict[str, tuple[DType, ...]] = {
    "add": NUMBERS, "min": ORDERED, "max": ORDERED, "and": BITS, "or": BITS, "xor": BITS,
}  # fmt: skip
"""What boxes are combined by in memory, and for which elements."""


def map_of(invoke: Invoke, index: int) -> TensorMapType:
    """The type of the tensor map that operand `index` is."""
    of = invoke.args[index].type if index < len(invoke.args) else None
    if not isinstance(of, TensorMapType):
        raise DtypeMismatch(
            f"operand {index} of {invoke.name} is {of}, not a tensor map",
            place=invoke.place,
            help="make one: tensor_map(x, box=(64, 64))",
        )
    return of


def shifted(invoke: Invoke, by: Expr) -> Invoke:
    """The call with so much added to its last position in a tensor map, if it has positions."""
    first = FIRST.get(invoke.name)
    if first is None:
        return invoke
    last = first + next(a.type.rank for a in invoke.args if isinstance(a.type, TensorMapType)) - 1
    moved = invoke.args[last] + by
    return replace(invoke, args=(*invoke.args[:last], moved, *invoke.args[last + 1 :]))


def expect_counts(invoke: Invoke, args: int, options: int) -> None:
    """`BadKernel` unless the call has so many operands and options."""
    found = (len(invoke.args), len(invoke.results), len(invoke.options))
    if found != (args, 0, options):
        raise BadKernel(
            f"{invoke.name} of this tensor map takes {args} operands and {options} options, not "
            f"{found[0]} and {found[2]}",
            place=invoke.place,
            help="give a position for each axis, and in im2col mode an offset for each spatial one",
        )


def offsets_of(of: TensorMapType) -> int:
    """How many offsets a load has."""
    return of.rank - 2 if isinstance(of.box, Im2col) else 0


def expect_shared(invoke: Invoke, index: int, of: TensorMapType) -> None:
    """`DtypeMismatch` unless an operand points to elements of the map."""
    expect_pointer(invoke, index, of.dtype)


def expect_positions(invoke: Invoke, first: int, count: int) -> None:
    """`DtypeMismatch` unless the positions are i32."""
    for index in range(first, first + count):
        expect_scalar(invoke, index, i32)


def check_load(invoke: Invoke) -> None:
    """Operands (target, map, barrier, positions[, offsets][, blocks]); options (multicast, cache).

    The barrier is an mbarrier in shared memory, `blocks` a u16 with a bit for each block of the
    cluster that gets the box, at the same place.
    """
    of = map_of(invoke, 1)
    count = of.rank + offsets_of(of)
    multicast = len(invoke.options) == 2 and bool(invoke.options[0])
    expect_counts(invoke, 3 + count + multicast, 2)
    expect_shared(invoke, 0, of)
    expect_pointer(invoke, 2, u64)
    expect_positions(invoke, 3, count)
    expect_option(invoke, 0, False, True)
    expect_option(invoke, 1, *CACHES)
    if multicast:
        expect_scalar(invoke, 3 + count, u16)


def check_store(invoke: Invoke) -> None:
    """Operands (map, source, positions); options (cache) or (how, cache)."""
    of = map_of(invoke, 0)
    reduces = invoke.name == "tma_reduce"
    expect_counts(invoke, 2 + of.rank, 1 + reduces)
    expect_shared(invoke, 1, of)
    expect_positions(invoke, 2, of.rank)
    expect_option(invoke, int(reduces), *CACHES)
    if reduces and of.dtype not in REDUCTIONS[expect_option(invoke, 0, *REDUCTIONS)]:
        names = ", ".join(map(str, REDUCTIONS[invoke.options[0]]))
        raise DtypeMismatch(
            f"{invoke.options[0]} of boxes is of {names}, not of {of.dtype}", place=invoke.place
        )


def check_prefetch(invoke: Invoke) -> None:
    """Operands (map, positions[, offsets]); options (cache)."""
    of = map_of(invoke, 0)
    count = of.rank + offsets_of(of)
    expect_counts(invoke, 1 + count, 1)
    expect_positions(invoke, 1, count)
    expect_option(invoke, 0, *CACHES)


def check_prefetch_map(invoke: Invoke) -> None:
    """Operand: a tensor map."""
    map_of(invoke, 0)
    expect_counts(invoke, 1, 0)
