"""The launch plan of a compiled graph: plain data, which `plan_reader` reads back from JSON.

Buffers are numbered; steps run in order, or in parallel where no buffer connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from hidet.runtime.maps import Map
from hidet.runtime.sizes import Size
from hidet.types import dtype

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

    An input's name is what users call it; `input0` and so on where they call it nothing.
    `pieces` are the weights of which it consists, where steps only move those. A `part` is what one
    step writes of the buffer `within`, of which nobody else writes that: an argument that names it
    is the address of the whole.
    """

    name: str
    role: Role
    dtype: str
    shape: tuple[Size, ...]
    pieces: tuple[Piece, ...] = ()
    within: int | None = None

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
class Room:
    """Where the blocks of a launch go: as many as `cores` fill so many multiprocessors, each with
    `shared_bytes` of shared memory and places for `most` blocks that take none; a block takes
    `fixed` bytes beside what is dynamic. `few` blocks on one are no loss, even if others have none.
    """

    cores: int
    shared_bytes: int
    most: int
    fixed: int
    few: int = 1


@dataclass(frozen=True)
class Launch:
    """Run function `function` of binary `binary`; `reads` and `writes` are buffers.

    `waits`: all threads of the kernel wait for the launches before ahead of their first use of
    memory, so that it may begin early. `signals`: it lets launches after it begin while its last
    blocks run. `in_place`: buffers that it writes, and for each one that it reads in whose place
    that may lie. `room`: what is known of where the blocks go. `ahead`: buffers that it reads ahead
    of its wait for the launches before.
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
    room: Room | None = None
    ahead: tuple[int, ...] = ()

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
    """Let the framework run region `key` on some buffers into others."""

    key: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    def on(self, number: Callable[[int], int]) -> Host:
        """The region on other buffers: `number` gives the new one for each."""
        reads, writes = (tuple(map(number, each)) for each in (self.reads, self.writes))
        return replace(self, reads=reads, writes=writes)


Step: TypeAlias = Launch | Host


@dataclass(frozen=True)
class Guard:
    """Why an axis of an input has the size it has: `symbol` is what the framework called it, which
    something at `place` of the model needs to be so."""

    input: int
    axis: int
    symbol: str
    place: str


@dataclass(frozen=True)
class Plan:
    """What a call does. `symbols` maps a size's name to the input and axis it is read from.

    `limits` are those of sizes that may not be any number.
    """

    target: str
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    limits: dict[str, Limits] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON-able data."""
        data = asdict(self)
        for made, step in zip(data["steps"], self.steps, strict=True):
            made["kind"] = type(step).__name__
        return data

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


def arguments(steps: Iterable[Step]) -> Iterator[Argument]:
    """The arguments of all launches."""
    return (arg for step in steps if isinstance(step, Launch) for arg in step.args)
