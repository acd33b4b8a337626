"""An archive made ready to run on a device, and its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Lock
from typing import cast

from hidet.errors import BadArchive, BadArgument, Capturing, input_called
from hidet.runtime.binding.bound import BoundPlan, bind, called
from hidet.runtime.binding.host_memory import require_room
from hidet.runtime.binding.memory import Allocator, allocator_for, to_device
from hidet.runtime.binding.scratch import Scratch, shared_scratch
from hidet.runtime.devices.captures import aside, wait_for_device
from hidet.runtime.devices.device import canonical, cuda_capability, host_flags
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.launchable import CudaModule, HostModule, host_modules
from hidet.runtime.devices.stream import Work, is_capturing
from hidet.runtime.devices.view import View
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.derived import Derived, Origins, derivations, shared
from hidet.runtime.plans.plan import Host, Launch, Plan
from hidet.runtime.profiling.profile import CountRecorder, Profile, profile_of
from hidet.runtime.profiling.stream_profile import stream_profile
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.cuda_program import CudaProgram
from hidet.runtime.programs.host_program import HostProgram, HostStep
from hidet.runtime.programs.simulated_program import SimulatedProgram, load_simulated
from hidet.runtime.team import threads_of
from hidet.target import Target

SHAPES_KEPT = 64
NOTHING = nullcontext()
NEEDED: dict[str, frozenset[str]] = {
    "generic": frozenset(),
    "avx2": frozenset({"avx2", "fma"}),
    "avx512": frozenset({"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}),
}
"""The flags of a CPU that runs code for an instruction set."""
BESIDE = {"vnni": frozenset({"avx512_vnni"}), "bf16": frozenset({"avx512_bf16"})}
"""Those of one that has a feature."""
Program = HostProgram | CudaProgram | SimulatedProgram


class Executor:
    """Runs an archive: `executor([view, ...]) -> [view, ...]`; safe to call from several threads.

    `weights` are used where they lie; weights that the archive holds itself are copied to the
    device once. `allocator` gives scratch memory and outputs, `host_steps` the regions that stay
    in the framework. Without `use_graph` kernels are launched one by one. By the `origins` of
    weights what is derived from them is shared with other graphs. `stream` is the caller's: what
    is still to be computed for the weights is there. `threads` is how many the framework uses on
    the CPU, asked at each call.
    """

    def __init__(
        self,
        archive: Archive,
        device: str = "cpu",
        *,
        allocator: Allocator | None = None,
        host_steps: Mapping[str, HostStep] | None = None,
        weights: Mapping[str, View] | None = None,
        use_graph: bool = True,
        origins: Origins | None = None,
        stream: int = 0,
        threads: Callable[[], int] | None = None,
    ) -> None:
        self.archive, self.device, self.use_graph = archive, canonical(device), use_graph
        for plan in archive.plans.values():
            check_target(plan, self.device)
            check_host_steps(plan, host_steps or {})
        self.simulated = Target.parse(archive.main.target).simulated
        self.allocator = allocator or allocator_for(self.device)
        self.host_steps = host_steps or {}
        self.programs: OrderedDict[object, Program] = OrderedDict()
        self.apart: dict[str, Scratch] = {}
        """The memory for workspaces of what follows bodies, by the names of the plans."""
        self.lock = Lock()
        self.chain = Chain(
            archive.plans,
            self.device,
            self.allocator,
            self.following,
            self.constant_pointers,
            self.lock,
        )
        self.constants: dict[str, View] = dict(weights or {})
        self.origins = origins
        self.threads = threads_of(threads)
        self.derived: list[Derived] = []
        self.prepared: Program | None = None
        with self.aside():
            if self.simulated:
                self.kernels = load_simulated(archive.binaries)
            else:
                self.modules = load_modules(archive.binaries, self.device)
            self.scratch = Scratch(self.allocator, self.device)
            for name, array in archive.weights.items():
                if name not in self.constants:
                    self.constants[name] = to_device(array, self.device)
        self.refresh(stream)
        if not weights:
            self.release()

    def release(self) -> None:
        """Let go of weights that were only needed to derive others; they never change."""
        used = self.archive.constants
        self.constants = {name: view for name, view in self.constants.items() if name in used}
        self.prepared = None

    def __call__(self, inputs: Sequence[View], *, stream: int = 0) -> list[View]:
        """Run the graph on `inputs`, on a CUDA stream by its handle (0: the default stream).

        Inputs have no gaps and, on a GPU, start at a multiple of 16 bytes. Outputs come from the
        allocator. On a GPU the call returns when the work is on the stream.
        """
        with self.work(stream):
            program = self.program(inputs)
            return self.run(program, [view.pointer for view in inputs], stream)

    def work(self, stream: int) -> Work | nullcontext[None]:
        """Where calls to the executor's device belong."""
        return NOTHING if self.device == "cpu" else Work(self.device, stream)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Where work belongs that is no part of a call: on the default stream, beside captures."""
        with self.work(0), aside(self.device):
            yield

    def run(self, program: Program, addresses: list[int], stream: int) -> list[View]:
        """A call of a program on inputs at these addresses, with the device current."""
        if self.device != "cpu":
            check_alignment(addresses)
        return self.chain.run(program.bound, program, addresses, stream)

    def following(self, name: str, bound: BoundPlan) -> Program:
        """The program of a plan that begins once sizes were read.

        On a GPU its kernels are launched one by one: most calls bring other sizes, and a CUDA graph
        pays only when it is launched again. What follows a body has workspaces of its own, since
        those of the plan around it are in use meanwhile.
        """
        if name in self.archive.called:
            return self.load(bound, self.scratch_on, use_graph=False)
        scratch = self.apart.setdefault(name, Scratch(self.allocator, self.device))
        return self.load(bound, lambda stream: scratch, use_graph=False)

    def profile(self, run: Callable[[], object], repeat: int, stream: int = 0) -> Profile:
        """Where the time of `run` goes, which calls this executor; on a GPU on a stream.

        The simulator counts what runs, and has no times.
        """
        if self.device != "cpu":
            with self.work(stream):
                return stream_profile(run, repeat, self.device, stream)
        if self.simulated:
            return profile_of(run, min(repeat, 1), CountRecorder, 0)
        return profile_of(run, repeat)

    def refresh(self, stream: int = 0) -> None:
        """Compute the derived constants again, into the same memory, from what the weights are.

        On a GPU it waits for all work before and for the result: any stream may use it next. While
        the caller's stream is captured it raises Capturing: what was captured did not run, the
        weights may be part of it, and calls outside of the graph would read what is not there.
        """
        plan = self.archive.plans.get("prepare")
        if plan is None:
            return
        if self.device == "cpu":
            self.prepare(plan)
            return
        if is_capturing(stream):
            raise Capturing(
                "what kernels need of weights cannot be made while a CUDA graph is captured",
                help="call the model once before the capture, after the last write to its weights",
            )
        with self.aside():
            wait_for_device()
            self.prepare(plan)
            call("cuStreamSynchronize", 0)

    def prepare(self, plan: Plan) -> None:
        """Run the prepare plan; its output number i is the constant `derived<i>`."""
        if self.prepared is None:
            bound = bind(plan, [], self.archive.plans)
            self.require_room(bound)
            self.take_derived(bound)
            self.prepared = self.load(bound, lambda stream: self.scratch, use_graph=False)
        self.prepared([each.view.pointer for each in self.derived], 0)
        self.scratch.release()

    def take_derived(self, bound: BoundPlan) -> None:
        """Memory for the outputs of the prepare plan: that of other graphs where it is the same."""
        plan, origins = bound.plan, self.origins

        def made(index: int, number: int) -> View:
            shape, buffer = bound.shapes[number], plan.buffers[number]
            return self.allocator.output(index, shape, buffer.dtype, self.device)

        makers = [partial(made, index, number) for index, number in enumerate(plan.outputs)]
        if origins is None:
            self.derived = [Derived(make()) for make in makers]
        else:
            self.derived = [
                shared(each.how, self.device, [origins(name) for name in each.weights], make)
                for each, make in zip(derivations(plan), makers, strict=True)
            ]
        for index, constant in enumerate(self.derived):
            self.constants[f"derived{index}"] = constant.view

    def program(self, inputs: Sequence[View]) -> Program:
        """The program for the inputs' shapes, made at the first call with them."""
        key = tuple([(view.shape, view.dtype, view.device) for view in inputs])
        with self.lock:
            found = self.programs.get(key)
            if found is None:
                self.check_devices(inputs)
                bound = bind(self.archive.main, inputs, self.archive.plans)
                self.require_room(bound)
                found = self.programs[key] = self.load(bound, self.scratch_on, self.use_graph)
                if len(self.programs) > SHAPES_KEPT:
                    self.programs.popitem(last=False)
            elif len(self.programs) > 1:
                self.programs.move_to_end(key)
        return found

    def require_room(self, bound: BoundPlan) -> None:
        """Raise OutOfMemory for a call that the host has no memory for; a GPU's driver says so."""
        if self.device == "cpu":
            require_room(bound)

    def scratch_on(self, stream: int) -> Scratch:
        """The memory for workspaces, on a GPU that of a stream.

        Regions that the framework runs may call other graphs on the same stream, so between them a
        plan keeps what it has in memory of its own.
        """
        if self.device == "cpu":
            return self.scratch
        plans = (plan for name, plan in self.archive.plans.items() if name != "prepare")
        if not all(isinstance(step, Launch) for plan in plans for step in plan.steps):
            return Scratch(self.allocator, self.device)
        return shared_scratch(self.allocator, self.device, stream)

    def load(
        self, bound: BoundPlan, scratch_on: Callable[[int], Scratch], use_graph: bool
    ) -> Program:
        """A program for given shapes, its workspaces in memory that depends on the stream."""
        fixed = self.constant_pointers(bound)
        if self.simulated:
            return SimulatedProgram(bound, self.kernels, self.host_steps, fixed, self.chain)
        if self.device == "cpu":
            modules = cast(Mapping[str, HostModule], self.modules)
            scratch = scratch_on(0)
            return HostProgram(
                bound, modules, self.host_steps, scratch, fixed, self.chain, self.threads
            )
        loaded = cast(Mapping[str, CudaModule], self.modules)
        return CudaProgram(
            bound, loaded, self.host_steps, scratch_on, self.device, fixed, self.chain, use_graph
        )

    def constant_pointers(self, bound: BoundPlan) -> dict[int, int]:
        """Where the weights and derived constants of a plan lie, each of the size it should be."""
        found = {}
        for number, buffer in enumerate(bound.plan.buffers):
            if buffer.role not in ("weight", "derived"):
                continue
            view = self.constants.get(buffer.name)
            if view is None:
                raise BadArchive(f"there is no value for {buffer.name}")
            if (view.dtype, tuple(view.shape)) != (buffer.dtype, bound.shapes[number]):
                raise BadArchive(
                    f"{buffer.name} is {view.dtype}{list(view.shape)}; the plan expects "
                    f"{buffer.dtype}{list(bound.shapes[number])}"
                )
            found[number] = view.pointer
        return found

    def check_devices(self, inputs: Sequence[View]) -> None:
        """Raise unless all inputs are on the executor's device."""
        for position, view in enumerate(inputs):
            if view.device != self.device:
                name = input_called(called(self.archive.main, position))
                raise BadArgument(
                    f"{name} is on {view.device}; the graph runs on {self.device}",
                    help=f"move it there first: `.to({self.device!r})`",
                )


