"""The launch plan of a compiled graph: plain data, which `plan_reader` reads back from JSON.

Buffers are numbered; steps run in order, or in parallel where no buffer connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import prod
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from hidet.runtime.plans.kernel_note import KernelNote
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.names_in_files import stored
from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.runtime.plans.sizes import Relation, Size
from hidet.types import dtype

T = TypeVar("T")
Role: TypeAlias = Literal["input", "output", "weight", "derived", "workspace", "part"]
Limits: TypeAlias = tuple[int, int | None]
"""The least and the greatest number that a size may be; None: it may be any larger one."""


def is_range(low: int, high: int | None) -> bool:
    """Whether these are limits that some size keeps."""
    return low >= 0 and (high is None or high >= low)


@dataclass(frozen=True)
class Piece:
    """A weight that lies whole in a buffer: an offset and strides, in elements."""

    weight: str
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Buffer:
    """Memory that steps read and write. `derived` buffers are outputs of the prepare plan.

    An input's name is what users call it, or `input0` and so on; its axes lie in memory in `order`,
    outermost first (none: in rows). `pieces` are the weights of which it consists, where steps only
    move those. A `part` is what one step writes of the buffer `within`, of which nobody else writes
    that: an argument that names it is the address of the whole.
    """

    name: str
    role: Role
    dtype: str
    shape: tuple[Size, ...]
    pieces: tuple[Piece, ...] = ()
    within: int | None = None
    order: tuple[int, ...] = ()

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return int(np.dtype(dtype(self.dtype).numpy).itemsize)

    @property
    def elements(self) -> int | None:
        """How many there are; None if that is not known before a call."""
        sizes = [size for size in self.shape if isinstance(size, int)]
        return prod(sizes) if len(sizes) == len(self.shape) else None


@dataclass(frozen=True)
class Pointer:
    """An argument: the address of a buffer."""

    buffer: int


@dataclass(frozen=True)
class Scalar:
    """An argument: a size as a number of an integer type."""

    dtype: str
    value: Size


Argument: TypeAlias = Pointer | Scalar | Map


@dataclass(frozen=True)
class Launch:
    """Run function `function` of binary `binary`; `reads` and `writes` are buffers.

    `waits`: all threads of the kernel wait for the launches before ahead of their first use of
    memory, so that it may begin early. `signals`: it lets launches after it begin while its last
    blocks run. `in_place`: buffers that it writes, and for each one that it reads in whose place it
    may lie. `room`: what is known of where the blocks go. `ahead`: buffers that it reads before its
    wait. `when`: it runs in calls in whose sizes all of these hold; others launch another kernel.
    """

    binary: str
    function: str
    args: tuple[Argument, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    grid: tuple[Size, Size, Size] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    waits: bool = False
    signals: bool = False
    in_place: tuple[tuple[int, int], ...] = ()
    room: OccupancyLimit | None = None
    ahead: tuple[int, ...] = ()
    when: tuple[Relation, ...] = ()

    def on(self, number: Callable[[int], int]) -> Launch:
        """The launch on other buffers: `number` gives the new one for each."""
        args = (
            arg if isinstance(arg, Scalar) else replace(arg, buffer=number(arg.buffer))
            for arg in self.args
        )
        reads, writes, ahead = (
            tuple(dict.fromkeys(map(number, n))) for n in (self.reads, self.writes, self.ahead)
        )
        pairs = tuple((number(new), number(old)) for new, old in self.in_place)
        made = replace(self, args=tuple(args), reads=reads, writes=writes)
        return replace(made, in_place=pairs, ahead=ahead)


@dataclass(frozen=True)
class Host:
    """Let the framework run region `key` on some buffers into others.

    `shapes` are those that it takes what it reads in, which may lie in memory under other ones;
    without any it takes them as they lie.
    """

    key: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    shapes: tuple[tuple[Size, ...], ...] = ()

    def on(self, number: Callable[[int], int]) -> Host:
        """The region on other buffers: `number` gives the new one for each."""
        reads, writes = (tuple(map(number, each)) for each in (self.reads, self.writes))
        return replace(self, reads=reads, writes=writes)


@dataclass(frozen=True)
class Branch:
    """Run one of two plans of the archive on `operands` into `results`: the first where the bool
    `condition` holds. Workspaces of either lie in the buffer `arena`, as large as they need it.
    """

    condition: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    plans: tuple[str, str]
    arena: int

    @property
    def reads(self) -> tuple[int, ...]:
        """The buffers that it reads."""
        return (self.condition, *self.operands)

    @property
    def writes(self) -> tuple[int, ...]:
        """The buffers that it writes."""
        return (*self.results, *self.own)

    @property
    def own(self) -> tuple[int, ...]:
        """The workspaces that are there for the step alone."""
        return (self.arena,)

    @property
    def passed(self) -> tuple[int, ...]:
        """The buffers that stand for inputs and outputs of its plans."""
        return (*self.operands, *self.results)

    def on(self, number: Callable[[int], int]) -> Branch:
        """The same on other buffers: `number` gives the new one for each."""
        operands, results = (tuple(map(number, n)) for n in (self.operands, self.results))
        return replace(
            self,
            condition=number(self.condition),
            operands=operands,
            results=results,
            arena=number(self.arena),
        )


@dataclass(frozen=True)
class Repeat:
    """Run a plan of the archive in a loop: fewer than the i64 `trips` and than `count`, and as long
    as the bool `go_on` holds, then what each iteration writes into `again`.

    The plan reads the number of the `iteration`, what is `carried` and what is `captured`. It
    writes `again` and what the next iteration carries: into `results` or `twins`, alternately; what
    has no twin it updates in place. `iterations` becomes their number. On a CPU the binary `driver`
    has a function that runs iterations (`loop_driver.py`).
    """

    plan: str
    go_on: int | None
    trips: int | None
    count: Size | None
    carried: tuple[int, ...]
    captured: tuple[int, ...]
    results: tuple[int, ...]
    twins: tuple[int | None, ...]
    iterations: int
    iteration: int
    again: int | None
    arena: int
    driver: str = ""

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans that it runs."""
        return (self.plan,)

    @property
    def reads(self) -> tuple[int, ...]:
        """The buffers that it reads."""
        return (*present(self.go_on, self.trips), *self.carried, *self.captured)

    @property
    def writes(self) -> tuple[int, ...]:
        """The buffers that it writes."""
        return (*self.results, self.iterations, *self.own)

    @property
    def own(self) -> tuple[int, ...]:
        """The workspaces that are there for the step alone."""
        return present(*self.twins, self.iteration, self.again, self.arena)

    @property
    def passed(self) -> tuple[int, ...]:
        """The buffers that stand for inputs and outputs of its plan."""
        fresh = (r for r, twin in zip(self.results, self.twins, strict=True) if twin is not None)
        return (self.iteration, *self.carried, *self.captured, *present(self.again), *fresh)

    def on(self, number: Callable[[int], int]) -> Repeat:
        """The same on other buffers: `number` gives the new one for each."""

        def changed(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(changed, value))
            return None if value is None else number(value)

        names = (f.name for f in fields(self) if f.name not in ("plan", "count", "driver"))
        return replace(self, **{name: changed(getattr(self, name)) for name in names})


