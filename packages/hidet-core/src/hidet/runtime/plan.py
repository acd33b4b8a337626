"""The launch plan of a compiled graph: plain data, JSON both ways, every field checked on reading.

Buffers are numbered; steps run in order, or in parallel where no buffer connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from hidet.errors import BadArchive
from hidet.runtime.maps import Map, read_map
from hidet.runtime.sizes import Size, checked_size
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
class Launch:
    """Run function `function` of binary `binary`; `reads` and `writes` are buffers.

    `waits`: all threads of the kernel wait for the launches before ahead of their first use of
    memory, so that it may begin early. `signals`: it lets launches after it begin while its last
    blocks run. `in_place`: buffers that it writes, and for each one that it reads in whose place
    that may lie.
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

    def on(self, number: Callable[[int], int]) -> Launch:
        """The launch on other buffers: `number` gives the new one for each."""
        args = (
            arg if isinstance(arg, Scalar) else replace(arg, buffer=number(arg.buffer))
            for arg in self.args
        )
        reads, writes = (tuple(dict.fromkeys(map(number, n))) for n in (self.reads, self.writes))
        pairs = tuple((number(new), number(old)) for new, old in self.in_place)
        return replace(self, args=tuple(args), reads=reads, writes=writes, in_place=pairs)


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

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON-able data."""
        data = asdict(self)
        for made, step in zip(data["steps"], self.steps, strict=True):
            made["kind"] = type(step).__name__
        return data

    @staticmethod
    def from_json(data: Any) -> Plan:
        """The plan that `data` describes; BadArchive names what is wrong with it."""
        return Reader(data).plan()

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


class Reader:
    """Checks a plan's data field by field."""

    def __init__(self, data: Any) -> None:
        self.data = self.mapping(data, "the plan")
        self.symbols: dict[str, tuple[int, int]] = {}
        self.count = 0

    def plan(self) -> Plan:
        """The plan."""
        buffers = self.items("buffers")
        self.count = len(buffers)
        inputs = self.numbers(self.data.get("inputs"), "inputs")
        for name, spot in self.mapping(self.data.get("symbols", {}), "symbols").items():
            given, axis = self.whole(spot, "symbols", len_=2)
            if not 0 <= given < len(inputs) or not 0 <= axis < 64:
                raise BadArchive(f"symbol {name!r} is read from input {given}, axis {axis}")
            self.symbols[str(name)] = (given, axis)
        made = tuple(self.buffer(each, f"buffer {i}") for i, each in enumerate(buffers))
        for name, (given, axis) in self.symbols.items():
            if axis >= len(made[inputs[given]].shape):
                raise BadArchive(f"symbol {name!r} is read from an axis that is not there")
        steps = tuple(self.step(each, f"step {i}") for i, each in enumerate(self.items("steps")))
        outputs = self.numbers(self.data.get("outputs"), "outputs")
        self.ends(made, inputs, "input")
        names = [made[number].name for number in inputs]
        if len(set(names)) < len(names):
            raise BadArchive(f"two inputs have one name: {', '.join(names)}"[:200])
        given_limits = self.mapping(self.data.get("limits", {}), "limits")
        limits = {name: self.limit(name, each) for name, each in given_limits.items()}
        self.ends(made, outputs, "output")
        self.check_parts(made, steps)
        target = self.text(self.data.get("target"), "target")
        if target.startswith("cpu") and any(isinstance(arg, Map) for arg in arguments(steps)):
            raise BadArchive(f"a plan for {target} has tensor maps, which only GPUs have")
        return Plan(target, made, steps, inputs, outputs, self.symbols, limits)

    def limit(self, name: str, data: Any) -> Limits:
        """The least and the greatest number that a size may be."""
        if name not in self.symbols:
            raise BadArchive(f"there are limits of a size {name!r}, which no input has")
        low, high = self.sequence({"limits": data}, "limits", f"size {name!r}", 2)
        self.whole([low] if high is None else [low, high], f"size {name!r}")
        if not is_range(low, high):
            raise BadArchive(f"size {name!r} is to be at least {low} and at most {high}")
        return low, high

    def ends(self, buffers: tuple[Buffer, ...], numbers: tuple[int, ...], role: Role) -> None:
        """Refuse inputs or outputs that are not each a buffer of its own of that role."""
        found = [i for i, buffer in enumerate(buffers) if buffer.role == role]
        if sorted(numbers) != found:
            raise BadArchive(f"the {role}s {numbers} are not the buffers of that role, {found}")

    def check_parts(self, buffers: tuple[Buffer, ...], steps: tuple[Step, ...]) -> None:
        """Refuse parts of what no step may write part by part, and steps that read parts."""
        parts = {number for number, buffer in enumerate(buffers) if buffer.role == "part"}
        for number in parts:
            part, within = buffers[number], buffers[number].within
            whole = None if within is None else buffers[within]
            if whole is None or whole.role not in ("output", "workspace"):
                raise BadArchive(f"buffer {number} is a part of no output or workspace")
            if part.dtype != whole.dtype:
                raise BadArchive(f"buffer {number} is a part of one of another type")
            # The whole may be under another shape: an output is, if that is what the caller gets.
            least, most = part.elements, whole.elements
            if least is not None and most is not None and least > most:
                raise BadArchive(f"buffer {number} is a part of a smaller one")
        if any(buffer.within is not None for buffer in buffers if buffer.role != "part"):
            raise BadArchive("a buffer with memory of its own lies within another one")
        if any(parts & set(step.reads) for step in steps):
            raise BadArchive("a step reads a part of a buffer by itself")

    def buffer(self, data: Any, where: str) -> Buffer:
        """One buffer."""
        fields = self.mapping(data, where)
        role = fields.get("role")
        if role not in get_args(Role):
            raise BadArchive(f"{where} has role {role!r}")
        try:
            kind = dtype(self.text(fields.get("dtype"), where)).name
        except ValueError as error:
            raise BadArchive(f"{where}: {error}") from None
        shape = tuple(
            checked_size(each, self.symbols, where)
            for each in self.sequence(fields, "shape", where)
        )
        if any(isinstance(each, int) and each < 0 for each in shape):
            raise BadArchive(f"{where} has a negative size")
        given = self.sequence({"pieces": [], **fields}, "pieces", where)
        pieces = tuple(self.piece(each, where) for each in given)
        whole = fields.get("within")
        within = None if whole is None else self.numbers([whole], where)[0]
        name = self.text(fields.get("name"), where)
        return Buffer(name, cast(Role, role), kind, shape, pieces, within)

    def piece(self, data: Any, where: str) -> Piece:
        """A weight that lies in a buffer."""
        fields = self.mapping(data, where)
        (offset,) = self.whole([fields.get("offset")], where, len_=1)
        strides = self.whole(fields.get("strides"), where)
        if offset < 0 or any(each < 0 for each in strides):
            raise BadArchive(f"{where} has a piece that begins before it")
        return Piece(self.text(fields.get("weight"), where), offset, strides)

    def step(self, data: Any, where: str) -> Step:
        """One step."""
        fields = self.mapping(data, where)
        reads = self.numbers(fields.get("reads"), where)
        writes = self.numbers(fields.get("writes"), where)
        if fields.get("kind") == "Host":
            return Host(self.text(fields.get("key"), where), reads, writes)
        if fields.get("kind") != "Launch":
            raise BadArchive(f"{where} is of kind {fields.get('kind')!r}")
        size: Callable[[Any], Size] = lambda each: checked_size(each, self.symbols, where)  # noqa: E731
        grid = tuple(size(each) for each in self.sequence(fields, "grid", where, 3))
        block = self.whole(fields.get("block"), where, len_=3)
        (shared,) = self.whole([fields.get("shared_bytes")], where, len_=1)
        if not all(1 <= each <= 1024 for each in block) or not 0 <= shared <= 1 << 20:
            raise BadArchive(f"{where} launches blocks of {block} with {shared} bytes")
        args = tuple(self.argument(each, where) for each in self.sequence(fields, "args", where))
        unnamed = {a.buffer for a in args if not isinstance(a, Scalar)} - {*reads, *writes}
        if unnamed:
            raise BadArchive(
                f"{where} has buffers {sorted(unnamed)} that it neither reads nor writes"
            )
        binary, function = (self.text(fields.get(each), where) for each in ("binary", "function"))
        waits, signals = (self.flag(fields.get(e, False), where) for e in ("waits", "signals"))
        given = self.sequence({"in_place": [], **fields}, "in_place", where)
        pairs = [self.whole(each, where, len_=2) for each in given]
        if not all(new in writes and old in reads for new, old in pairs):
            raise BadArchive(f"{where} writes in the place of what it does not read: {pairs}")
        more = shared, waits, signals, tuple(pairs)
        return Launch(binary, function, args, reads, writes, grid, block, *more)  # type: ignore[arg-type]

    def argument(self, data: Any, where: str) -> Argument:
        """One argument of a launch."""
        fields = self.mapping(data, where)
        if "buffer" in fields:
            (buffer,) = self.numbers([fields["buffer"]], where)
            if "box" in fields:
                return read_map(fields, buffer, self.symbols, where)
            return Pointer(buffer)
        kind = self.text(fields.get("dtype"), where)
        if kind not in ("int32", "int64"):
            raise BadArchive(f"{where} takes a size as {kind!r}")
        return Scalar(kind, checked_size(fields.get("value"), self.symbols, where))

    def items(self, name: str) -> list[Any]:
        """A list at the top of the plan."""
        return self.sequence(self.data, name, "the plan")

    def sequence(
        self, fields: dict[str, Any], name: str, where: str, len_: int | None = None
    ) -> list[Any]:
        """A list in a field."""
        found = fields.get(name)
        if not isinstance(found, list | tuple) or len(found) > 1 << 20:
            raise BadArchive(f"{where} has no list of {name}")
        if len_ is not None and len(found) != len_:
            raise BadArchive(f"{where} has {len(found)} {name}, not {len_}")
        return list(found)

    def numbers(self, data: Any, where: str) -> tuple[int, ...]:
        """Numbers of buffers."""
        found = self.whole(data, where)
        if not all(0 <= each < self.count for each in found):
            raise BadArchive(f"{where} names a buffer that is not there: {found}")
        return found

    def whole(self, data: Any, where: str, len_: int | None = None) -> tuple[int, ...]:
        """Whole numbers."""
        good = isinstance(data, list | tuple) and all(type(each) is int for each in data)
        if not good or (len_ is not None and len(data) != len_):
            raise BadArchive(f"{where} has {str(data)[:80]} where whole numbers belong")
        return tuple(data)

    def flag(self, data: Any, where: str) -> bool:
        """True or false."""
        if not isinstance(data, bool):
            raise BadArchive(f"{where} has {str(data)[:80]} where true or false belongs")
        return data

    def text(self, data: Any, where: str) -> str:
        """A text."""
        if not isinstance(data, str) or len(data) > 4096:
            raise BadArchive(f"{where} has {str(data)[:80]} where a text belongs")
        return data

    def mapping(self, data: Any, where: str) -> dict[str, Any]:
        """A mapping."""
        if not isinstance(data, dict):
            raise BadArchive(f"{where} is no mapping")
        return data
