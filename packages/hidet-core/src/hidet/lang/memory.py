"""Tensors in a script: declaring, indexing, addresses, and registers spread over threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from hidet.errors import BadScript
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import (
    Address,
    Builtin,
    Const,
    Expr,
    FromAccumulators,
    Get,
    Lane,
    Load,
    Pack,
    Reinterpret,
    Value,
    Var,
    convert,
    is_vector,
)
from hidet.ir.node import nodes_in
from hidet.ir.stmt import Put, Store
from hidet.ir.walk import find
from hidet.lang.attributes import HOST
from hidet.lang.recorder import TaskLoop, current
from hidet.lang.values import (
    converted,
    expression,
    index,
    is_pointer,
    is_tensor,
    number,
    plain,
    spoken,
)
from hidet.lang.view import View
from hidet.mapping import TaskMapping
from hidet.types import DType, PointerType, Scope, TensorType, Type, VectorType, i32, promote, u8
from hidet.types import dtype as dtype_of


class Distributed:
    """A register tensor spread over workers: each keeps the tasks that a mapping gives to it.

    `local` is a worker's part: one axis for each loop over its tasks. An element is addressed by
    the variables of the loop over the same mapping, and so always by its owner.
    """

    def __init__(self, local: Var, mapping: TaskMapping) -> None:
        self.local = local
        self.mapping = mapping
        self.worker: Expr | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole tensor."""
        return self.mapping.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.local.dtype

    def slot(self, position: Sequence[Any], tasks: Sequence[TaskLoop]) -> tuple[Expr, ...]:
        """Where in `local` the element at `position` is."""
        for task in reversed(tasks):
            same = len(task.task) == len(position) and all(
                a is b for a, b in zip(task.task, position, strict=True)
            )
            if task.mapping == self.mapping and same:
                return self.owned(task)
        raise BadScript(
            f"`{self.local.name}` is spread over workers by {self.mapping}: an element is known "
            "only to its owner",
            help=f"index `{self.local.name}` by the variables of a loop over that mapping, "
            "as they are: `for i, j in mapping.on(worker)`",
        )

    def owned(self, task: TaskLoop) -> tuple[Expr, ...]:
        """The slot of a task, if it is the same worker's as in other loops."""
        if self.worker is not None and self.worker is not task.worker:
            raise BadScript(
                f"`{self.local.name}` belongs to worker `{self.worker}`, this loop is of "
                f"worker `{task.worker}`",
                help="loop over the mapping with the same worker everywhere",
            )
        self.worker = task.worker
        return task.slot or (Const(0, i32),)


def tensor(
    dtype: DType | str,
    shape: Sequence[int] | int,
    scope: Scope | str = Scope.REGISTER,
    layout: Any = None,
    init: Value | None = None,
) -> Any:
    """A new tensor in shared memory or in registers; `init` is given to each element."""
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    for size in sizes:
        known = isinstance(plain(size), int) and size >= 1
        if not known and not (scope == "global" and isinstance(size, Expr)):
            raise BadScript(
                f"a size of a {scope} tensor is a positive integer, not {spoken(size)}",
                help="its size must be known before the kernel runs",
            )
    scope = Scope(scope)
    element = dtype_of(dtype)
    if scope is Scope.GLOBAL:
        return workspace(TensorType(element, tuple(map(plain, sizes))), layout, init)
    of = TensorType(element, tuple(map(int, sizes)), scope, layout)
    first = None if init is None else converted(init, element, "the tensor's element")
    return current(f"a {scope} tensor").declare(of, first)


def workspace(of: TensorType, layout: Any, init: Any) -> Var:
    """A global tensor that a host function makes for the kernels that it launches."""
    recorder = current("a global tensor")
    if recorder.attributes.get("func_kind") != HOST:
        raise BadScript("a kernel cannot make a global tensor", help="pass it as a parameter")
    if layout is not None or init is not None:
        raise BadScript("a global tensor has neither a layout nor first values")
    shape = tuple(recorder.expanded(size) for size in of.shape)
    inside = frozenset(recorder.local).intersection(*[find(list(nodes_in(shape)), Var)])
    if inside or len(recorder.blocks) > 1:
        raise BadScript(
            "a global tensor is made when the host function is called, before anything runs",
            help="make it outside of blocks, its sizes of parameters and symbols",
        )
    recorder.workspaces.append(Var(recorder.name or "workspace", TensorType(of.dtype, shape)))
    return recorder.workspaces[-1]


def shared_tensor(dtype: DType | str, shape: Sequence[int] | int, layout: Any = None) -> Any:
    """A tensor that the threads of a block share."""
    return tensor(dtype, shape, Scope.SHARED, layout)


def dynamic_shared(dtype: DType | str = u8) -> Any:
    """A pointer to the block's dynamic shared memory, of `attr.cuda_dynamic_smem_bytes` bytes.

    It begins at a multiple of 1024 bytes; every call gives the same address.
    """
    current("dynamic shared memory")
    return Builtin(DYNAMIC_SHARED, PointerType(dtype_of(dtype)))  # type: ignore[arg-type]


def reinterpret(value: Any, to: DType | VectorType | PointerType) -> Any:
    """The bits of a number or vector as another of the same size; a pointer as another pointer."""
    found = address(value) if is_tensor(value) else expression(value)
    if is_pointer(found) != isinstance(to, PointerType):
        raise BadScript(f"{spoken(value)} has no bits to be read as {to}")
    if not is_pointer(found) and bits_of(found.type) != bits_of(to):
        raise BadScript(f"{spoken(value)} has not as many bits as {to}")
    return Reinterpret(found, to)


