"""How a group of operators is computed, as data: functions as text, and launches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeVar

from hidet import options
from hidet.build.caching.written import written
from hidet.build.choosing.schedule import Implemented
from hidet.build.choosing.sizes import plan_size
from hidet.build.planning import effects, limits
from hidet.build.planning.in_place import Pair, in_place
from hidet.build.planning.noted import note
from hidet.build.reports import record
from hidet.codegen.common.function import Function
from hidet.errors import InternalError
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.kernel import Kernel, KernelKind, PdlTrigger, TensorMap
from hidet.passes.base import Observer
from hidet.passes.launches.overlap_launches import waits_first
from hidet.passes.launches.signal_next import signals
from hidet.runtime.plans.kernel_note import KernelNote
from hidet.runtime.plans.maps import Map, map_of
from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.runtime.plans.plan import Argument, Launch, Pointer, Scalar, has_fixed_sizes
from hidet.runtime.plans.sizes import Relation
from hidet.target import PAIR, Target
from hidet.types import TensorType, f32

T = TypeVar("T")
RESERVED = 1024
"""Bytes of shared memory of a block that are the driver's."""


@dataclass(frozen=True)
class Recipe:
    """Launches over numbered tensors: `count` inputs and results, in order, then workspaces.

    It holds no IR: it can be sent from one process to another.
    """

    schedule: str
    count: int
    workspaces: tuple[tuple[str, tuple[Any, ...]], ...]
    """The element type and the shape of each."""
    launches: tuple[Launch, ...]
    functions: tuple[Function, ...]
    notes: tuple[KernelNote, ...] = ()
    """What a profile tells of each function."""

    def under(self, when: tuple[Relation, ...]) -> Recipe:
        """The same for calls alone in whose sizes all of these hold."""
        return replace(self, launches=tuple(replace(each, when=when) for each in self.launches))

    @property
    def fixed(self) -> list[str]:
        """The functions of launches that have no size that only a call tells."""
        return [each.function for each in self.launches if has_fixed_sizes(each)]


def recipe(made: Implemented, target: Target, observers: Sequence[Observer] = ()) -> Recipe:
    """An implemented group's kernels lowered and written."""
    module = made.module
    numbers = {var: i for i, var in enumerate((*module.params, *module.workspaces))}
    launches, functions, notes = [], [], []
    overlap, lanes = overlap_on(target), lanes_on(target)
    for call in module.calls:
        kernel = module.kernel(call.kernel)
        tensors = [arg for arg in call.args if arg in numbers]
        lowered = record.lowered(kernel, label(made, kernel), observers, overlap, lanes)
        pairs = in_place(lowered) if options.in_place.get() else []
        made_launch = launch(lowered, [numbers[each] for each in tensors], pairs)
        room = room_of(lowered, target) if made_launch.waits else None
        nbytes = shared_bytes(lowered, target)
        launches.append(replace(made_launch, shared_bytes=nbytes, room=room))
        functions.append(written(lowered, target, {operand for _, operand in pairs}))
        is_main = label(made, kernel) == made.group.name
        notes.append(note(lowered.name, made.group, made.schedule, is_main))
    workspaces = tuple(map(described, module.workspaces))
    count = len(module.params)
    return Recipe(made.schedule, count, workspaces, tuple(launches), tuple(functions), tuple(notes))


def overlap_on(target: Target) -> int:
    """The threads that a target holds at once, where launches may begin early; 0 elsewhere."""
    early = options.overlap_launches.get() and target.has_feature("programmatic_launch")
    return target.cores * target.max_threads_per_sm if early else 0


def lanes_on(target: Target) -> int:
    """The lanes of vectors of float32 in which a CPU computes powers; 0 where no instruction looks
    a number up for each lane."""
    return target.vector_bytes // f32.nbytes if target.has_feature("avx2") else 0


