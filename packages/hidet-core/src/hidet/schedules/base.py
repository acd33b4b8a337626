"""How operators are computed: schedules by operator and target, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hidet import options
from hidet.compute.strides import StridedView
from hidet.cost import Work, seconds
from hidet.graph.operator import Op
from hidet.ir.kernel import Module
from hidet.schedules.space import points
from hidet.schedules.typical import expected, typical
from hidet.target import Target

F = TypeVar("F", bound=Callable[..., Any])
FAR = 2.0
"""How much slower than the best a point is by the cost model that is not looked at further."""


@dataclass(frozen=True)
class Scheduled:
    """An operator as kernels: the module's parameters are its operands in order, then results."""

    module: Module
    point: Any = None
    schedule: str = "automatic"


@dataclass(frozen=True)
class AccumulatorEpilogue:
    """What follows an operator and is computed in float32 on nothing but what it has summed up, so
    that it had better be computed ahead of the rounding (`FromAccumulators`)."""

    pairs: bool
    """Whether an element is made of two neighbours along the last axis, from an even one on."""


@dataclass(frozen=True)
class Schedule:
    """A way to compute operators of `ops` on targets of a kind, for each point of `space`."""

    name: str
    ops: tuple[type[Op], ...]
    target: str
    space: type[Any]
    when: Callable[[Any, Target], bool]
    build: Callable[..., Scheduled]
    without_prologue: tuple[int, ...] = ()
    """Positions of the operands that it reads otherwise than through hooks, as by the copy engine:
    nothing can be computed where it reads them."""
    run: int = 0
    """Neighbours in a row of an operand in `without_prologue` that one access takes at most: parts
    of a tensor that keep these together can be read where they are. 0: nothing but whole tensors
    can be read."""
    view: Callable[[Any, int], StridedView] | None = None
    """How its tensor maps see the operand at a position in `without_prologue`, in memory of its
    own: parts of a tensor that other strides describe can be read where they are."""
    channels_last: Callable[[Any, Target], bool] = lambda op, target: False
    """Whether it makes an operator whose channels are second worth turning into the same with its
    channels last, which the schedule takes."""
    channels_last_among: Callable[[Any, Target], bool] = lambda op, target: False
    """The same where the graph has other convolutions, so that turning images is paid for by
    several."""
    accumulator_epilogue: bool = False
    """Whether it asks, by a fourth argument, what follows, to have that computed where its sums
    are: it brings results through shared memory in their own type."""

    def fitting(self, op: Op, target: Target) -> Iterator[Any]:
        """The points that fit operator and target."""
        if isinstance(op, self.ops) and target.kind == self.target and self.when(op, target):
            yield from (point for point in points(self.space) if point.fits(op, target))

    def fits(self, op: Op, target: Target) -> bool:
        """Whether any point fits operator and target."""
        return any(True for _ in self.fitting(op, target))

    def candidates(self, op: Op, target: Target) -> list[Candidate]:
        """The schedule at the points that fit, the cheapest by the cost model first."""
        return Ranking(op, target, [self]).candidates()

    def gains_by_channels_last(self, op: Op, target: Target, among: bool = False) -> bool:
        """Whether operator and target are of its kind, and it asks for channels last: by itself, or
        `among` other convolutions."""
        if not (isinstance(op, self.ops) and target.kind == self.target):
            return False
        return self.channels_last(op, target) or (among and self.channels_last_among(op, target))

    def apply(
        self, op: Op, target: Target, point: Any, after: AccumulatorEpilogue | None = None
    ) -> Scheduled:
        """The operator as kernels at `point`; `after` is what follows, if that may be computed on
        accumulators."""
        built = self.build(op, target, point, *((after,) if self.accumulator_epilogue else ()))
        return Scheduled(built.module, point, self.name)


SCHEDULES: list[Schedule] = []
"""Every schedule that is filed, in order; complete after `hidet.schedules.load`."""


def schedule_for(
    *ops: type[Op],
    target: str,
    space: type[Any],
    when: Callable[[Any, Target], bool] = lambda op, target: True,
    without_prologue: tuple[int, ...] = (),
    run: int = 0,
    view: Callable[[Any, int], StridedView] | None = None,
    channels_last: Callable[[Any, Target], bool] = lambda op, target: False,
    channels_last_among: Callable[[Any, Target], bool] = lambda op, target: False,
    accumulator_epilogue: bool = False,
) -> Callable[[F], F]:
    """File a function `(op, target, point) -> Scheduled` as a schedule of these operators.

    With `accumulator_epilogue` there is a fourth argument, what follows.
    """

    def file(build: F) -> F:
        made = Schedule(
            build.__name__, ops, target, space, when, build, without_prologue, run, view,
            channels_last, channels_last_among, accumulator_epilogue,
        )  # fmt: skip
        SCHEDULES.append(made)
        return build

    return file


