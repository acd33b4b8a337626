"""Modules of kernels compiled into something to call on tensors of any library."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from hidet import options
from hidet.build.arguments import READERS, Described, Glance, described, glance, host_array
from hidet.build.launches import CudaLaunches, HostLaunches, as_number, is_number, sized
from hidet.build.planning import effects
from hidet.build.planning.limits import check_shared
from hidet.build.planning.recipe import lanes_on
from hidet.build.reports import record
from hidet.build.target import target_of_device
from hidet.build.workers.units import Units
from hidet.errors import (
    BadArgument,
    BadKernel,
    DtypeMismatch,
    HidetError,
    NoDevice,
    Place,
    ShapeMismatch,
    at,
)
from hidet.ir.expr import Var
from hidet.ir.kernel import Call, Kernel, Module
from hidet.ir.walk import find
from hidet.runtime.binding.memory import allocator_for
from hidet.runtime.devices.device import cuda_capability, current_device, device_count
from hidet.runtime.devices.launchable import CudaModule, host_modules
from hidet.sim.launch import launch as simulate
from hidet.sim.report import Report
from hidet.target import Target
from hidet.types import DType, PointerType, TensorType

SHAPES_KEPT = 256
SIMULATOR = "sim"


def build_module(module: Module, target: Target | str | None = None) -> CompiledFunction:
    """Compile the kernels of a module into a function of its parameters.

    `target` is, by default, option `target`, or this machine's CPU or current GPU, as the kernels
    ask for; "sim" runs them in the simulator, on memory of the host. Code for a GPU can be compiled
    without one, if the target is named; it is loaded at the first call.
    """
    text = str(target or options.target.get())
    if text.partition("+")[0] == SIMULATOR:
        return SimulatedFunction(module, text)
    chosen = chosen_target(module, target)
    lanes = lanes_on(chosen)
    kernels = {each.name: record.lowered(each, each.name, lanes=lanes) for each in module.kernels}
    for each in module.kernels:
        check_shared(each, kernels[each.name], chosen)
    units = Units(chosen)
    for kernel in kernels.values():
        units.add(kernel)
    binaries, home = units.compile(f"Compiling {module.name}")
    return CompiledFunction(module, chosen, kernels, binaries, home)


def chosen_target(module: Module, given: Target | str | None) -> Target:
    """The target asked for, or this machine, checked against what the kernels are."""
    kinds = {str(kernel.kind) for kernel in module.kernels}
    if len(kinds) != 1:
        raise BadKernel(f"the kernels of {module.name} are of {len(kinds)} kinds: {sorted(kinds)}")
    (kind,) = kinds
    text = given or options.target.get()
    if text:
        target = text if isinstance(text, Target) else Target.parse(text)
    elif kind == "cpu":
        target = target_of_device("cpu")
    elif device_count():
        target = target_of_device(current_device())
    else:
        raise NoDevice(
            f"{module.name} is made of CUDA kernels, and this machine has no GPU",
            help='name a target to compile for, as "sm_90a", or run it in the simulator: '
            'target="sim"',
        )
    if target.kind != kind:
        raise BadArgument(f"{module.name} is made of {kind} kernels; the target is {target}")
    return target


class CompiledFunction:
    """A compiled module: `function(*arguments)` runs its kernels on the caller's tensors.

    Arguments are numbers and tensors of any library, without gaps, on one device; results are
    written in place. Work goes to the caller's current CUDA stream. Safe to call from several
    threads.
    """

    def __init__(
        self,
        module: Module,
        target: Target | str,
        kernels: Mapping[str, Kernel] | None = None,
        binaries: Mapping[str, bytes] | None = None,
        home: Mapping[str, str] | None = None,
    ) -> None:
        self.module, self.target, self.kernels = module, target, dict(kernels or {})
        self.binaries, self.home = dict(binaries or {}), dict(home or {})
        self.params = module.params
        self.only_arrays = not any(map(is_number, module.params))
        self.prepared: OrderedDict[tuple[Any, ...], HostLaunches | CudaLaunches] = OrderedDict()
        self.latest: tuple[list[Any], HostLaunches | CudaLaunches | None] = [], None
        self.loaded: dict[str, Mapping[str, Any]] = {}
        self.lock = Lock()

    def __call__(self, *arguments: Any) -> None:
        """Run the kernels; errors name the parameter that an argument does not fit."""
        if len(arguments) != len(self.params):
            self.refuse_count(len(arguments))
        seen = self.seen(arguments)
        facts = [each[1] for each in seen]
        latest, ready = self.latest
        if ready is None or facts != latest:
            ready = self.ready(tuple(facts))
            self.latest = facts, ready
        ready.run(seen)

    def seen(self, arguments: Sequence[Any]) -> list[Glance]:
        """The arguments at a glance; a number is the bytes that a kernel gets."""
        if self.only_arrays:
            try:
                return [READERS[type(each)](each) for each in arguments]
            except KeyError:  # the first of its type
                pass
        return [
            self.number(var, value) if is_number(var) else self.array(var, value)
            for var, value in zip(self.params, arguments, strict=True)
        ]

    def number(self, var: Var, value: Any) -> Glance:
        """A number: the bytes that a kernel gets, which tell 0.0 from -0.0."""
        try:
            return 0, as_number(var, value).tobytes(), None, None
        except HidetError as error:
            error.place = error.place or self.places.get(var)
            raise

    def array(self, var: Var, value: Any) -> Glance:
        """An array at a glance."""
        found = glance(value)
        if found is None:
            raise BadArgument(
                f"{var.name} is {var.of}; {type(value).__name__} is no tensor",
                place=self.places.get(var),
            )
        return found

    def ready(self, key: tuple[Any, ...]) -> HostLaunches | CudaLaunches:
        """The launches for arguments with these facts."""
        found = self.prepared.get(key)
        return self.prepare(key) if found is None else found

    def refuse_count(self, count: int) -> None:
        """Raise for a wrong number of arguments."""
        names = ", ".join(var.name for var in self.params)
        raise BadArgument(
            f"{self.module.name} takes ({names}); arguments given: {count}",
            place=self.module.place,
        )

    def prepare(self, key: tuple[Any, ...]) -> HostLaunches | CudaLaunches:
        """The launches for arguments with these facts, kept for the next call with the same."""
        given, device = self.checked(key)
        sizing = sized(self.module, self.kernels, given)
        with self.lock:
            binaries = self.loaded.get(device)
            if binaries is None:
                binaries = self.loaded[device] = self.load(device)
            scratch = allocator_for(device)
            made: HostLaunches | CudaLaunches
            if device == "cpu":
                made = HostLaunches(sizing, binaries, len(self.params), scratch)
            else:
                made = CudaLaunches(sizing, binaries, device, scratch)
            self.prepared[key] = made
            if len(self.prepared) > SHAPES_KEPT:
                self.prepared.popitem(last=False)
        return made

    def load(self, device: str) -> Mapping[str, Any]:
        """For each kernel the loaded binary it is in."""
        if device == "cpu":
            loaded: dict[str, Any] = {**host_modules(self.binaries)}
        else:
            self.check_capability(device)
            loaded = {n: CudaModule(b, device, n) for n, b in self.binaries.items()}
        return {kernel: loaded[name] for kernel, name in self.home.items()}

    def check_capability(self, device: str) -> None:
        """Raise unless the GPU runs code for the target."""
        assert isinstance(self.target, Target)
        found = cuda_capability(device)
        if not self.target.runs_on(found):
            raise BadArgument(
                f"{self.module.name} was compiled for {self.target}; "
                f"{device} is sm_{found[0]}{found[1]}",
                help="build it for this GPU",
            )

    def checked(self, key: tuple[Any, ...]) -> tuple[dict[Var, Any], str]:
        """Shapes and numbers by parameter, and the device on which all arguments are."""
        given: dict[Var, Any] = {}
        devices: dict[str, str] = {}
        for var, facts in zip(self.params, key, strict=True):
            if is_number(var):
                given[var] = np.frombuffer(facts, var.dtype.numpy)[0]
                continue
            found = described(facts)
            with at(self.places.get(var)):
                self.check(var, found)
            devices.setdefault(found.device, var.name)
            if isinstance(var.of, TensorType):
                given[var] = found.shape
        if len(devices) > 1:
            (one, first), (other, second) = list(devices.items())[:2]
            raise BadArgument(f"{first} is on {one}, {second} on {other}", help="use one device")
        return given, next(iter(devices), self.default_device)

    def check(self, var: Var, found: Described) -> None:
        """Raise unless an argument fits its parameter; sizes that depend on others come later."""
        of = var.of
        assert isinstance(of, TensorType | PointerType)
        element = of.to if isinstance(of, PointerType) else of.dtype
        if not alike(element, found.dtype):
            raise DtypeMismatch(
                f"{var.name} is {of}; the argument holds {found.dtype}",
                help=f"convert it to {element.name}, or declare {var.name} otherwise",
            )
        if isinstance(of, TensorType) and of.layout is None and len(found.shape) != of.ndim:
            raise ShapeMismatch(f"{var.name} is {of}; the argument has shape {found.shape}")
        if found.device.partition(":")[0] != self.default_device.partition(":")[0]:
            raise BadArgument(
                f"{var.name} is on {found.device}; "
                f"{self.module.name} was compiled for {self.target}",
                help=f"copy it to {self.default_device}",
            )
        if found.gaps:
            raise BadArgument(f"{var.name} has gaps", help="pass its contiguous() copy")
        if not found.writable and var in self.written:
            raise BadArgument(f"{self.module.name} writes {var.name}, which is read-only")

    @cached_property
    def places(self) -> dict[Var, Place]:
        """Where each parameter is written."""
        return dict(zip(self.params, self.module.places, strict=False))

    @property
    def default_device(self) -> str:
        """Where the target's tensors are."""
        cuda = isinstance(self.target, Target) and self.target.kind == "cuda"
        return "cuda" if cuda else "cpu"

    @cached_property
    def written(self) -> frozenset[Var]:
        """The parameters that some kernel writes."""
        found: set[Var] = set()
        for call in find(self.module.body, Call):
            kernel = self.kernels[call.kernel]
            writes = effects.written(kernel)
            pairs = zip(kernel.params, call.args, strict=False)  # sizes come after the arguments
            found |= {arg for var, arg in pairs if var in writes and isinstance(arg, Var)}
        return frozenset(found)

    def __repr__(self) -> str:
        params = ", ".join(f"{var.name}: {var.of}" for var in self.params)
        return f"<{self.module.name}({params}) for {self.target}>"


