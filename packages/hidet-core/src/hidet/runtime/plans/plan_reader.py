"""A launch plan from JSON, every field checked: archives may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any, cast, get_args

from hidet.errors import BadArchive
from hidet.runtime.plans.kernel_note import read_note
from hidet.runtime.plans.maps import Map, read_map
from hidet.runtime.plans.names_in_files import in_file
from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.runtime.plans.plan import (
    Argument,
    Branch,
    Buffer,
    Guard,
    Host,
    Launch,
    Limits,
    Piece,
    Plan,
    Pointer,
    Repeat,
    Role,
    Scalar,
    SizeBuffer,
    Step,
    Then,
    arguments,
    is_range,
)
from hidet.runtime.plans.sizes import RELATIONS, Relation, Size, checked_size
from hidet.types import dtype


def read_plan(data: Any) -> Plan:
    """The plan that JSON `data` describes; BadArchive names what is wrong with it."""
    return Reader(data).plan()


class Reader:
    """Checks a plan's data field by field."""

    def __init__(self, data: Any) -> None:
        self.data = self.mapping(data, "the plan")
        self.symbols: dict[str, tuple[int, int]] = {}
        self.given: dict[str, None] = {}
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
        for name in self.sequence({"given": [], **self.data}, "given", "the plan"):
            self.given[self.text(name, "a given size")] = None
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
        guards = tuple(
            self.guard(each, inputs)
            for each in self.sequence({"guards": [], **self.data}, "guards", "the plan")
        )
        then = None if self.data.get("then") is None else self.then(self.data["then"])
        found = self.sequence({"kernels": [], **self.data}, "kernels", "the plan")
        return Plan(
            target, made, steps, inputs, outputs, self.symbols, limits, guards, tuple(self.given),
            then, tuple(read_note(each, self.sizes) for each in found),
        )  # fmt: skip

    def then(self, data: Any) -> Then:
        """What follows; what it takes is checked with it (`calls.py`)."""
        where = "what follows the plan"
        fields = self.mapping(data, where)
        sizes = self.sequence(fields, in_file("data_sizes"), where)
        names = {self.text(self.mapping(each, where).get("name"), where): None for each in sizes}
        data_sizes = tuple(self.data_sizes(each, names) for each in sizes)
        forwarded = self.numbers(fields.get(in_file("forwarded")), where)
        results = self.whole(fields.get("results"), where)
        (passed,) = self.whole([fields.get("passed")], where, len_=1)
        return Then(self.text(fields.get("plan"), where), data_sizes, forwarded, results, passed)

    def data_sizes(self, data: Any, names: dict[str, None]) -> SizeBuffer:
        """A size that a buffer tells, one of those of these names."""
        where = "a data-dependent size"
        fields = self.mapping(data, where)
        name = self.text(fields.get("name"), where)
        (buffer,) = self.numbers([fields.get("buffer")], where)
        limits = self.range([fields.get("low"), fields.get("high")], name)
        given, known = fields.get("equals"), {**self.sizes, **names}
        equals = None if given is None else checked_size(given, known, where)
        holds = tuple(
            self.relation(each, known, where)
            for each in self.sequence({"holds": [], **fields}, "holds", where)
        )
        return SizeBuffer(name, buffer, *limits, equals, holds)

    def relation(self, data: Any, known: Mapping[str, Any], where: str) -> Relation:
        """What has to hold of sizes."""
        fields = self.mapping(data, where)
        left, right = (checked_size(fields.get(each), known, where) for each in ("left", "right"))
        if (sign := fields.get("sign")) not in RELATIONS:
            raise BadArchive(f"{where} has a relation {str(sign)[:80]}")
        return Relation(left, sign, right)

    def guard(self, data: Any, inputs: tuple[int, ...]) -> Guard:
        """Why an axis of an input has the size it has."""
        fields = self.mapping(data, "a guard")
        given, axis = self.whole([fields.get("input"), fields.get("axis")], "a guard", len_=2)
        if not 0 <= given < len(inputs) or not 0 <= axis < 64:
            raise BadArchive(f"a guard of axis {axis} of input {given}, which is not there")
        symbol, place = (self.text(fields.get(each), "a guard") for each in ("symbol", "place"))
        return Guard(given, axis, symbol, place)

    def limit(self, name: str, data: Any) -> Limits:
        """The least and the greatest number that a size may be."""
        if name not in self.symbols:
            raise BadArchive(f"there are limits of a size {name!r}, which no input has")
        return self.range(data, name)

    def range(self, data: Any, name: str) -> Limits:
        """Two ends, of which the second may be missing."""
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
        shape = tuple(self.size(each, where) for each in self.sequence(fields, "shape", where))
        if any(isinstance(each, int) and each < 0 for each in shape):
            raise BadArchive(f"{where} has a negative size")
        given = self.sequence({"pieces": [], **fields}, "pieces", where)
        pieces = tuple(self.piece(each, where) for each in given)
        whole = fields.get("within")
        within = None if whole is None else self.numbers([whole], where)[0]
        name = self.text(fields.get("name"), where)
        order = self.whole(fields.get("order", []), where)
        if order and (role != "input" or sorted(order) != [*range(len(shape))]):
            raise BadArchive(f"{where}, an {role} of {len(shape)} axes, lies in the order {order}")
        return Buffer(name, cast(Role, role), kind, shape, pieces, within, order)

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
        if fields.get("kind") == "Branch":
            return self.branch(fields, where)
        if fields.get("kind") == "Repeat":
            return self.repeat(fields, where)
        reads = self.numbers(fields.get("reads"), where)
        writes = self.numbers(fields.get("writes"), where)
        if fields.get("kind") == "Host":
            return Host(
                self.text(fields.get("key"), where), reads, writes, self.shapes(fields, where)
            )
        if fields.get("kind") != "Launch":
            raise BadArchive(f"{where} is of kind {fields.get('kind')!r}")
        grid = tuple(self.size(each, where) for each in self.sequence(fields, "grid", where, 3))
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
        ahead = self.numbers(fields.get("ahead", []), where)
        if not set(ahead) <= set(reads):
            raise BadArchive(f"{where} reads {ahead} ahead, of which it reads only {reads}")
        found = self.sequence({"when": [], **fields}, "when", where)
        when = tuple(self.relation(each, self.sizes, where) for each in found)
        room = self.room(fields.get("room"), where)
        more = shared, waits, signals, tuple(pairs), room, ahead, when
        return Launch(binary, function, args, reads, writes, grid, block, *more)  # type: ignore[arg-type]

    def shapes(self, fields: dict[str, Any], where: str) -> tuple[tuple[Size, ...], ...]:
        """The shapes in which a region takes what it reads, if it says any."""
        given = self.sequence({"shapes": [], **fields}, "shapes", where)
        if given and len(given) != len(self.sequence(fields, "reads", where)):
            raise BadArchive(f"{where} has {len(given)} shapes for other numbers of operands")
        return tuple(
            tuple(self.size(each, where) for each in self.sequence({"shape": s}, "shape", where))
            for s in given
        )

    def branch(self, fields: dict[str, Any], where: str) -> Branch:
        """A choice of two plans; what they take is checked with them (`calls.py`)."""
        condition, arena = self.numbers([fields.get("condition"), fields.get("arena")], where)
        operands, results = (self.numbers(fields.get(n), where) for n in ("operands", "results"))
        then, other = (self.text(n, where) for n in self.sequence(fields, "plans", where, 2))
        return Branch(condition, operands, results, (then, other), arena)

    def repeat(self, fields: dict[str, Any], where: str) -> Repeat:
        """A plan in a loop; what it takes is checked with it (`calls.py`)."""
        go_on, trips, again = (
            self.maybe(fields.get(n), where) for n in ("go_on", "trips", "again")
        )
        iterations, iteration, arena = self.numbers(
            [fields.get(in_file(name)) for name in ("iterations", "iteration", "arena")], where
        )
        carried, captured, results = (
            self.numbers(fields.get(name), where) for name in ("carried", "captured", "results")
        )
        twins = tuple(self.maybe(n, where) for n in self.sequence(fields, "twins", where))
        if not len(carried) == len(results) == len(twins):
            raise BadArchive(f"{where} carries {carried} to {results} and {twins}")
        count = fields.get("count")
        return Repeat(
            self.text(fields.get("plan"), where),
            go_on,
            trips,
            None if count is None else self.size(count, where),
            carried,
            captured,
            results,
            twins,
            iterations,
            iteration,
            again,
            arena,
            self.text(fields["driver"], where) if fields.get("driver") else "",
        )

    def maybe(self, data: Any, where: str) -> int | None:
        """The number of a buffer, if there is one."""
        return None if data is None else self.numbers([data], where)[0]

    @property
    def sizes(self) -> dict[str, Any]:
        """The names of sizes that are known when the plan runs."""
        return {**self.symbols, **self.given}

    def size(self, data: Any, where: str) -> Size:
        """A size over these."""
        return checked_size(data, self.sizes, where)

    def room(self, data: Any, where: str) -> OccupancyLimit | None:
        """Where the blocks of a launch go, if that is known."""
        if data is None:
            return None
        fields = self.mapping(data, where)
        cores, *more = self.whole(
            [fields.get(each.name) for each in fields_of(OccupancyLimit)], where
        )
        if cores < 1 or min(more) < 0:
            raise BadArchive(f"{where} has {cores} multiprocessors and {more}")
        return OccupancyLimit(cores, *more)

    def argument(self, data: Any, where: str) -> Argument:
        """One argument of a launch."""
        fields = self.mapping(data, where)
        if "buffer" in fields:
            (buffer,) = self.numbers([fields["buffer"]], where)
            if "box" in fields:
                return read_map(fields, buffer, self.sizes, where)
            return Pointer(buffer)
        kind = self.text(fields.get("dtype"), where)
        if kind not in ("int32", "int64"):
            raise BadArchive(f"{where} takes a size as {kind!r}")
        return Scalar(kind, self.size(fields.get("value"), where))

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
