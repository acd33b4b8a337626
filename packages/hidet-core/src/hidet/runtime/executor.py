"""An archive made ready to run on a device, and its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

from hidet.errors import BadArchive
from hidet.runtime.archive import Archive
from hidet.runtime.bound import bind
from hidet.runtime.cuda_program import CudaProgram
from hidet.runtime.device import cuda_capability
from hidet.runtime.host_program import HostProgram, HostStep
from hidet.runtime.launchable import CudaModule, HostModule
from hidet.runtime.memory import Allocator, View, allocator_for, to_device
from hidet.runtime.plan import Plan
from hidet.target import Target

SHAPES_KEPT = 64
Program = HostProgram | CudaProgram


class Executor:
    """Runs an archive: `executor([view, ...]) -> [view, ...]`; safe to call from several threads.

    `weights` are used where they lie; weights that the archive holds itself are copied to the
    device once. `allocator` gives scratch memory and outputs, `host_steps` the regions that stay
    in the framework.
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
    ) -> None:
        check_target(archive.main, device)
        self.archive, self.device, self.use_graph = archive, device, use_graph
        self.allocator = allocator or allocator_for(device)
        self.host_steps = host_steps or {}
        self.modules = {
            name: HostModule(binary, name) if device == "cpu" else CudaModule(binary, device, name)
            for name, binary in archive.binaries.items()
        }
        self.programs: OrderedDict[object, Program] = OrderedDict()
        self.lock = Lock()
        self.constants: dict[str, View] = dict(weights or {})
        for name, array in archive.weights.items():
            self.constants.setdefault(name, to_device(array, device))
        self.prepared: Program | None = None
        self.refresh()
        self.fixed = self.constant_pointers(archive.main)

    def __call__(self, inputs: Sequence[View], *, stream: int = 0) -> list[View]:
        """Run the graph on `inputs`, on a CUDA stream by its handle (0: the default stream).

        Inputs have no gaps and start at a multiple of 16 bytes. Outputs come from the allocator.
        """
        program = self.program(inputs)
        plan = self.archive.main
        pointers = dict(self.fixed)
        for number, view in zip(plan.inputs, inputs, strict=True):
            pointers[number] = view.pointer
        outputs = []
        for index, number in enumerate(plan.outputs):
            shape = program.bound.shapes[number]
            made = self.allocator.output(index, shape, plan.buffers[number].dtype, self.device)
            pointers[number] = made.pointer
            outputs.append(made)
        program.run(pointers, stream)
        return outputs

    def refresh(self, stream: int = 0) -> None:
        """Compute the derived constants again, into the same memory, from what the weights are."""
        plan = self.archive.plans.get("prepare")
        if plan is None:
            return
        if self.prepared is None:
            self.prepared = self.make(plan, [])
            for index, number in enumerate(plan.outputs):
                shape, buffer = self.prepared.bound.shapes[number], plan.buffers[number]
                made = self.allocator.output(index, shape, buffer.dtype, self.device)
                self.constants[f"derived{index}"] = made
        pointers = self.constant_pointers(plan)
        for index, number in enumerate(plan.outputs):
            pointers[number] = self.constants[f"derived{index}"].pointer
        self.prepared.run(pointers, stream)

    def program(self, inputs: Sequence[View]) -> Program:
        """The program for the inputs' shapes, made at the first call with them."""
        key = tuple((view.shape, view.dtype) for view in inputs)
        with self.lock:
            found = self.programs.get(key)
            if found is None:
                found = self.programs[key] = self.make(self.archive.main, inputs)
                if len(self.programs) > SHAPES_KEPT:
                    self.programs.popitem(last=False)
            elif len(self.programs) > 1:
                self.programs.move_to_end(key)
        return found

    def make(self, plan: Plan, inputs: Sequence[View]) -> Program:
        """A program for given shapes."""
        bound = bind(plan, inputs)
        if self.device == "cpu":
            return HostProgram(bound, self.modules, self.host_steps, self.allocator)  # type: ignore[arg-type]
        return CudaProgram(
            bound, self.modules, self.host_steps, self.allocator, self.device, self.use_graph  # type: ignore[arg-type]
        )

    def constant_pointers(self, plan: Plan) -> dict[int, int]:
        """Where the weights and derived constants of a plan lie."""
        found = {}
        for number, buffer in enumerate(plan.buffers):
            if buffer.role in ("weight", "derived"):
                view = self.constants.get(buffer.name)
                if view is None:
                    raise BadArchive(f"there is no value for {buffer.name}")
                found[number] = view.pointer
        return found


def check_target(plan: Plan, device: str) -> None:
    """Raise unless code for the plan's target runs on `device`."""
    target = Target.parse(plan.target)
    if target.kind == "cpu":
        if device != "cpu":
            raise BadArchive(f"the archive was compiled for {plan.target}, not for {device}")
        return
    if device == "cpu":
        raise BadArchive(f"the archive was compiled for {plan.target}, not for the CPU")
    found = cuda_capability(device)
    exact = plan.target.endswith("a")
    wanted = target.capability or (0, 0)
    fits = found == wanted if exact else found[0] == wanted[0] and found >= wanted
    if not fits:
        raise BadArchive(
            f"the archive was compiled for {plan.target}; {device} is sm_{found[0]}{found[1]}"
        )
