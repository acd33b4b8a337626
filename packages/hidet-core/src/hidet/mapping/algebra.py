"""Task mappings: which worker does which tasks, and in which order.

A mapping takes a worker's number to a list of index tuples. `spatial` gives each worker one task,
`repeat` gives a single worker all of them, and `a * b` lets each task of `a` be a tile of `b`.
The arithmetic needs only `+ * // %`: the same mapping runs on integers in a test and on
expressions in a kernel.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

from hidet.errors import BadArgument
from hidet.mapping.digits import Scalar, added, digits, scaled
from hidet.mapping.draw import Cells, draw


class Loops(NamedTuple):
    """A worker's tasks as plain loops: `at` of every row-major setting of the loop variables."""

    extents: tuple[int, ...]
    at: Callable[[Sequence[Scalar]], tuple[Scalar, ...]]


class TaskMapping:
    """A worker's number taken to the index tuples of its tasks. Immutable and hashable."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the space of tasks."""
        raise NotImplementedError

    @property
    def workers(self) -> int:
        """How many workers there are."""
        raise NotImplementedError

    def loops(self, worker: Scalar) -> Loops:
        """The tasks of `worker` as loops; loops of extent one are left out.

        Running the loops in row-major order gives `tasks(worker)`, except that a predicated
        mapping also passes through the tasks that `active` and `inside` rule out.
        """
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of dimensions of a task's index."""
        return len(self.shape)

    @property
    def tasks_per_worker(self) -> int:
        """How many tasks one worker passes through."""
        return prod(self.loops(0).extents)

    def tasks(self, worker: Scalar) -> Iterator[tuple[Scalar, ...]]:
        """The index tuples of the tasks of `worker`, in order."""
        extents, index = self.loops(worker)
        return map(index, product(*map(range, extents)))

    @property
    def is_predicated(self) -> bool:
        """Whether `active` or `inside` rules anything out."""
        return False

    def active(self, worker: Scalar) -> Scalar | None:
        """The condition for `worker` to have any task; `None` where every worker has."""
        return None

    def inside(self, task: Sequence[Scalar]) -> Scalar | None:
        """The condition for an index from `loops` to be a task; `None` where every one is."""
        return None

    def task(self, worker: Scalar, *number: Scalar) -> tuple[Scalar, ...]:
        """One task of `worker`: by its number in the order of `tasks`, or by one for each loop.

        Of a fragment (`hidet.mapping.fragments`), `number` is the element's register.
        """
        extents, index = self.loops(worker)
        if len(number) == 1:
            number = digits(number[0], extents, range(len(extents)))
        if len(number) != len(extents):
            raise BadArgument(
                f"a worker of {self} has loops of {extents}, {len(number)} numbers were given"
            )
        return index(number)

    def single(self, worker: Scalar) -> tuple[Scalar, ...]:
        """The one task of `worker`; `BadArgument` where a worker has several."""
        if self.tasks_per_worker != 1:
            raise BadArgument(
                f"a worker of {self} has {self.tasks_per_worker} tasks, not one",
                help="iterate over `mapping.on(worker)` instead",
            )
        return next(self.tasks(worker))

    def on(self, worker: Scalar) -> "Tasks":
        """The tasks of `worker` as an object: what a script's `for i, j in mapping.on(t)` meets."""
        return Tasks(self, worker)

    __iter__ = None  # the tasks are those of a worker

    def __getitem__(self, worker: Scalar) -> "Tasks":
        """The same as `on`."""
        return self.on(worker)

    def map(self, worker: Scalar) -> tuple[Scalar, ...]:
        """The same as `single`."""
        return self.single(worker)

    def __mul__(self, inner: "TaskMapping") -> "TaskMapping":
        """Each task of this mapping becomes a tile of `inner`; workers and shapes multiply."""
        if not isinstance(inner, TaskMapping):
            return NotImplemented
        return Nested(_parts(self) + _parts(inner))

    def spatial(self, *shape: int, **options: Sequence[int] | None) -> "TaskMapping":
        """This mapping times `spatial(*shape, **options)`."""
        return self * spatial(*shape, **options)

    def repeat(self, *shape: int, **options: Sequence[int] | None) -> "TaskMapping":
        """This mapping times `repeat(*shape, **options)`."""
        return self * repeat(*shape, **options)

    def cells(self) -> Cells:
        """For each index, who does it and as which of his tasks: `worker` or `worker:step`."""
        found: dict[tuple[int, ...], str] = {}
        for worker in range(self.workers):
            for step, task in enumerate(self.tasks(worker)):
                label = f"{worker}" if self.tasks_per_worker == 1 else f"{worker}:{step}"
                found[task] = f"{found[task]} {label}" if task in found else label
        return Cells(self.shape, found)

    def draw(self) -> str:
        """A text grid of who does what."""
        return draw(self)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Tasks:
    """The tasks of one worker; iterating gives their index tuples."""

    mapping: TaskMapping
    worker: Scalar

    def __iter__(self) -> Iterator[tuple[Scalar, ...]]:
        return self.mapping.tasks(self.worker)


def spatial(
    *shape: int, order: Sequence[int] | None = None, ranks: Sequence[int] | None = None
) -> TaskMapping:
    """One task for each worker; neighbours differ in the last dimension.

    `order` lists the dimensions from the slowest varying to the fastest; or `ranks` gives each
    dimension its place in that list.
    """
    return Spatial(checked_extents(shape), _permutation(order, ranks, len(shape)))


def repeat(
    *shape: int, order: Sequence[int] | None = None, ranks: Sequence[int] | None = None
) -> TaskMapping:
    """All tasks in turn for a single worker, the last dimension fastest.

    `order` lists the dimensions from the slowest varying to the fastest; or `ranks` gives each
    dimension its place in that list.
    """
    return Repeat(checked_extents(shape), _permutation(order, ranks, len(shape)))