def shared_bytes(kernel: Kernel, target: Target) -> int:
    """The dynamic shared memory of a block: so much that no more fit than there should be."""
    needed, most = kernel.launch.shared_bytes, kernel.launch.max_blocks
    return max(needed, target.shared_bytes_per_sm // (most + 1) + 1) if most else needed


def room_of(lowered: Kernel, target: Target) -> OccupancyLimit | None:
    """Where the blocks of a kernel go that may begin before those of another have ended; None for
    large clusters that are not kept apart: how those come to lie is not known."""
    sizes = lowered.launch
    even = (PdlTrigger.READ, PdlTrigger.ONLY_TILE)
    cluster, uneven = prod(sizes.cluster), sizes.pdl_trigger not in even
    if uneven and cluster > PAIR:
        return None
    most = target.resident_blocks(prod(map(fixed, sizes.block)))
    arrays = limits.shared_bytes(lowered) - sizes.shared_bytes
    return OccupancyLimit(
        target.cores_in_clusters(cluster),
        target.shared_bytes_per_sm,
        most,
        arrays + RESERVED,
        most if uneven else max(sizes.max_blocks, 1),
    )


def label(made: Implemented, kernel: Kernel) -> str:
    """What a kernel's name begins with: the group's, and what the schedule adds to its own."""
    own = made.module.name
    added = kernel.name.removeprefix(own) if kernel.name.startswith(f"{own}_") else ""
    return made.group.name + added


def described(workspace: Var) -> tuple[str, tuple[Any, ...]]:
    """The element type and the shape of a workspace as data."""
    assert isinstance(workspace.of, TensorType)
    return workspace.of.dtype.name, tuple(map(plan_size, workspace.of.shape))


def launch(kernel: Kernel, numbers: Sequence[int], places: Sequence[Pair] = ()) -> Launch:
    """One launch as data: `numbers` are the tensors behind a lowered kernel's first parameters; the
    parameters after them are sizes. `places`: results that may lie in an operand's place. The
    binary is named once it is known."""
    args: list[Argument] = [Pointer(number) for number in numbers]
    args += [Scalar(var.dtype.name, plan_size(var)) for var in kernel.params[len(numbers) :]]
    args += [tensor_map(each, kernel, numbers) for each in kernel.maps]
    reads, writes = touched(kernel, len(numbers))
    number_of = dict(zip(kernel.params, numbers, strict=False))
    pairs = [(number_of[new], number_of[old]) for new, old in places]
    configuration = kernel.launch
    on_gpu = kernel.kind is KernelKind.CUDA
    return Launch(
        "",
        kernel.name,
        tuple(args),
        tuple(dict.fromkeys(numbers[i] for i in reads)),
        tuple(dict.fromkeys(numbers[i] for i in writes)),
        three(configuration.grid, plan_size) if on_gpu else (1, 1, 1),
        three(configuration.block, fixed) if on_gpu else (1, 1, 1),
        configuration.shared_bytes,
        waits_first(kernel),
        signals(kernel),
        tuple(pairs),
        ahead=tuple(number_of[each] for each in kernel.ahead),
    )


def tensor_map(map: TensorMap, kernel: Kernel, numbers: Sequence[int]) -> Map:
    """A tensor map of one of a launch's tensors as data."""
    sizes = ([plan_size(each) for each in e] for e in (map.shape, map.strides))
    return map_of(map.of, numbers[kernel.params.index(map.tensor)], *sizes)


def three(sizes: tuple[Expr, Expr, Expr], spell: Callable[[Expr], T]) -> tuple[T, T, T]:
    """The extents of a grid or block as data."""
    x, y, z = sizes
    return spell(x), spell(y), spell(z)


def fixed(size: Expr) -> int:
    """A size that has to be known when a kernel is compiled."""
    if isinstance(size, Const):
        return int(size.value)
    raise InternalError(f"a block of `{size}` threads: block sizes are constants")


def touched(kernel: Kernel, count: int) -> tuple[list[int], list[int]]:
    """Which of a kernel's first parameters it may read, and which it may write."""
    written = effects.written(kernel)
    reads, writes = [], []
    for position, param in enumerate(kernel.params[:count]):
        if param in written:
            writes.append(position)
            if written[param]:
                reads.append(position)
        else:
            reads.append(position)
    return reads, writes
