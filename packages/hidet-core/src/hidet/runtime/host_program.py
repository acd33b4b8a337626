"""A bound plan on the CPU: one call of a C function for each step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hidet.runtime.bound import BoundPlan
from hidet.runtime.launchable import HostModule
from hidet.runtime.plan import Host, Launch, Scalar
from hidet.runtime.scratch import Scratch
from hidet.runtime.view import View

HostStep = Callable[[Sequence[View], Sequence[View]], None]
"""A region that the framework runs: reads the first views, fills the second."""

NUMBERS = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}


class HostProgram:
    """The calls of a plan with their arguments laid out; pointers are filled in at each run."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, HostModule],
        host_steps: Mapping[str, HostStep],
        scratch: Scratch,
        fixed: Mapping[int, int],
    ) -> None:
        self.bound, self.scratch = bound, scratch
        self.pointers = [ctypes.c_void_p() for _ in bound.plan.buffers]
        for buffer, address in fixed.items():
            self.pointers[buffer].value = address
        self.moving = [self.pointers[n] for n in (*bound.plan.inputs, *bound.plan.outputs)]
        self.arena = 0
        self.calls: list[Callable[[], Any]] = [
            self.host(step, host_steps) if isinstance(step, Host) else self.launch(step, modules)
            for step in bound.steps
        ]

    def launch(self, step: Launch, modules: Mapping[str, HostModule]) -> Callable[[], Any]:
        """The call of one function."""
        function = modules[step.binary].function(step.function)
        args = [
            number(arg) if isinstance(arg, Scalar) else self.pointers[arg.buffer]
            for arg in step.args
        ]
        return lambda: function(*args)

    def host(self, step: Host, host_steps: Mapping[str, HostStep]) -> Callable[[], Any]:
        """The call of a region that the framework runs."""
        region = host_steps[step.key]
        return lambda: region(self.views(step.reads), self.views(step.writes))

    def views(self, numbers: Sequence[int]) -> list[View]:
        """Buffers as the framework sees them."""
        buffers, shapes = self.bound.plan.buffers, self.bound.shapes
        return [
            View(self.pointers[n].value or 0, shapes[n], buffers[n].dtype, "cpu") for n in numbers
        ]

    def __call__(self, addresses: Sequence[int], stream: int = 0) -> None:
        """Run all steps on inputs and outputs at these addresses."""
        with self.scratch.lock:
            arena = self.scratch.reserve(self.bound.arena.nbytes)
            if arena != self.arena:
                self.arena = arena
                for buffer, offset in self.bound.arena.offsets.items():
                    self.pointers[buffer].value = arena + offset
            for pointer, address in zip(self.moving, addresses, strict=True):
                pointer.value = address
            for call in self.calls:
                call()


def number(arg: Scalar) -> Any:
    """A size as C takes it."""
    assert isinstance(arg.value, int), "a bound plan has numbers only"
    return NUMBERS[arg.dtype](arg.value)
