"""Mappings held back: projected to fewer dimensions, or predicated to fewer workers and tasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from hidet.errors import BadArgument
from hidet.mapping.algebra import Loops, TaskMapping, checked_extents, refuse_predicated
from hidet.mapping.digits import Scalar, both


def project(mapping: TaskMapping, fixed: Mapping[int, int]) -> TaskMapping:
    """`mapping` with the dimensions in `fixed` held at zero, and so of extent one.

    Workers that differed only there now share their tasks: what an operand needs that is
    broadcast along those dimensions.
    """
    for dimension, value in fixed.items():
        if not 0 <= dimension < mapping.rank:
            raise BadArgument(f"{mapping} has no dimension {dimension} to project")
        if value != 0:
            raise BadArgument(
                f"dimension {dimension} is projected to {value}; only 0 is possible",
                help="add the offset to the index where it is used",
            )
    refuse_predicated(mapping, "project")
    return Projected(mapping, tuple(sorted(fixed)))


def predicated(
    mapping: TaskMapping, *, workers: int | None = None, shape: Sequence[int] | None = None
) -> TaskMapping:
    """`mapping` for more workers than it uses, or for fewer tasks than it covers.

    Of `workers`, those from `mapping.workers` on are idle (`active`); of the tasks, those outside
    `shape` are skipped (`inside`). Predication comes last: the result can neither be composed
    nor projected.
    """
    workers = mapping.workers if workers is None else workers
    extents = mapping.shape if shape is None else checked_extents(shape)
    if workers < mapping.workers:
        raise BadArgument(
            f"{mapping} needs {mapping.workers} workers, there are {workers}",
            help="use a smaller spatial part",
        )
    if len(extents) != mapping.rank or any(
        a > b for a, b in zip(extents, mapping.shape, strict=True)
    ):
        raise BadArgument(f"{mapping} covers {mapping.shape}, which does not hold {extents}")
    refuse_predicated(mapping, "predicate")
    if (workers, extents) == (mapping.workers, mapping.shape):
        return mapping
    return Predicated(mapping, extents, workers)


@dataclass(frozen=True, repr=False)
class Projected(TaskMapping):
    """A mapping with some dimensions held at zero."""

    mapping: TaskMapping
    fixed: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The mapping's shape, with one in the fixed dimensions."""
        return tuple(1 if d in self.fixed else n for d, n in enumerate(self.mapping.shape))

    @property
    def workers(self) -> int:
        """As many as before."""
        return self.mapping.workers

    def loops(self, worker: Scalar) -> Loops:
        """The mapping's own loops; those along a fixed dimension repeat the same tasks."""
        extents, index = self.mapping.loops(worker)

        def projected(variables: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(0 if d in self.fixed else i for d, i in enumerate(index(variables)))

        return Loops(extents, projected)

    def __str__(self) -> str:
        return f"project({self.mapping}, {dict.fromkeys(self.fixed, 0)})"


@dataclass(frozen=True, repr=False)
class Predicated(TaskMapping):
    """A mapping of which some workers are idle and some tasks are skipped."""

    mapping: TaskMapping
    extents: tuple[int, ...]
    total: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tasks that are not skipped."""
        return self.extents

    @property
    def workers(self) -> int:
        """All workers, the idle ones included."""
        return self.total

    @property
    def is_predicated(self) -> bool:
        """Always."""
        return True

    def loops(self, worker: Scalar) -> Loops:
        """The mapping's own loops: guard them by `active` and their body by `inside`."""
        return self.mapping.loops(worker)

    def active(self, worker: Scalar) -> Scalar | None:
        """The worker's number is below the count of workers in use."""
        return None if self.workers == self.mapping.workers else worker < self.mapping.workers

    def inside(self, task: Sequence[Scalar]) -> Scalar | None:
        """Every index is below the extent, where the mapping reaches beyond it."""
        condition: Scalar | None = None
        for index, extent, covered in zip(task, self.shape, self.mapping.shape, strict=True):
            if extent < covered:
                condition = both(condition, index < extent)
        return condition

    def tasks(self, worker: Scalar) -> Iterator[tuple[Scalar, ...]]:
        """The tasks that `active` and `inside` allow; needs an integer, to decide them."""
        if not isinstance(worker, SupportsIndex):
            raise BadArgument(
                f"the tasks of {self} depend on conditions that are unknown for {worker}",
                help="use `loops(worker)`, guarded by `active(worker)` and `inside(task)`",
            )
        if self.active(worker) in (None, True):
            yield from (t for t in super().tasks(worker) if self.inside(t) in (None, True))

    def __str__(self) -> str:
        return f"predicated({self.mapping}, workers={self.workers}, shape={self.shape})"
