"""A bound plan on the CPU: one call of a C function for each step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from hidet.runtime.bound import BoundPlan
from hidet.runtime.launchable import HostModule
from hidet.runtime.memory import Allocator, View
from hidet.runtime.plan import Host, Launch, Scalar

HostStep = Callable[[Sequence[View], Sequence[View]], None]
NUMBERS = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}


class HostProgram:
    """The calls of a plan with their arguments laid out; pointers are filled in at each run."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, HostModule],
        host_steps: Mapping[str, HostStep],
        allocator: Allocator,
    ) -> None:
        self.bound = bound
        self.pointers = [ctypes.c_void_p() for _ in bound.plan.buffers]
        self.lock = Lock()
        self.arena = allocator.empty(bound.arena.nbytes, "cpu")
        for buffer, offset in bound.arena.offsets.items():
            self.pointers[buffer].value = self.arena.pointer + offset
        self.calls: list[Callable[[], Any]] = [
            self.host(step, host_steps) if isinstance(step, Host) else self.launch(step, modules)
            for step in bound.steps
        ]

    def launch(self, step: Launch, modules: Mapping[str, HostModule]) -> Callable[[], Any]:
        """The call of one function."""
        function = modules[step.binary].function(step.function)
        args = [
            NUMBERS[arg.dtype](arg.value) if isinstance(arg, Scalar) else self.pointers[arg.buffer]
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

    def run(self, pointers: Mapping[int, int], stream: int) -> None:
        """Run all steps on memory that the caller provides."""
        with self.lock:
            for buffer, address in pointers.items():
                self.pointers[buffer].value = address
            for call in self.calls:
                call()