Step: TypeAlias = Launch | Host | Branch | Repeat


def present(*numbers: int | None) -> tuple[int, ...]:
    """Those of the buffers that are there."""
    return tuple(each for each in numbers if each is not None)


@dataclass(frozen=True)
class Guard:
    """Why an axis of an input has the size it has: `symbol` is what the framework called it, which
    something at `place` of the model needs to be so."""

    input: int
    axis: int
    symbol: str
    place: str


@dataclass(frozen=True)
class SizeBuffer:
    """A size of the plans that follow: the i64 in a buffer, once it has been computed. Sizes beyond
    `low` and `high` (None: there is no such limit) are refused, and others than `equals`, if that
    is given: a size over those that are known by then, others that are told with it among them."""

    name: str
    buffer: int
    low: int = 0
    high: int | None = None
    equals: Size | None = None
    holds: tuple[Relation, ...] = ()
    """What else is checked of these sizes."""


@dataclass(frozen=True)
class Then:
    """The plan that follows, once sizes were read that depend on data; it takes the buffers
    `forwarded` for its inputs.

    The results of the call are the plan's own outputs, but for the last `passed` ones, with those
    of what follows put in at the positions `results`.
    """

    plan: str
    data_sizes: tuple[SizeBuffer, ...]
    forwarded: tuple[int, ...]
    results: tuple[int, ...]
    passed: int

    def on(self, number: Callable[[int], int]) -> Then:
        """The same on other buffers: `number` gives the new one for each."""
        data_sizes = tuple(replace(each, buffer=number(each.buffer)) for each in self.data_sizes)
        return replace(self, data_sizes=data_sizes, forwarded=tuple(map(number, self.forwarded)))


