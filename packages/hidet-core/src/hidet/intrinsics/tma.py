"""TMA: the copy engine moves boxes of a global tensor. PTX ISA: cp.async.bulk.tensor.

Operands name a tensor map (`hidet.ir.kernel.TensorMap`) and where the box begins: one i32 for each
axis, outermost first; for a load in im2col mode the offsets of the filter follow, one i32 for each
spatial axis. Positions may lie outside of the tensor: a load fills what is outside, a store drops
it. The thread that executes the call starts one copy; nothing says when it happens but the barrier
or the bulk group it completes at.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import (
    Array,
    Context,
    Effects,
    Intrinsic,
    Spell,
    expect_option,
    expect_pointer,
    expect_scalar,
)
from hidet.intrinsics.boxes import PIECE, Span, filled, period, scattered, units
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import (
    DType,
    Im2col,
    TensorMapType,
    bf16,
    f16,
    f32,
    i32,
    i64,
    u16,
    u32,
    u64,
)
from hidet.types.tensor_map import OFFSETS

SHARED_ALIGNMENT = 128
"""Bytes of which the address of a box in shared memory is a multiple."""

CACHES = (None, "evict_first", "evict_last", "evict_normal")
"""What the second cache should do with the lines of a box."""

NUMBERS = (u32, i32, u64, f32, f16, bf16)
ORDERED = (u32, i32, u64, i64, f16, bf16)
BITS = (u32, i32, u64, i64)
REDUCTIONS: dict[str, tuple[DType, ...]] = {
    "add": NUMBERS, "min": ORDERED, "max": ORDERED, "and": BITS, "or": BITS, "xor": BITS,
}  # fmt: skip
"""What boxes are combined by in memory, and for which elements."""

# ---- operands ------------------------------------------------------------------------------------


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


# ---- CUDA ----------------------------------------------------------------------------------------


class Assembly:
    """An inline PTX instruction being written: operands get numbers as they are mentioned."""

    def __init__(self, spell: Spell) -> None:
        self.spell = spell
        self.inputs: list[str] = []

    def operand(self, constraint: str, text: str) -> str:
        """A new operand."""
        self.inputs.append(f'"{constraint}"({text})')
        return f"%{len(self.inputs) - 1}"

    def shared(self, pointer: Expr) -> str:
        """An address in shared memory."""
        text = f"static_cast<unsigned>(__cvta_generic_to_shared({self.spell(pointer)}))"
        return f"[{self.operand('r', text)}]"

    def box(self, map: Expr, positions: tuple[Expr, ...]) -> str:
        """A tensor map and a position in it, innermost axis first."""
        tensor = self.operand("l", f"&{self.spell(map)}")
        at = ", ".join(self.operand("r", self.spell(each)) for each in reversed(positions))
        return f"[{tensor}, {{{at}}}]"

    def half(self, value: Expr) -> str:
        """A 16-bit operand."""
        return self.operand("h", f"static_cast<unsigned short>({self.spell(value)})")

    def offsets(self, values: tuple[Expr, ...]) -> str:
        """The offsets of the filter, innermost axis first; nothing in tiled mode."""
        return f", {{{', '.join(self.half(each) for each in reversed(values))}}}" if values else ""

    def text(self, instruction: str, operands: str, cache: str | None) -> str:
        """The statement."""
        line = f"{instruction} {operands};"
        if cache is not None:
            policy = f"createpolicy.fractional.L2::{cache}.b64 policy, 1.0;"
            line = f"{instruction}.L2::cache_hint {operands}, policy;"
            line = f"{{ .reg .b64 policy; {policy} {line} }}"
        return f'asm volatile("{line}" :: {", ".join(self.inputs)} : "memory");'


def mode(of: TensorMapType, load: bool) -> str:
    """How an instruction calls the mode of a map."""
    if isinstance(of.box, Im2col):
        return "im2col" if load else "im2col_no_offs"
    return "tile"


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Global to shared memory, of one block or of several."""
    of, asm = map_of(invoke, 1), Assembly(spell)
    multicast, cache = invoke.options
    target, map, barrier, *rest = invoke.args
    positions, offsets = tuple(rest[: of.rank]), tuple(rest[of.rank : of.rank + offsets_of(of)])
    operands = f"{asm.shared(target)}, {asm.box(map, positions)}, {asm.shared(barrier)}"
    operands += asm.offsets(offsets)
    operands += f", {asm.half(rest[-1])}" if multicast else ""
    several = ".multicast::cluster" if multicast else ""
    return asm.text(
        f"cp.async.bulk.tensor.{of.rank}d.shared::cluster.global.{mode(of, True)}"
        f".mbarrier::complete_tx::bytes{several}",
        operands,
        cache,
    )


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Shared to global memory, replacing or combining."""
    of, asm = map_of(invoke, 0), Assembly(spell)
    *how, cache = invoke.options
    name = "cp.reduce.async" if how else "cp.async"
    operands = f"{asm.box(invoke.args[0], invoke.args[2:])}, {asm.shared(invoke.args[1])}"
    change = "".join(f".{each}" for each in how)
    return asm.text(
        f"{name}.bulk.tensor.{of.rank}d.global.shared::cta{change}.{mode(of, False)}.bulk_group",
        operands,
        cache,
    )


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """Into the second cache."""
    of, asm = map_of(invoke, 0), Assembly(spell)
    positions, offsets = invoke.args[1 : 1 + of.rank], invoke.args[1 + of.rank :]
    operands = asm.box(invoke.args[0], positions) + asm.offsets(offsets)
    name = f"cp.async.bulk.prefetch.tensor.{of.rank}d.L2.global.{mode(of, True)}"
    return asm.text(name, operands, invoke.options[0])


def prefetch_map_text(invoke: Invoke, spell: Spell) -> str:
    """Into the cache of tensor maps."""
    asm = Assembly(spell)
    tensor = asm.operand("l", f"&{spell(invoke.args[0])}")
    return asm.text("prefetch.tensormap", f"[{tensor}]", None)


# ---- meaning -------------------------------------------------------------------------------------


def loaded(context: Context, invoke: Invoke) -> None:
    """Start a load for each thread: into several blocks, it is one operation for each of them."""
    of = map_of(invoke, 1)
    target, _, barrier, *rest = invoke.args
    at = Positions(context, invoke.args[1], tuple(rest[: of.rank + offsets_of(of)]))
    masks = context.value(rest[-1]) if invoke.options[0] else None
    plain = np.arange(0, of.nbytes, PIECE)
    for thread in map(int, np.flatnonzero(context.mask)):
        span = at.span(thread)
        place = context.locate(target, thread, SHARED_ALIGNMENT)
        there = scattered(of, context.address(place, period(of), thread), plain)
        for block in [None] if masks is None else chosen(context, int(masks[thread]), thread):
            agent = context.launch_agent([thread], "TMA load", block=block)
            box = filled(of)
            if span.rows.size:
                first, width = span.first * of.dtype.nbytes, span.columns * of.dtype.nbytes
                inside = agent.read(at.boxes.memory, span.starts, width)
                box[span.rows, first : first + width] = inside
            agent.write(place, there, box.reshape(-1, PIECE))
            agent.finish_at_barrier(context.locate(barrier, thread), of.nbytes)


def chosen(context: Context, mask: int, thread: int) -> list[int]:
    """The blocks of the cluster whose bits are set."""
    size = context.cluster_size()
    if mask >> size or not mask:
        context.fault(f"the mask of blocks is {mask:#x}; the cluster has {size} of them", thread)
    return [block for block in range(size) if mask >> block & 1]


def stored(context: Context, invoke: Invoke) -> None:
    """Start a store or a reduction for each thread."""
    of = map_of(invoke, 0)
    how = invoke.options[0] if invoke.name == "tma_reduce" else None
    at = Positions(context, invoke.args[0], invoke.args[2:])
    for thread in map(int, np.flatnonzero(context.mask)):
        span = at.span(thread)
        agent = context.launch_agent([thread], "TMA store", "bulk")
        place = context.locate(invoke.args[1], thread, SHARED_ALIGNMENT)
        base = context.address(place, period(of), thread)
        if span.rows.size:
            plain, width = units(of, span)
            data = agent.read(place, scattered(of, base, plain), width)
            data = data.reshape(len(span.rows), -1)
            if how is None:
                agent.write(at.boxes.memory, span.starts, data)
            else:
                agent.update(at.boxes.memory, span.starts, data, combine(of.dtype, how))
        agent.finish_in_group()


def prefetched(context: Context, invoke: Invoke) -> None:
    """Nothing happens, but positions must be possible."""
    at = Positions(context, invoke.args[0], invoke.args[1:])
    for thread in np.flatnonzero(context.mask):
        at.span(int(thread))


class Positions:
    """Where the threads of a call have their boxes."""

    def __init__(self, context: Context, map: Expr, numbers: tuple[Expr, ...]) -> None:
        self.context = context
        self.boxes = context.tensor_map(map)
        self.numbers = [context.value(each) for each in numbers]

    def span(self, thread: int) -> Span:
        """The part of a thread's box that is inside of the tensor."""
        rank = self.boxes.of.rank
        found = tuple(int(each[thread]) for each in self.numbers)
        limit = OFFSETS.get(rank, 0)
        if not all(0 <= offset <= limit for offset in found[rank:]):
            self.context.fault(f"offsets are from 0 to {limit}, not {found[rank:]}", thread)
        try:
            return self.boxes.span(found[:rank], found[rank:])
        except ValueError as error:
            self.context.fault(str(error), thread)


