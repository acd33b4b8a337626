"""A compiled graph's launch plan, run by the simulator: what `HIDET_TARGET=sim` comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from hidet.errors import BadArchive
from hidet.ir.expr import Var
from hidet.ir.stored import restored
from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.plan import Branch, Host, Launch, Pointer, Repeat, Scalar
from hidet.runtime.profiling.profile import run_step
from hidet.sim.arguments import Bound, scalar
from hidet.sim.interpreter.program import Program, compiled
from hidet.sim.launch import run_kernel
from hidet.sim.memories.dependents import hold
from hidet.sim.memory import Buffer, wrapped
from hidet.sim.report import Report
from hidet.types import Scope, dtype

STEPS = 1 << 40
"""Iterations of loops in one kernel: those of compiled graphs end."""


def load_simulated(binaries: Mapping[str, bytes]) -> Kernels:
    """The kernels in the binaries of an archive."""
    return Kernels(binaries)


class Kernels:
    """Kernels by name, compiled to closures at their first launch."""

    def __init__(self, binaries: Mapping[str, bytes]) -> None:
        self.kernels = {
            kernel.name: kernel for binary in binaries.values() for kernel in restored(binary)
        }
        self.programs: dict[str, Program] = {}

    def program(self, name: str) -> Program:
        """A kernel, compiled."""
        if name not in self.kernels:
            raise BadArchive(f"the archive has no kernel {name!r}")
        if name not in self.programs:
            self.programs[name] = compiled(self.kernels[name])
        return self.programs[name]

    def run(
        self,
        bound: BoundPlan,
        arrays: Mapping[int, np.ndarray[Any, Any]],
        host: Callable[[int, Host | Branch | Repeat], None],
    ) -> Report:
        """Run a plan's steps on an array for each of its buffers.

        Outputs and workspaces are undefined until they are written; a step writes only what the
        plan says that it does. One that waits for those before it finds all that is not constant in
        their hands until then, so that no order of execution hides that it waits too late; but for
        what the plan knows that it reads ahead.
        """
        launches = [step for step in bound.steps if isinstance(step, Launch)]
        programs = {step.function: self.program(step.function) for step in launches}
        finest = min((p.granule[Scope.GLOBAL] for p in programs.values()), default=1)
        buffers = memory_of(bound, arrays)
        report = Report(measures=False)
        constant = constants(bound)
        with np.errstate(all="ignore"):
            for position, step in enumerate(bound.steps):
                if not isinstance(step, Launch):
                    host(position, step)
                    for number in step.writes:
                        buffers[number].starts_undefined, buffers[number].written = False, None
                    continue
                there = constant | complete(bound, position)
                for number, each in buffers.items():
                    if bound.places.get(number, number) != number:
                        continue  # one memory is looked at once
                    each.read_only, each.pending = number not in written(bound, step), None
                    if step.waits and number not in there:
                        hold(each, finest)
                program = programs[step.function]
                given = arguments(program, step, buffers)
                launch = partial(run_kernel, program, given, report, finest, STEPS)
                run_step(step.function, launch)
        return report


def memory_of(bound: BoundPlan, arrays: Mapping[int, np.ndarray[Any, Any]]) -> dict[int, Buffer]:
    """The memory behind each buffer: the same for those of which one takes the other's place, so
    that a thread that writes what another one still reads is found."""
    places = {number: bound.places.get(number, number) for number in arrays}
    made = {first: buffer(bound, first, arrays[first]) for first in places.values()}
    return {number: made[first] for number, first in places.items()}


def written(bound: BoundPlan, step: Launch) -> set[int]:
    """The buffers that a step may write, each by the first one that lies in its place."""
    return {bound.places.get(number, number) for number in step.writes}


def complete(bound: BoundPlan, position: int) -> set[int]:
    """Of what a step reads ahead of its wait that which those further before may have written: the
    one before, if this one begins while that runs, has waited for them."""
    step = bound.steps[position]
    assert isinstance(step, Launch)
    before = bound.waits[position] if bound.overlaps(position) else ()
    writing = (bound.steps[each] for each in before)
    changed = {n for each in writing if isinstance(each, Launch) for n in written(bound, each)}
    return {bound.places.get(number, number) for number in step.ahead} - changed


def constants(bound: BoundPlan) -> set[int]:
    """The buffers that are the same for all steps: weights, and what is derived of them."""
    changed = {number for step in bound.steps for number in step.writes}
    return {*bound.plan.of_role("weight"), *bound.plan.of_role("derived")} - changed


def buffer(bound: BoundPlan, number: int, array: np.ndarray[Any, Any]) -> Buffer:
    """A plan's buffer over the memory of an array."""
    found = wrapped(bound.plan.buffers[number].name, array)
    found.starts_undefined = bound.plan.buffers[number].role in ("output", "workspace")
    return found


def arguments(program: Program, step: Launch, buffers: Mapping[int, Buffer]) -> Bound:
    """What a launch gives to the parameters of its kernel; its tensor maps it makes of them."""
    found = Bound()
    params: tuple[Var, ...] = program.kernel.params
    given = [arg for arg in step.args if not isinstance(arg, Map)]
    if len(params) != len(given):
        raise BadArchive(f"{step.function} takes {len(params)} arguments, not {len(given)}")
    for var, arg in zip(params, given, strict=True):
        if isinstance(arg, Pointer):
            found.arrays[var] = buffers[arg.buffer]
        else:
            assert isinstance(arg, Scalar)
            found.scalars[var] = scalar(var, dtype(arg.dtype).numpy.type(arg.value))
    return found