class SimulatedFunction(CompiledFunction):
    """A module that runs in the simulator, on memory of the host; `report` is of the last call."""

    def __init__(self, module: Module, target: str = SIMULATOR) -> None:
        super().__init__(module, target)
        self.report = Report()

    @cached_property
    def written(self) -> frozenset[Var]:
        """Nothing is refused beforehand: the simulator sees by itself what is written."""
        return frozenset()

    def __call__(self, *arguments: Any) -> None:
        """Simulate the kernels; what they do wrong is a SimulationError."""
        if len(arguments) != len(self.params):
            self.refuse_count(len(arguments))
        given = self.seen(arguments)
        values = [self.host_value(var, each) for var, each in zip(self.params, given, strict=True)]
        self.report = simulate(self.module, *values)

    def host_value(self, var: Var, seen: Glance) -> Any:
        """An argument as the simulator takes it."""
        pointer, facts, _, _ = seen
        if is_number(var):
            return np.frombuffer(facts, var.dtype.numpy)[0]
        found = described(facts)
        with at(self.places.get(var)):
            self.check(var, found)
            return host_array(pointer, found.dtype, found.shape, found.writable)


def alike(element: DType, name: str) -> bool:
    """Whether memory of element type `name` serves as `element`; tf32 is kept as float32."""
    return name == element.name or (element.name == "tfloat32" and name == "float32")
