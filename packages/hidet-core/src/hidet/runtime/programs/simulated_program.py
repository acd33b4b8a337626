"""A bound plan in the simulator: the kernels of a GPU, step by step, on memory of the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hidet import seams
from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.binding.memory import exposed
from hidet.runtime.devices.view import View
from hidet.runtime.plans.plan import Branch, Host, Repeat
from hidet.runtime.profiling.profile import entered, run_step
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.host_program import HostStep
from hidet.runtime.programs.region import HostMemory, on_chain, run_region

Arrays = Mapping[int, np.ndarray[Any, Any]]
Apart = Callable[[int, Host | Branch | Repeat], None]
"""Runs a step that launches no kernel itself, by its number."""


class SimulatedKernels(Protocol):
    """Kernels that were read from the binaries of an archive."""

    def run(self, bound: BoundPlan, arrays: Arrays, host: Apart) -> Any:
        """Run a plan's steps on an array for each of its buffers; a report of what they did."""


def load_simulated(binaries: Mapping[str, bytes]) -> SimulatedKernels:
    """The kernels of an archive for the simulator, which is above the runtime."""
    found: SimulatedKernels = seams.call("load_simulated", binaries)
    return found


class SimulatedProgram:
    """A plan's steps, run by the simulator; workspaces are new at each run, and share memory only
    where one takes the place of another's dying operand."""

    def __init__(
        self,
        bound: BoundPlan,
        kernels: SimulatedKernels,
        host_steps: Mapping[str, HostStep],
        fixed: Mapping[int, int],
        chain: Chain,
    ) -> None:
        self.bound, self.kernels, self.host_steps = bound, kernels, host_steps
        self.fixed = dict(fixed)
        self.bodies = {
            number: [
                on_chain(bound.steps[number], bound, each, made, chain, 0)  # type: ignore[arg-type]
                for each in bodies
                for made in [SimulatedProgram(each, kernels, host_steps, {}, chain)]
            ]
            for number, bodies in bound.bodies.items()
        }
        self.report: Any = None
        """What the last run did: a `hidet.sim.Report`."""

    def __call__(self, addresses: Sequence[int], stream: int = 0) -> None:
        """Run all steps on memory that the caller provides: of the inputs, then of the outputs."""
        plan = self.bound.plan
        entered(self.bound)
        at = self.fixed | dict(zip((*plan.inputs, *plan.outputs), addresses, strict=True))
        views: dict[int, View] = {}
        memory: dict[int, np.ndarray[Any, Any]] = {}
        for number, buffer in enumerate(plan.buffers):
            shape = self.bound.shapes[number]
            if number in at:
                views[number] = View(at[number], shape, buffer.dtype, "cpu")
            elif buffer.role == "workspace":
                first = self.bound.places.get(number, number)
                if first not in memory:
                    memory[first] = np.empty(max(self.bound.nbytes(number), 1), np.uint8)
                pointer = memory[first].__array_interface__["data"][0]
                views[number] = View(pointer, shape, buffer.dtype, "cpu", memory[first])
        arrays = {number: exposed(view) for number, view in views.items()}

        def host(number: int, step: Host | Branch | Repeat) -> None:
            at = lambda each: views[each].pointer  # noqa: E731
            if isinstance(step, Host):
                given = self.bound.views(step, at, "cpu")
                run_step(step.key, lambda: self.host_steps[step.key](*given))
            else:
                run_region(step, self.bound, at, HostMemory(), self.bodies[number])

        self.report = self.kernels.run(self.bound, arrays, host)
