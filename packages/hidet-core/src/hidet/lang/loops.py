"""What a script's `for` runs over: numbers in order, grids, tasks, and things known beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Const, Expr, Value
from hidet.ir.stmt import LoopKind
from hidet.lang.values import index, plain, spoken
from hidet.types import i32


@dataclass(frozen=True)
class Range:
    """The numbers of `range`, some of them known only at run time."""

    start: Value
    stop: Value
    step: Value = 1
    kind: LoopKind = LoopKind.SERIAL

    def __iter__(self) -> Iterator[Any]:
        """For type checkers: a script's loop is transcribed, and nothing else can run it."""
        raise BadScript("a loop of a script is run outside of a script; use Python's range there")

    @property
    def extent(self) -> Expr:
        """How many numbers there are (none where negative); a run-time step is positive."""
        start, stop, step = (plain(v) for v in (self.start, self.stop, self.step))
        if all(isinstance(v, int) for v in (start, stop, step)):
            return Const(len(range(start, stop, step)), i32)
        if isinstance(step, int) and step < 0:
            start, stop, step = stop, start, -step
        distance = stop if isinstance(start, int) and start == 0 else stop - start
        if isinstance(step, int) and step == 1:
            return index(distance)
        return index((distance + (step - 1)) // step)

    def number(self, iteration: Expr) -> Expr:
        """The number of an iteration."""
        scaled = (
            iteration if isinstance(self.step, int) and self.step == 1 else iteration * self.step
        )
        whole = isinstance(self.start, int) and self.start == 0
        return scaled if whole else index(self.start + scaled)


@dataclass(frozen=True)
class Grid:
    """All index tuples below some extents, the last one fastest."""

    extents: tuple[Value, ...]
    kinds: tuple[LoopKind, ...]
    """How each loop runs."""

    def __iter__(self) -> Iterator[Any]:
        """For type checkers: a script's loop is transcribed, and nothing else can run it."""
        raise BadScript("a loop of a script is run outside of a script; use Python's range there")


@dataclass(frozen=True)
class Static:
    """Items known while transcribing: the loop's body is written once for each."""

    items: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


def span(*bounds: Value, unroll: bool = False) -> Range:
    """`range` of a script: start, stop and step may be expressions."""
    if not 1 <= len(bounds) <= 3:
        raise BadScript(f"range() takes one to three numbers, not {len(bounds)}")
    for bound in map(plain, bounds):
        if not isinstance(bound, int | Expr):
            raise BadScript(f"range() takes integers, not {spoken(bound)}")
        index(bound)
    kind = LoopKind.UNROLL if unroll else LoopKind.SERIAL
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(plain(step), int) and step == 0:
        raise BadScript("the step of range() is zero")
    return Range(start, stop, step, kind)


def grid(*extents: Any, attrs: str = "") -> Grid:
    """All index tuples below `extents`: `for i, j in grid(4, 8)`, or of a list of them.

    `attrs` has a letter for each loop, or one for all: "." as it is, "u" or "u+" replaced by its
    iterations, "p" spread over the threads of a CPU, for the outermost: `grid(m, n, attrs="p.")`.
    """
    if len(extents) == 1 and isinstance(extents[0], tuple | list):
        extents = tuple(extents[0])
    letters = re.findall(r"p|u\+|u|\.", attrs)
    if "".join(letters) != attrs or len(letters) not in (0, 1, len(extents)):
        raise BadScript(
            f"{attrs!r} does not say how {len(extents)} loops run",
            help='write a letter for each: "." as it is, "u" unrolled, "p" parallel',
        )
    chosen = (letters or ["."]) * (1 if len(letters) == len(extents) else len(extents))
    return Grid(extents, tuple(LETTERS[each] for each in chosen))


LETTERS = {
    ".": LoopKind.SERIAL, "u": LoopKind.UNROLL, "u+": LoopKind.UNROLL, "p": LoopKind.PARALLEL
}  # fmt: skip


def unroll(*bounds: Value | Grid | range) -> Range | Grid:
    """Numbers as of `range`, in a loop that is replaced by its iterations; or a `grid` so."""
    return hinted(bounds, LoopKind.UNROLL)


def vectorize(*bounds: Value | Grid | range) -> Range | Grid:
    """Numbers as of `range`; the iterations are independent and may run in vector lanes."""
    return hinted(bounds, LoopKind.VECTOR)


def parallel(*bounds: Value | Grid | range) -> Range | Grid:
    """Numbers as of `range`; the iterations are spread over the threads of a CPU."""
    return hinted(bounds, LoopKind.PARALLEL)


def static(items: Iterable[Any]) -> Static:
    """Any Python iterable, gone through while transcribing."""
    return Static(tuple(known(items)))


def hinted(bounds: tuple[Any, ...], kind: LoopKind) -> Range | Grid:
    """A range, or the grid given in its place, that runs as `kind`."""
    if len(bounds) == 1 and isinstance(bounds[0], Grid):
        extents = bounds[0].extents
        outer = LoopKind.SERIAL if kind is LoopKind.VECTOR else kind
        return Grid(extents, (outer,) * (len(extents) - 1) + (kind,))
    if len(bounds) == 1 and isinstance(bounds[0], range):
        known = bounds[0]
        return Range(known.start, known.stop, known.step, kind)
    found = span(*bounds)
    return Range(found.start, found.stop, found.step, kind)


def known(over: Any) -> Iterator[Any]:
    """The items of a range whose numbers are known; BadScript for others."""
    if isinstance(over, Range):
        bounds = [plain(v) for v in (over.start, over.stop, over.step)]
        if all(isinstance(v, int) for v in bounds):
            return iter(range(*bounds))
        raise BadScript("this range is known only at run time", help="loop over it by `for`")
    if isinstance(over, Expr):
        raise BadScript(f"{spoken(over)} cannot be iterated", help="loop over its indices")
    try:
        return iter(over)
    except TypeError:
        raise BadScript(f"{spoken(over)} cannot be iterated") from None