@dataclass(frozen=True)
class Plan:
    """What a call does. `symbols` maps a size's name to the input and axis it is read from.

    `limits` are those of sizes that may not be any number. `given` are the sizes of a body that the
    plan tells which runs it, or ends before it begins. `then` follows where sizes depend on data,
    in a body too.
    """

    target: str
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    limits: dict[str, Limits] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    given: tuple[str, ...] = ()
    then: Then | None = None
    kernels: tuple[KernelNote, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON-able data."""
        data = asdict(self, dict_factory=stored)
        data = {k: v for k, v in data.items() if (k, v) != ("then", None)}  # as in older files
        for made, step in zip(data["steps"], self.steps, strict=True):
            made["kind"] = type(step).__name__
            if not made.get("when", True):
                del made["when"]
        return data

    @property
    def calls(self) -> list[str]:
        """The plans that steps run."""
        return [name for s in self.steps if isinstance(s, Branch | Repeat) for name in s.plans]

    @property
    def own_outputs(self) -> tuple[int, ...]:
        """The outputs that come out: all but those that only later plans read."""
        return self.outputs[: len(self.outputs) - (0 if self.then is None else self.then.passed)]

    def own(self, results: Sequence[T]) -> list[T]:
        """Of what there is for each result, that for the plan's own outputs."""
        later = () if self.then is None else self.then.results
        return [each for at, each in enumerate(results) if at not in later]

    def merged(self, own: Sequence[T], later: Sequence[T]) -> list[T]:
        """What there is for the plan's own outputs that come out, and for results of those that
        follow, in the order of the results."""
        places = () if self.then is None else self.then.results
        following, first = dict(zip(places, later, strict=True)), iter(own)
        return [
            following[at] if at in following else next(first) for at in range(len(own) + len(later))
        ]

    @property
    def binaries(self) -> set[str]:
        """The binaries that steps run functions of."""
        launched = {each.binary for each in self.steps if isinstance(each, Launch)}
        return launched | {e.driver for e in self.steps if isinstance(e, Repeat) and e.driver}

    @property
    def input_names(self) -> list[str]:
        """What the inputs are called, in order."""
        return [self.buffers[number].name for number in self.inputs]

    @property
    def wholes(self) -> dict[int, int]:
        """For each part the buffer in which it lies."""
        return {n: b.within for n, b in enumerate(self.buffers) if b.within is not None}

    def of_role(self, role: Role) -> list[int]:
        """The numbers of the buffers of a role."""
        return [number for number, buffer in enumerate(self.buffers) if buffer.role == role]


def has_fixed_sizes(launch: Launch) -> bool:
    """Whether a launch itself has no size that depends on a call; buffers that it names may."""
    sizes: list[Size] = [*launch.grid]
    for arg in launch.args:
        if isinstance(arg, Scalar):
            sizes.append(arg.value)
        elif isinstance(arg, Map):
            sizes += (*arg.shape, *arg.strides)
    return all(isinstance(size, int) for size in sizes)


def arguments(steps: Iterable[Step]) -> Iterator[Argument]:
    """The arguments of all launches."""
    return (arg for step in steps if isinstance(step, Launch) for arg in step.args)
