"""A bound plan on the CPU: one call of a C function for each step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from struct import Struct
from typing import Any

from hidet.runtime.binding.bound import BoundPlan, misfit
from hidet.runtime.binding.scratch import Scratch
from hidet.runtime.devices.launchable import HostModule
from hidet.runtime.devices.view import Place, View
from hidet.runtime.plans.loop_driver import DRIVER, LoopDriver, drivable
from hidet.runtime.plans.plan import Branch, Host, Launch, Repeat, Scalar, Step
from hidet.runtime.profiling.profile import RECORDER, entered, run_steps
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.direct import NUMBERS, direct
from hidet.runtime.programs.region import Driven, HostMemory, Iterations, on_chain, run_region
from hidet.runtime.team import OnTeam

HostStep = Callable[[Sequence[View], Sequence[View]], None]
"""A region that the framework runs: reads the first views, fills the second; those that are a
`Place` it may leave elsewhere."""


class HostProgram:
    """The calls of a plan with their arguments laid out; pointers are filled in at each run."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Mapping[str, HostModule],
        host_steps: Mapping[str, HostStep],
        scratch: Scratch,
        fixed: Mapping[int, int],
        chain: Chain,
        threads: Callable[[], int],
    ) -> None:
        self.bound, self.scratch, self.chain = bound, scratch, chain
        self.threads = threads
        has_loops = any(each.has_loops for each in modules.values())
        self.on_team = OnTeam(threads) if has_loops else None
        moving = (*bound.plan.inputs, *bound.plan.outputs)
        self.pointers, self.set_moving = pointers(len(bound.plan.buffers), moving)
        for buffer, address in fixed.items():
            self.pointers[buffer].value = address
        self.arena = 0
        self.kept: list[View] = []
        """What steps of the framework left elsewhere in the call under way."""
        self.names = [name_of(step) for step in bound.steps]
        self.calls = [
            self.call(number, step, modules, host_steps) for number, step in enumerate(bound.steps)
        ]
        self.direct = direct(bound, modules, fixed, threads)

    def call(
        self,
        number: int,
        step: Step,
        modules: Mapping[str, HostModule],
        host_steps: Mapping[str, HostStep],
    ) -> Callable[[], Any]:
        """What runs a step."""
        if isinstance(step, Launch):
            return self.launch(step, modules)
        if isinstance(step, Host):
            return self.host(step, host_steps)
        bodies = [
            HostProgram(each, modules, host_steps, self.scratch, {}, self.chain, self.threads)
            for each in self.bound.bodies[number]
        ]
        return self.region(step, bodies, modules)

    def region(
        self,
        step: Branch | Repeat,
        bodies: Sequence[HostProgram],
        modules: Mapping[str, HostModule],
    ) -> Callable[[], Any]:
        """The call of control flow, whose bodies have their workspaces in the step's arena."""

        def first(body: HostProgram, addresses: Sequence[int], stream: int) -> None:
            body.run(addresses, self.address(step.arena))

        driven = self.driven(step, bodies[0], modules) if isinstance(step, Repeat) else None
        runs = [
            on_chain(step, self.bound, each.bound, partial(first, each), self.chain, 0)
            for each in bodies
        ]
        return partial(run_region, step, self.bound, self.address, HostMemory(), runs, driven)

    def driven(
        self, step: Repeat, body: HostProgram, modules: Mapping[str, HostModule]
    ) -> Driven | None:
        """What runs the iterations of a loop by a compiled function, if its body can be run so."""
        launches, carried = drivable(body.bound.steps), len(step.carried)
        if not step.driver or body.bound.plan.then or launches is None:
            return None
        if misfit(step, body.bound, self.bound.plan, self.bound.shapes):
            return None
        functions = [modules[each.binary].function(each.function) for each in launches]
        outputs = iter(body.bound.plan.outputs[step.again is not None :])
        driver = LoopDriver(
            modules[step.driver].function(DRIVER),
            functions,
            launches,
            len(body.pointers),
            body.bound.plan.inputs[1 : 1 + carried],
            [None if twin is None else next(outputs) for twin in step.twins],
        )

        def run(iterations: Iterations, inputs: Sequence[int]) -> tuple[list[int], int]:
            again = [] if step.again is None else [self.address(step.again)]
            fresh = [0] * (len(body.bound.plan.outputs) - len(again))
            body.place([*inputs, *again, *fresh], self.address(step.arena))
            at = [each.value or 0 for each in body.pointers]
            return driver.run(
                step, at, self.address, iterations.limit, iterations.last, iterations.goes_on
            )

        return run

    def address(self, buffer: int) -> int:
        """Where a buffer lies."""
        return self.pointers[buffer].value or 0

    def launch(self, step: Launch, modules: Mapping[str, HostModule]) -> Callable[[], Any]:
        """The call of one function."""
        function = modules[step.binary].function(step.function)
        args = [
            number(arg) if isinstance(arg, Scalar) else self.pointers[arg.buffer]
            for arg in step.args
        ]
        return partial(function, *args)

    def host(self, step: Host, host_steps: Mapping[str, HostStep]) -> Callable[[], Any]:
        """The call of a region that the framework runs."""
        region = host_steps[step.key]
        offsets = self.movable()
        moving = [(n, offsets[n], self.pointers[n]) for n in step.writes if n in offsets]

        def run() -> None:
            for _, offset, pointer in moving:
                pointer.value = self.arena + offset
            reads, writes = self.bound.views(step, self.address, "cpu")
            places = {n: placed(view) if n in offsets else view
                      for n, view in zip(step.writes, writes, strict=True)}  # fmt: skip
            region(reads, list(places.values()))
            for number, _, pointer in moving:
                place = places[number]
                if isinstance(place, Place) and place.elsewhere is not None:
                    pointer.value = place.elsewhere.pointer
                    self.kept.append(place.elsewhere)

        return run

    def movable(self) -> dict[int, int]:
        """The workspaces that may lie elsewhere than in the arena, with their offsets there: those
        that no other plan is given, and of which nobody writes a part."""
        plan = self.bound.plan
        if plan.then:
            return {}
        wholes = {each.within for each in plan.buffers}
        return {n: offset for n, offset in self.bound.arena.offsets.items() if n not in wholes}

    def __call__(self, addresses: Sequence[int], stream: int = 0) -> None:
        """Run all steps on inputs and outputs at these addresses."""
        if self.direct is not None and RECORDER.get() is None:
            self.direct(addresses)
            return
        with self.scratch.lock:
            arena = self.scratch.reserve(self.bound.arena.nbytes)
            if self.on_team is None:
                self.run(addresses, arena)
                return
            with self.on_team:
                self.run(addresses, arena)

    def run(self, addresses: Sequence[int], arena: int) -> None:
        """The same with workspaces in memory that nobody else uses meanwhile."""
        self.place(addresses, arena)
        entered(self.bound)
        run_steps(self.names, self.calls)
        self.kept.clear()

    def place(self, addresses: Sequence[int], arena: int) -> None:
        """Let inputs and outputs lie at addresses, and workspaces in an arena."""
        if arena != self.arena:
            self.arena = arena
            for buffer, offset in self.bound.arena.offsets.items():
                self.pointers[buffer].value = arena + offset
        self.set_moving(*addresses)


def pointers(
    count: int, moving: Sequence[int]
) -> tuple[list[ctypes.c_void_p], Callable[..., None]]:
    """A pointer for each buffer, and what sets those of the `moving` ones: all at once, since a
    small call would wait for one after the other."""
    memory = bytearray((len(moving) + count) * ctypes.sizeof(ctypes.c_void_p))
    slots = {number: len(moving) + number for number in range(count)}
    slots |= {number: slot for slot, number in enumerate(moving)}
    found = [
        ctypes.c_void_p.from_buffer(memory, slots[number] * ctypes.sizeof(ctypes.c_void_p))
        for number in range(count)
    ]
    return found, partial(Struct(f"{len(moving)}P").pack_into, memory, 0)


def placed(view: View) -> Place:
    """A view of what may lie elsewhere."""
    return Place(view.pointer, view.shape, view.dtype, view.device)


def name_of(step: Step) -> str:
    """What a profile calls a step; control flow has no name, but its bodies' steps have."""
    match step:
        case Launch():
            return step.function
        case Host():
            return step.key
    return ""


def number(arg: Scalar) -> Any:
    """A size as C takes it."""
    assert isinstance(arg.value, int), "a bound plan has numbers only"
    return NUMBERS[arg.dtype](arg.value)
