"""Definitions with reductions on CUDA: the plan of their kernel, which `reduction.py` writes.

The threads are split into groups of `width` that share a row: a whole block, a warp, or a single
thread. A row is an index of the output axes that the reductions depend on; the group first computes
the row's reductions together, each once, then writes the row's elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Value, Var, convert
from hidet.ir.stmt import Put
from hidet.ir.walk import replaced, substitute
from hidet.lang import part, static
from hidet.schedules.automatic.access import (
    constant_size,
    contiguous,
    known_product,
    reads,
)
from hidet.schedules.automatic.cuda.cross_warp_reduction import (
    Participants,
    cross_warp_reductions,
)
from hidet.schedules.automatic.cuda.distribution import (
    UNROLLED,
    Distribution,
    Element,
    Visit,
)
from hidet.schedules.automatic.cuda.grid import is_multiple, write
from hidet.schedules.automatic.cuda.reduce_across import Across, Separate
from hidet.schedules.automatic.cuda.reduction import Reduction, Row
from hidet.schedules.automatic.cuda.resident import Resident
from hidet.schedules.automatic.cuda.row_shape import RowShape, group_lanes
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES
from hidet.types import Scope, Size, i32

MOST_UNROLLED = 8
"""Iterations that are unrolled where all that is read stays in registers."""
LARGE = 512
"""Threads of a row beyond which each has few registers."""


class Rows(Reduction):
    """Passes over a row, whose values stay in registers, or in shared memory, if they fit."""

    shape: RowShape

    def __init__(
        self, stage: MapStage, shape: RowShape, reduces: Sequence[AnyReduce], shared_bytes: int
    ) -> None:
        self.stage, self.shape, self.reduces = stage, shape, reduces
        self.sizes = dict(zip(stage.vars, stage.shape, strict=True))
        self.first, self.lane = shape.first, shape.lane
        self.rows = product([self.sizes[var] for var in shape.row_vars])
        self.clusters = shape.at_once or ceil_div(self.rows, shape.rows)
        self.iterations = ceil_div(self.rows, shape.at_once) if shape.at_once else 1
        self.all_there = is_multiple(self.rows, shape.at_once or shape.rows)
        """Whether there is a row whenever it takes one."""
        self.accumulators = [Accumulator(each, str(number)) for number, each in enumerate(reduces)]
        pairs = zip(reduces, self.accumulators, strict=True)
        self.known: dict[Expr, Expr] = {each: total.result for each, total in pairs}
        self.inner = tuple(self.sizes[var] for var in shape.inner_vars)
        self.passes = [RowPass(each.vars, each.extents, each.value) for each in reduces]
        if self.inner:
            values = [stage.value, *(value for _, value in stage.also)]
            self.passes += [RowPass(shape.inner_vars, self.inner, value) for value in values]
        self.lanes = [self.pass_lanes(number) for number in range(len(self.passes))]
        self.reductions = self.merged() if shape.blocks > 1 else self.one_by_one()
        self.place = tuple(Var("k", i32) for _ in self.passes[0].vars)
        self.register_iterations = 0
        self.in_shared: Resident | None = None
        """What is resident in shared memory, of the rest of a long row."""
        self.resident = self.keep(shared_bytes)

    @property
    def outs(self) -> tuple[Var, ...]:
        """The results."""
        return (self.stage.out, *(out for out, _ in self.stage.also))

    @property
    def writes(self) -> Expr | bool:
        """Whether a thread writes what is one for each row."""
        return self.shape.width == 1 or self.lane.eq(0)

    def number(self, iteration: Value) -> Expr:
        """The number of a block's row."""
        return self.first + iteration * self.shape.at_once if self.shape.at_once else self.first

    def has_row(self, iteration: Value) -> Expr | bool:
        return self.all_there or self.number(iteration) < self.rows

    def row(self, iteration: Value) -> Row:
        names = self.shape.row_vars
        place = unravel(self.number(iteration), [self.sizes[var] for var in names])
        return Row(iteration, dict(zip(names, place, strict=True)))

    def pass_lanes(self, number: int) -> int:
        """How many neighbouring elements a thread takes at once in a pass."""
        row_pass = self.passes[number]
        if self.shape.width == 1:
            return 1
        if number >= len(self.reduces):
            nbytes = self.stage.out.dtype.nbytes
            return group_lanes(row_pass.extents, nbytes, row_pass.vars[-1] is self.stage.vars[-1])
        found = [read.tensor.dtype.nbytes for read in reads(row_pass.value)]
        along = contiguous(row_pass.value, row_pass.vars[-1])
        return group_lanes(row_pass.extents, max(found, default=ACCESS_BYTES), along)

    def one_by_one(self) -> list[Across]:
        """The reductions, of which each becomes known before the next one begins."""
        shape = self.shape
        return [
            Separate(n, each, shape.width, shape.threads)
            for n, each in enumerate(self.accumulators)
        ]

    def merged(self) -> list[Across]:
        """The reductions in as few groups that finish together as there can be."""
        shape, elements = self.shape, known_product(self.passes[0].extents)
        participants = Participants(self.lane, shape.width, shape.blocks, max(self.lanes), elements)
        found = cross_warp_reductions(self.accumulators, participants)
        for number, own in ((n, own) for each in found for n, own in each.parts.items()):
            self.passes[number] = replace(self.passes[number], value=own.value)
        return [*found]

    def keep(self, shared_bytes: int) -> Resident | None:
        """What is resident from one pass to the next, if all have the same elements: rows that are
        too long for registers have their beginning there, the rest in shared memory if it fits."""
        iterations = self.pass_iterations()
        if iterations is None:
            return None
        lanes = max(self.lanes)
        most = UNROLLED if self.shape.threads > LARGE else MOST_UNROLLED
        self.register_iterations = min(iterations, most)
        values = self.values()
        resident = Resident(
            values, self.place, self.register_iterations * lanes, budget(self.shape.threads)
        )
        if not resident.arrays or (iterations > UNROLLED and 0 not in resident.since.values()):
            return None
        self.lanes = [lanes] * len(self.passes)
        if self.register_iterations < iterations:
            slots = (iterations - self.register_iterations) * self.shape.threads * lanes
            nbytes = (shared_bytes - RESERVED) * self.shape.threads // 1024
            self.in_shared = Resident(values, self.place, slots, nbytes, Scope.SHARED)
        return resident

    def pass_iterations(self) -> int | None:
        """Iterations of a pass over a row; None: not all passes have the same elements, or there is
        one alone."""
        extents = self.passes[0].extents
        alike = all(row_pass.extents == extents for row_pass in self.passes) and all(
            map(is_number, extents)
        )
        if not alike or len(self.passes) == 1 or self.shape.width == 1:
            return None
        return -(-known_product(extents) // max(self.lanes) // self.shape.width)

    def values(self) -> list[Expr]:
        """The values of all passes at one place."""
        return [
            substitute(
                replaced(row_pass.value, self.known),
                dict(zip(row_pass.vars, self.place, strict=True)),
            )
            for row_pass in self.passes
        ]

    def once(self) -> tuple[Var, ...]:
        """The same; in long passes such loads hold more registers."""
        iterations = known_product(self.passes[0].extents) // (self.lanes[0] * self.shape.width)
        return super().once() if iterations <= MOST_UNROLLED else ()

    def early(self) -> tuple[Var, ...]:
        return tuple(each.tensor for each in self.resident.prefetched) if self.resident else ()

    @part
    def begin(self) -> None:
        for resident in static((self.resident, self.in_shared)):
            if resident is not None:
                write(resident.declared())

    def load(self, row: Row) -> None:
        """The first pass reads a row."""

    @part
    def run_pass(self, number: int, visit: Visit) -> None:
        for distribution in static(self.distributions(number)):
            distribution.each(visit)

    def distributions(self, number: int) -> list[Distribution]:
        """The iterations of a pass: those whose values are resident in registers, and the rest."""
        extents, lanes, width = self.passes[number].extents, self.lanes[number], self.shape.width
        most = UNROLLED if self.resident is None else MOST_UNROLLED
        every = Distribution(
            extents, self.lane, width, lanes, most, self.resident, self.shape.threads
        )
        if self.resident is None or self.pass_iterations() == self.register_iterations:
            return [every]
        first = self.register_iterations
        rest = replace(
            every, resident=self.in_shared, most=UNROLLED, start=first, resident_from=first
        )
        return [replace(every, stop=first), rest]

    def take(self, number: int, row: Row, into: Accumulator, element: Element) -> None:
        before, value = with_serial_reductions(self.value(number, row, element), {})
        write((*before, *into.take(value, ravel(element.place, self.passes[number].extents))))

    def at(self, row: Row, element: Element) -> dict[Var, Expr]:
        """The index of an element, by the variables of all passes."""
        return row.index | dict(zip(self.place, element.place, strict=True))

    def put(self, row: Row, element: Element) -> None:
        """An element of the row is written to all results."""
        where = row.index | dict(zip(self.shape.inner_vars, element.place, strict=True))
        index = tuple(substitute(each, where) for each in self.stage.index)
        for number, out in enumerate(self.outs, len(self.reduces)):
            found = self.value(number, row, element)
            before, value = with_serial_reductions(found, {})
            write((*before, Put(out, index, convert(value, out.dtype))))

    @part
    def write(self, row: Row) -> None:
        if self.inner:
            self.run_pass(len(self.reduces), partial(self.put, row))
        elif self.writes:
            write(put(self.stage, row.index, self.known))

    def value(self, number: int, row: Row, element: Element) -> Expr:
        """The value of an element of a pass, after the stores of what becomes resident of it."""
        row_pass, resident, slot = self.passes[number], element.resident, element.slot
        if resident is None:
            value = replaced(row_pass.value, self.known)
            here = row.index | dict(zip(row_pass.vars, element.place, strict=True))
            return substitute(value, here)
        here = self.at(row, element)
        write(substitute(each, here) for each in resident.stores(number, slot))
        return substitute(resident.value(number, slot), here)


@dataclass(frozen=True)
class RowPass:
    """All places of a row, and a value at each."""

    vars: tuple[Var, ...]
    extents: tuple[Size, ...]
    value: Expr


RESERVED = 4096
"""Bytes of shared memory that the rest of a kernel may need."""


def budget(threads: int) -> int:
    """Bytes of registers that a thread may keep: half of what a full block leaves it."""
    return 128 if threads > LARGE else 256


def is_number(size: Size) -> bool:
    """Whether a size is known."""
    return constant_size(size) is not None