def bits_of(of: Type) -> int:
    """How many bits a number or vector takes."""
    if isinstance(of, VectorType):
        return of.element.nbytes * 8 * of.lanes
    return of.nbytes * 8 if isinstance(of, DType) else 0


def vector(*values: Value) -> Expr:
    """A vector of these values, of the type that fits them all."""
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = tuple(values[0])
    typed = [number(value, "a lane") for value in values]
    if any(is_vector(each) for each in typed) or len(typed) < 2:
        raise BadScript("a vector has two or more lanes, each a number")
    common = reduce(promote, (each.dtype for each in typed))
    return Pack(tuple(convert(each, common) for each in typed))


def register_tensor(
    dtype: DType | str, shape: Sequence[int] | int | TaskMapping, init: Value | None = None
) -> Any:
    """A tensor of each thread's own, or one spread over the workers of a task mapping."""
    if not isinstance(shape, TaskMapping):
        return tensor(dtype, shape, Scope.REGISTER, None, init)
    recorder = current("a register tensor")
    local = tensor(dtype, shape.loops(0).extents or (1,), Scope.REGISTER, None, init)
    recorder.spread.append(shape)
    return Distributed(local, shape)


def load(source: Any, *position: Value, lanes: int = 1) -> Expr:
    """The element of a tensor or pointer at an index, or the `lanes` elements from it on."""
    where, at = target(source, position)
    return Load(where, at, lanes)


def store(destination: Any, *position_and_value: Value) -> None:
    """Write the last argument at an index; a vector fills consecutive elements."""
    *position, value = position_and_value
    where, at = target(destination, position)
    recorder = current("a store")
    found = stored(value, where.dtype)
    recorder.emit(Store(where, at, found, recorder.place))


def address(source: Any, *position: Value) -> Expr:
    """A pointer to the element of a tensor or pointer at an index."""
    if not position and is_tensor(source):
        position = (0,) * source.type.ndim
    return Address(*target(source, position))


def get(source: Any, *position: Value) -> Expr:
    """The element at an index, zero outside of the shape; fusion may replace it."""
    if not is_tensor(source):
        raise BadScript(f".get() is of tensors, not of {spoken(source)}")
    return Get(source, indices(source, position))


def from_accumulators(result: Any, position: Sequence[Value], *sums: Expr) -> Expr:
    """What is stored at an index of a result, made of the anchor's own element, or of this and its
    neighbour; fusion replaces it."""
    return FromAccumulators(result, indices(result, position), sums)


def put(destination: Any, *position_and_value: Value) -> None:
    """Write the last argument at an index, nothing outside of the shape; fusion may replace it."""
    if not is_tensor(destination):
        raise BadScript(f".put() is of tensors, not of {spoken(destination)}")
    *position, value = position_and_value
    recorder = current(".put()")
    found = converted(value, destination.dtype, f"`{destination.name}`")
    recorder.emit(Put(destination, indices(destination, position), found, recorder.place))


def stored(value: Any, element: DType) -> Expr:
    """A value to store as elements of a type: a scalar, or a vector lane by lane."""
    if isinstance(value, Expr) and is_vector(value):
        return convert(value, element)
    return converted(value, element, "the element")


def target(of: Any, position: Sequence[Any]) -> tuple[Expr, tuple[Expr, ...]]:
    """The array that is meant and the index in it."""
    if isinstance(of, Distributed):
        return of.local, of.slot(position, current("a register tensor").tasks)
    if isinstance(of, View):
        return of.pointer, (of.offset(position),)
    if is_tensor(of):
        return of, checked(of, indices(of, position))
    if is_pointer(of):
        if len(position) > 1:
            raise BadScript(f"a pointer takes one index, not {len(position)}")
        return of, (index(position[0]) if position else Const(0, i32),)
    raise BadScript(f"{spoken(of)} has no elements", help="only tensors and pointers have")


def indices(of: Var, position: Sequence[Any]) -> tuple[Expr, ...]:
    """One index for each axis of a tensor."""
    shape = of.type.shape if isinstance(of.type, TensorType) else ()
    if len(position) != len(shape):
        raise BadScript(
            f"`{of.name}` has {len(shape)} dimensions, the index has {len(position)}",
            help="give one index for each dimension",
        )
    return tuple(map(index, position))


def checked(of: Var, position: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """An index, if its constants are inside of the shape."""
    shape = of.type.shape if isinstance(of.type, TensorType) else ()
    for axis, (e, size) in enumerate(zip(position, shape, strict=True)):
        if not isinstance(e, Const):
            continue
        if e.value < 0 or (isinstance(size, int) and e.value >= size):
            raise outside(of, axis, e, size)
    return position


def outside(of: Var, axis: int, e: Const, size: Any) -> BadScript:
    """The error for a constant index that no element has."""
    return BadScript(
        f"index {e.value} is outside of dimension {axis} of `{of.name}`, which is {size}",
        help="indices count from 0; negative ones do not count from the end",
    )


def lane(vector: Expr, position: Any) -> Expr:
    """One lane of a vector, by a number known while transcribing."""
    position = plain(position)
    lanes = vector.type.lanes if isinstance(vector.type, VectorType) else 0
    if not isinstance(position, int) or not 0 <= position < lanes:
        raise BadScript(
            f"a lane of {spoken(vector)} is a number from 0 to {lanes - 1}, not {spoken(position)}",
            help="loop over lanes by `for lane in static(range(...))`",
        )
    return Lane(vector, position)


def is_array(value: Any) -> bool:
    """Whether it has elements that can be stored."""
    return isinstance(value, Distributed | View) or is_tensor(value) or is_pointer(value)