@dataclass(frozen=True)
class Candidate:
    """A schedule at a point, with what the cost model expects of it."""

    schedule: Schedule
    point: Any
    seconds: float

    @property
    def choice(self) -> Choice:
        """The candidate by name."""
        return Choice(self.schedule.name, self.point)


@dataclass(frozen=True)
class Choice:
    """One of an operator's candidates by name: data, which goes to other processes."""

    schedule: str
    point: Any

    def __str__(self) -> str:
        return f"{self.schedule} {self.point}"


class Ranking:
    """The points of schedules that fit an operator, and what each takes in calls."""

    def __init__(self, op: Op, target: Target, schedules: Sequence[Schedule]) -> None:
        self.op, self.target = op, target
        self.ways = [(each, point) for each in schedules for point in each.fitting(op, target)]
        self.known: dict[Op, list[tuple[float, float]]] = {}

    def at(self, call: Op) -> list[tuple[float, float]]:
        """The seconds and the operations of each point in a call, estimated once."""
        if call not in self.known:
            works = (point.work(call, self.target) for _, point in self.ways)
            self.known[call] = [(seconds(work, self.target), work.flops) for work in works]
        return self.known[call]

    def narrowed(self, calls: Sequence[int]) -> Ranking:
        """The points alone that in one of the calls take less than `FAR` times as long as the
        best."""
        made = Ranking(self.op, self.target, ())
        works = [self.at(each) for each in typical(self.op, self.target, calls)]
        least = [FAR * min((cost for cost, _ in each), default=0.0) for each in works]
        near = [
            number
            for number in range(len(self.ways))
            if any(each[number][0] < most for each, most in zip(works, least, strict=True))
        ]
        made.ways = [self.ways[number] for number in near]
        made.known = {call: [each[n] for n in near] for call, each in self.known.items()}
        return made

    def candidates(self, calls: Sequence[int] = ()) -> list[Candidate]:
        """The points, the cheapest by the cost model first.

        Of those of one schedule that wait for memory as long, the one that computes least is the
        first. What an operator of unknown sizes costs is what it does in `typical` calls.
        """
        works = zip(*map(self.at, typical(self.op, self.target, calls)), strict=True)
        costs = [[expected(each) for each in zip(*work, strict=True)] for work in works]
        found = [Candidate(*way, cost) for way, (cost, _) in zip(self.ways, costs, strict=True)]
        place = {id(each): number for number, (each, _) in enumerate(self.ways)}
        order = sorted(
            range(len(found)),
            key=lambda i: (found[i].seconds, place[id(found[i].schedule)], costs[i][1]),
        )
        return [found[i] for i in order]


AUTOMATIC = Choice("automatic", None)
"""What is made for any definition, where no schedule that was written for an operator is right."""


def candidates(op: Op, target: Target) -> list[Candidate]:
    """Every schedule at every point that fits, the cheapest by the cost model first.

    Where the option `parallel_k` says so, those that share sums among other numbers of blocks are
    left out.
    """
    return sharing(Ranking(op, target, SCHEDULES).candidates())


def gains_by_channels_last(op: Op, target: Target, among: bool = False) -> bool:
    """Whether some schedule asks for this operator with its channels last; `among` others."""
    return any(each.gains_by_channels_last(op, target, among) for each in SCHEDULES)


def sharing(found: list[Candidate]) -> list[Candidate]:
    """Those that share sums among as many blocks as the option `parallel_k` says.

    A number is an upper bound: k may be too short for it, or a schedule not know it. By default
    each tile comes once, with the number that the cost model likes best, except where the whole
    space was asked for.
    """
    asked = options.parallel_k.get()
    if asked == "search" or (asked == "default" and options.search_space.get() == 2):
        return found
    if asked == "default":
        best: dict[Any, Candidate] = {}
        for each in found:
            best.setdefault((each.schedule.name, unshared(each.point)), each)
        return list(best.values())
    bound = 1 if asked == "disabled" else int(asked)
    most: dict[str, int] = {}
    for each in found:
        count, name = slices(each.point) or 1, each.schedule.name
        if count <= bound:
            most[name] = max(most.get(name, 1), count)
    return [each for each in found if slices(each.point) in (most.get(each.schedule.name), None)]


def slices(point: Any) -> Any:
    """How many blocks share a sum at this point; None where the schedule has no such choice."""
    return getattr(point, "slices", None)


def unshared(point: Any) -> Any:
    """The point with every sum in one block."""
    return point if slices(point) is None else replace(point, slices=1)


__all__ = [
    "AUTOMATIC",
    "SCHEDULES",
    "AccumulatorEpilogue",
    "Candidate",
    "Choice",
    "Ranking",
    "Schedule",
    "Scheduled",
    "Work",
    "candidates",
    "gains_by_channels_last",
    "schedule_for",
]