def load_modules(
    binaries: Mapping[str, bytes], device: str
) -> dict[str, HostModule] | dict[str, CudaModule]:
    """The binaries of an archive, ready to run."""
    if device == "cpu":
        return host_modules(binaries)
    return {name: CudaModule(binary, device, name) for name, binary in binaries.items()}


def check_alignment(addresses: Sequence[int]) -> None:
    """Raise unless all addresses are multiples of 16, as vector loads of a GPU need."""
    together = 0
    for address in addresses:
        together |= address
    if together % 16:
        wrong = [str(i) for i, address in enumerate(addresses) if address % 16]
        raise BadArgument(
            f"{input_called(*wrong)} does not start at a multiple of 16 bytes",
            help="pass a copy of it",
        )


def check_host_steps(plan: Plan, given: Mapping[str, HostStep]) -> None:
    """Raise unless every region that the framework has to run is there."""
    missing = [each.key for each in plan.steps if isinstance(each, Host) and each.key not in given]
    if missing:
        raise BadArgument(
            f"the archive leaves {', '.join(missing)} to the framework it was compiled from",
            help="load it with that framework's frontend",
        )


def check_target(plan: Plan, device: str) -> None:
    """Raise unless code for the plan's target runs on `device`."""
    target = Target.parse(plan.target)
    if target.simulated:
        if device != "cpu":
            raise BadArchive(f"the archive is for the simulator, on the CPU, not for {device}")
        return
    if target.kind == "cpu":
        if device != "cpu":
            raise BadArchive(f"the archive was compiled for {plan.target}, not for {device}")
        beside = (flags for name, flags in BESIDE.items() if target.has_feature(name))
        needed = NEEDED[target.arch].union(*beside)
        missing = sorted(needed - host_flags()) if host_flags() else []
        if missing:
            raise BadArchive(
                f"the archive was compiled for {plan.target}; this CPU has no {missing[0]}",
                help="compile it for cpu or cpu+avx2",
            )
        return
    if device == "cpu":
        raise BadArchive(f"the archive was compiled for {plan.target}, not for the CPU")
    found = cuda_capability(device)
    if not target.runs_on(found):
        raise BadArchive(
            f"the archive was compiled for {plan.target}; {device} is sm_{found[0]}{found[1]}"
        )
