"""A module's kernels made ready for given shapes and numbers, and their launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from hidet.build.arguments import Glance, stream_of
from hidet.errors import BadArgument, DtypeMismatch, at
from hidet.ir import host
from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call, Kernel, Module, TensorMap
from hidet.runtime.binding.arena import rounded
from hidet.runtime.binding.memory import Allocator
from hidet.runtime.devices.device import index_of, is_current, primary_context
from hidet.runtime.devices.launchable import CudaModule, HostModule
from hidet.runtime.devices.stream import Work
from hidet.runtime.graphs.kernel_node import KernelNode
from hidet.runtime.plans.maps import Map, fixed, map_of
from hidet.runtime.plans.plan import Argument, Launch, Pointer, Scalar
from hidet.runtime.team import OnTeam, threads_of
from hidet.sim.arguments import Bound, around, match_shape
from hidet.types import DType, PointerType, TensorType


@dataclass(frozen=True)
class Sized:
    """One launch with all numbers known.

    `args` are positions of pointers, bits of numbers, or tensor maps of what is at a position.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    args: tuple[int | np.generic | Map, ...]


@dataclass(frozen=True)
class Sizing:
    """The launches of a module for given shapes; workspaces lie `offsets` into scratch memory.

    Positions of pointers count the module's parameters, then its workspaces.
    """

    launches: tuple[Sized, ...]
    offsets: tuple[int, ...]
    nbytes: int


def sized(module: Module, kernels: Mapping[str, Kernel], given: Mapping[Var, Any]) -> Sizing:
    """The launches for parameters of these shapes (tensors) and values (numbers)."""
    bound = Bound(scalars={var: value for var, value in given.items() if is_number(var)})
    shapes = {var: value for var, value in given.items() if isinstance(var.of, TensorType)}
    places = dict(zip(module.params, module.places, strict=False))
    for var, shape in shapes.items():
        assert isinstance(var.of, TensorType)
        with at(places.get(var)):
            match_shape(var, var.of, shape, bound)
    offsets, total = [], 0
    for var in module.workspaces:
        assert isinstance(var.of, TensorType)
        shapes[var] = tuple(int(bound.number(size)) for size in var.of.shape)
        offsets.append(total)
        total += rounded(prod(shapes[var]) * var.dtype.nbytes)
    numbers = {var: i for i, var in enumerate((*module.params, *module.workspaces))}
    launches: list[Sized] = []

    def launched(call: Call) -> None:
        source, kernel = module.kernel(call.kernel), kernels[call.kernel]
        launches.append(launch(call, source, kernel, numbers, shapes, bound))

    host.run(module.body, bound.scalars, bound.number, launched)
    nonempty = tuple(each for each in launches if 0 not in each.grid)
    return Sizing(nonempty, tuple(offsets), total)


def launch(
    call: Call,
    source: Kernel,
    kernel: Kernel,
    places: Mapping[Var, int],
    shapes: Mapping[Var, tuple[int, ...]],
    outer: Bound,
) -> Sized:
    """One launch of a kernel, lowered from `source`: its symbols are read off what it is passed."""
    inner = Bound(scalars=around(source.params, outer.scalars))
    args: list[int | np.generic | Map] = []
    for var, arg in zip(source.params, call.args, strict=True):
        if is_number(var):
            inner.scalars[var] = outer.number(arg)
            args.append(as_number(var, inner.scalars[var]))
        else:
            assert isinstance(arg, Var)
            args.append(places[arg])
    for var, arg in zip(source.params, call.args, strict=True):
        if isinstance(var.of, TensorType) and arg in shapes:
            assert isinstance(arg, Var)
            match_shape(var, var.of, shapes[arg], inner)
    args += [as_number(var, inner.number(var)) for var in kernel.params[len(source.params) :]]
    x, y, z = (size_of(size, inner) for size in kernel.launch.grid)
    if 0 not in (x, y, z):
        args += [tensor_map(each, kernel, call, places, shapes, inner) for each in kernel.maps]
    a, b, c = (size_of(size, inner) for size in kernel.launch.block)
    return Sized(kernel.name, (x, y, z), (a, b, c), kernel.launch.shared_bytes, tuple(args))


def tensor_map(
    map: TensorMap,
    kernel: Kernel,
    call: Call,
    places: Mapping[Var, int],
    shapes: Mapping[Var, tuple[int, ...]],
    bound: Bound,
) -> Map:
    """A tensor map of a kernel's launch, its sizes numbers."""
    arg = call.args[kernel.params.index(map.tensor)]
    assert isinstance(arg, Var)
    shape, strides = ([int(bound.number(e)) for e in sizes] for sizes in (map.shape, map.strides))
    nbytes = prod(shapes[arg]) * arg.dtype.nbytes if arg in shapes else None
    return fixed(map_of(map.of, places[arg], shape, strides), {}, arg.name, nbytes)


def size_of(size: Expr, bound: Bound) -> int:
    """A launch size as a number."""
    found = int(bound.number(size))
    if found < 0:
        raise BadArgument(f"the launch size {size} is {found}")
    return found