def row_spatial(*shape: int) -> TaskMapping:
    """`spatial` with the last dimension fastest."""
    return spatial(*shape)


def col_spatial(*shape: int) -> TaskMapping:
    """`spatial` with the first dimension fastest."""
    return spatial(*shape, order=range(len(shape))[::-1])


def row_repeat(*shape: int) -> TaskMapping:
    """`repeat` with the last dimension fastest."""
    return repeat(*shape)


def col_repeat(*shape: int) -> TaskMapping:
    """`repeat` with the first dimension fastest."""
    return repeat(*shape, order=range(len(shape))[::-1])


@dataclass(frozen=True, repr=False)
class Basic(TaskMapping):
    """A mapping that is made of no other: extents, and its dimensions from slowest to fastest."""

    extents: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents it was made with."""
        return self.extents


@dataclass(frozen=True, repr=False)
class Spatial(Basic):
    """One task for each worker."""

    @property
    def workers(self) -> int:
        """One for each task."""
        return prod(self.shape)

    def loops(self, worker: Scalar) -> Loops:
        """No loop: the digits of the worker's number are its task."""
        task = digits(worker, self.shape, self.order)
        return Loops((), lambda variables: task)

    def __str__(self) -> str:
        return _spelled("spatial", self.shape, self.order)


@dataclass(frozen=True, repr=False)
class Repeat(Basic):
    """Every task, in turn, for a single worker."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def loops(self, worker: Scalar) -> Loops:
        """One loop for each dimension of extent above one, slowest first."""
        looped = [dimension for dimension in self.order if self.shape[dimension] != 1]

        def index(variables: Sequence[Scalar]) -> tuple[Scalar, ...]:
            task: list[Scalar] = [0] * len(self.shape)
            for dimension, variable in zip(looped, variables, strict=True):
                task[dimension] = variable
            return tuple(task)

        return Loops(tuple(self.shape[dimension] for dimension in looped), index)

    def __str__(self) -> str:
        return _spelled("repeat", self.shape, self.order)


@dataclass(frozen=True, repr=False)
class Nested(TaskMapping):
    """Mappings within mappings, outermost first: each task of one is a tile of the next.

    The parts are kept as one flat list, so composition is associative down to equality.
    """

    parts: tuple[TaskMapping, ...]

    def __post_init__(self) -> None:
        ranks = {part.rank for part in self.parts}
        if len(ranks) != 1:
            raise BadArgument(
                f"cannot compose mappings of different ranks: {self}",
                help="give every part one extent for each dimension; use 1 where it has no share",
            )
        for part in self.parts:
            refuse_predicated(part, "compose")

    @property
    def shape(self) -> tuple[int, ...]:
        """The product of the parts' shapes, dimension by dimension."""
        return tuple(
            prod(extents) for extents in zip(*(part.shape for part in self.parts), strict=True)
        )

    @property
    def workers(self) -> int:
        """The product of the parts' workers."""
        return prod(part.workers for part in self.parts)

    def loops(self, worker: Scalar) -> Loops:
        """The loops of all parts, outermost first."""
        counts = [part.workers for part in self.parts]
        shares = digits(worker, counts, range(len(counts)))
        nest = [part.loops(share) for part, share in zip(self.parts, shares, strict=True)]

        def index(variables: Sequence[Scalar]) -> tuple[Scalar, ...]:
            task: tuple[Scalar, ...] = (0,) * self.rank
            for part, (extents, inner) in zip(self.parts, nest, strict=True):
                mine, variables = variables[: len(extents)], variables[len(extents) :]
                task = tuple(
                    added(scaled(big, extent), small)
                    for big, extent, small in zip(task, part.shape, inner(mine), strict=True)
                )
            return task

        return Loops(sum((extents for extents, _ in nest), ()), index)

    def __str__(self) -> str:
        return " * ".join(map(str, self.parts))


def _parts(mapping: TaskMapping) -> tuple[TaskMapping, ...]:
    return mapping.parts if isinstance(mapping, Nested) else (mapping,)


def checked_extents(shape: Sequence[int]) -> tuple[int, ...]:
    """`shape` as a tuple; `BadArgument` where an extent is not a positive integer."""
    for extent in shape:
        if not isinstance(extent, int) or extent < 1:
            raise BadArgument(
                f"a mapping's extents are positive integers, not {extent!r}",
                help="map a tile of fixed size and loop over the tiles",
            )
    return tuple(shape)


def _permutation(
    order: Sequence[int] | None, ranks: Sequence[int] | None, rank: int
) -> tuple[int, ...]:
    if order is not None and ranks is not None:
        raise BadArgument("a mapping has an order or ranks, not both")
    if ranks is not None:
        order = [tuple(ranks).index(place) if place in ranks else -1 for place in range(rank)]
    found = tuple(range(rank) if order is None else order)
    if sorted(found) != list(range(rank)):
        raise BadArgument(f"order {found} is not a permutation of the {rank} dimensions")
    return found


def refuse_predicated(mapping: TaskMapping, verb: str) -> None:
    """Raise `BadArgument` where `mapping` is predicated: nothing may be done to it after that."""
    if mapping.is_predicated:
        raise BadArgument(
            f"cannot {verb} the predicated mapping {mapping}",
            help="compose and project first, predicate last",
        )


def _spelled(name: str, shape: tuple[int, ...], order: tuple[int, ...]) -> str:
    arguments = [str(extent) for extent in shape]
    if order != tuple(range(len(shape))):
        arguments.append(f"order={order}")
    return f"{name}({', '.join(arguments)})"