def combine(of: DType, how: str) -> Callable[[Array, Array], Array]:
    """What becomes of bytes in memory when others are combined with them."""
    apply = COMBINED[how]

    def run(old: Array, new: Array) -> Array:
        values = np.ascontiguousarray(old).view(of.numpy), np.ascontiguousarray(new).view(of.numpy)
        return np.asarray(apply(*values)).astype(of.numpy).view(np.uint8)

    return run


COMBINED: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": np.fmin, "max": np.fmax,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip

TMA = (
    Intrinsic(
        "tma_load",
        "Load a box into shared memory, of one block or several, completing at an mbarrier. "
        "PTX ISA: cp.async.bulk.tensor.",
        check_load,
        lambda invoke: Effects(
            reads=invoke.args[1:2], writes=(invoke.args[0], invoke.args[2]), lasting=True
        ),
        load_text,
        loaded,
    ),
    Intrinsic(
        "tma_store",
        "Store a box from shared memory, in the thread's bulk group. PTX ISA: "
        "cp.async.bulk.tensor.",
        check_store,
        lambda invoke: Effects(reads=invoke.args[1:2], writes=invoke.args[:1], lasting=True),
        store_text,
        stored,
    ),
    Intrinsic(
        "tma_reduce",
        "Combine a box in shared memory with one in global memory, each element atomically, in "
        "the thread's bulk group. PTX ISA: cp.reduce.async.bulk.tensor.",
        check_store,
        lambda invoke: Effects(
            reads=(invoke.args[1], invoke.args[0]), writes=invoke.args[:1], lasting=True
        ),
        store_text,
        stored,
    ),
    Intrinsic(
        "tma_prefetch",
        "Bring a box into the second cache. PTX ISA: cp.async.bulk.prefetch.tensor.",
        check_prefetch,
        lambda invoke: Effects(lasting=True),
        prefetch_text,
        prefetched,
    ),
    Intrinsic(
        "tma_prefetch_map",
        "Bring a tensor map to where the copy engine finds it fast. PTX ISA: prefetch.tensormap.",
        check_prefetch_map,
        lambda invoke: Effects(lasting=True),
        prefetch_map_text,
        lambda context, invoke: None,
    ),
)