def is_number(var: Var) -> bool:
    """Whether a parameter is a number, no memory."""
    return not isinstance(var.of, TensorType | PointerType)


def as_number(var: Var, value: Any) -> np.generic:
    """A number at its parameter's type; what does not fit is an error."""
    of = var.of
    if not isinstance(of, DType) or not isinstance(value, bool | int | float | np.generic):
        raise BadArgument(f"{var.name} is {of}; {type(value).__name__} does not fit")
    if of.is_integer:
        value = value.item() if isinstance(value, np.generic) else value
        if value != int(value):
            raise DtypeMismatch(f"{var.name} is {of}; {value} is no whole number")
        low, high = of.limits
        if not low <= value <= high:
            raise BadArgument(f"{value} does not fit into {var.name}, which is {of}")
    return of.numpy.type(value)  # type: ignore[no-any-return]


class HostLaunches:
    """Launches on the CPU: one call of a C function for each."""

    def __init__(
        self, sizing: Sizing, modules: Mapping[str, HostModule], count: int, scratch: Allocator
    ) -> None:
        self.sizing, self.scratch, self.lock = sizing, scratch, Lock()
        self.on_team = OnTeam(threads_of())
        self.pointers = [ctypes.c_void_p() for _ in range(count + len(sizing.offsets))]
        self.count = count
        self.calls = [self.prepared(each, modules[each.kernel]) for each in sizing.launches]

    def prepared(self, sized: Sized, module: HostModule) -> Callable[[], Any]:
        """The call of one function."""
        function = module.function(sized.kernel)
        args = [self.argument(arg) for arg in sized.args]
        return lambda: function(*args)

    def argument(self, arg: int | np.generic | Map) -> Any:
        """An argument as C takes it; kernels of the CPU have no tensor maps."""
        assert not isinstance(arg, Map)
        return self.pointers[arg] if isinstance(arg, int) else c_number(arg)

    def run(self, seen: Sequence[Glance]) -> None:
        """Run all launches."""
        with self.lock:
            for slot, each in zip(self.pointers, seen, strict=False):
                slot.value = each[0]
            if self.sizing.nbytes:
                memory = self.scratch.empty(self.sizing.nbytes, "cpu")
                for slot, offset in zip(
                    self.pointers[self.count :], self.sizing.offsets, strict=True
                ):
                    slot.value = memory.pointer + offset
            with self.on_team:
                for call in self.calls:
                    call()


class CudaLaunches:
    """Launches on a GPU, in order, on the caller's stream.

    What a call does is written for the host's time.
    """

    def __init__(
        self, sizing: Sizing, modules: Mapping[str, CudaModule], device: str, scratch: Allocator
    ) -> None:
        self.sizing, self.device, self.scratch = sizing, device, scratch
        self.index, self.context = index_of(device), int(primary_context(device))
        self.lock = Lock()
        self.nodes = [KernelNode(step(each), modules[each.kernel]) for each in sizing.launches]

    def run(self, seen: Sequence[Glance]) -> None:
        """Run all launches on memory that the caller provides."""
        pointers = [each[0] for each in seen]
        for each in seen:
            if each[2] is not None:
                stream = each[2]
                break
        else:
            stream = stream_of(self.index)
        with self.lock:
            if not self.sizing.nbytes and is_current(self.context):
                self.launch(pointers, stream)
                return
            with Work(self.device, stream):
                if self.sizing.nbytes:
                    memory = self.scratch.empty(self.sizing.nbytes, self.device)
                    pointers += [memory.pointer + each for each in self.sizing.offsets]
                self.launch(pointers, stream)

    def launch(self, pointers: Sequence[int], stream: int) -> None:
        """Launch each kernel on these addresses."""
        for node in self.nodes:
            node.point(pointers)
            node.launch(stream)


def step(sized: Sized) -> Launch:
    """A launch as the runtime knows it."""
    args = [argument(arg) for arg in sized.args]
    return Launch(
        "", sized.kernel, tuple(args), (), (), sized.grid, sized.block, sized.shared_bytes
    )


def argument(arg: int | np.generic | Map) -> Argument:
    """An argument as the runtime knows it."""
    if isinstance(arg, Map):
        return arg
    return Pointer(arg) if isinstance(arg, int) else Scalar("int64", bits(arg))


def bits(number: np.generic) -> int:
    """A number's bytes in an 8-byte slot, as an integer."""
    return int(np.frombuffer(number.tobytes().ljust(8, b"\0"), np.int64)[0])


C_NUMBERS = {
    np.dtype(kind): of
    for kind, of in {
        "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
        "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
        "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "float32": ctypes.c_float,
        "float64": ctypes.c_double, "bool": ctypes.c_bool,
    }.items()
}  # fmt: skip


def c_number(number: np.generic) -> Any:
    """A number as an argument of a C function."""
    found = C_NUMBERS.get(number.dtype)
    if found is None:
        raise BadArgument(
            f"a {number.dtype} number cannot be passed to a CPU kernel",
            help="declare the parameter f32 and cast it in the kernel",
        )
    return found(number.item())
