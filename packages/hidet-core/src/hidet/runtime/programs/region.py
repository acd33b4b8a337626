"""Control flow by the host: which body of a step runs, and how often, on buffers at addresses.

A body is a plan of its own, whose inputs and outputs lie where the step says; so an iteration hands
on what it carries by other addresses, without a copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from hidet.errors import BadArchive
from hidet.runtime.binding.bound import BoundPlan, misfit
from hidet.runtime.plans.plan import Branch, Repeat
from hidet.runtime.profiling.profile import RECORDER
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.chain import Run as First

Place: TypeAlias = Callable[[int], int]
"""The address of a buffer."""
Run: TypeAlias = Callable[[Sequence[int]], None]
"""Runs a body on inputs and outputs at addresses."""


def on_chain(
    step: Branch | Repeat,
    bound: BoundPlan,
    body: BoundPlan,
    first: First,
    chain: Chain,
    stream: int,
) -> Run:
    """What runs a body of a bound plan's step: its plan by `first`, and those that follow it."""
    if wrong := misfit(step, body, bound.plan, bound.shapes):
        return partial(refuse, wrong)
    if body.plan.then is None:
        return lambda addresses: first([*addresses], stream)
    count = len(body.plan.inputs)
    nbytes = [bound.nbytes(each) for each in step.passed[count:]]

    def run(addresses: Sequence[int]) -> None:
        places = [*zip(addresses[count:], nbytes, strict=True)]
        chain.run(body, first, [*addresses[:count]], stream, places)

    return run


def refuse(wrong: str, addresses: Sequence[int]) -> None:
    """Raise, rather than run a body with too little memory."""
    raise BadArchive(wrong)


Driven: TypeAlias = Callable[["Iterations", Sequence[int]], tuple[list[int], int]]
"""Runs the iterations of a loop whose body takes inputs at addresses: where what they carry lies
then, and how many there were."""


class Memory(Protocol):
    """Memory that the host decides by."""

    def flag(self, address: int) -> bool:
        """The bool that lies there, once it has been computed."""

    def number(self, address: int) -> int:
        """The i64 that lies there, once it has been computed."""

    def put(self, address: int, value: int) -> None:
        """Write an i64."""

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes."""


class HostMemory:
    """The host's own."""

    def flag(self, address: int) -> bool:
        """The bool that lies there."""
        return ctypes.c_bool.from_address(address).value

    def number(self, address: int) -> int:
        """The i64 that lies there."""
        return ctypes.c_int64.from_address(address).value

    def put(self, address: int, value: int) -> None:
        """Write an i64."""
        ctypes.c_int64.from_address(address).value = value

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes."""
        ctypes.memmove(target, source, nbytes)


def run_region(
    step: Branch | Repeat,
    bound: BoundPlan,
    at: Place,
    memory: Memory,
    bodies: Sequence[Run],
    driven: Driven | None = None,
) -> None:
    """Run a step of control flow of a bound plan, by programs of its bodies, or the iterations of a
    loop by `driven`."""
    if isinstance(step, Branch):
        chosen = 0 if memory.flag(at(step.condition)) else 1
        bodies[chosen]([at(each) for each in (*step.operands, *step.results)])
    else:
        Iterations(step, bound, at, memory).run(bodies[0], driven)


class Iterations:
    """The iterations of a loop.

    What an iteration carries to the next lies in the result or in its twin, in turns; where the
    body updates it in place, in the result alone. If it is known before how many iterations there
    are, the last one writes the result; else that may have to be copied.
    """

    def __init__(self, step: Repeat, bound: BoundPlan, at: Place, memory: Memory) -> None:
        self.step, self.bound, self.at, self.memory = step, bound, at, memory
        self.limit = self.bounded()
        self.last = None if step.go_on is not None else self.limit

    def bounded(self) -> int | None:
        """How many iterations there are at most; None: only the condition says."""
        step, found = self.step, []
        if isinstance(step.count, int):
            found.append(step.count)
        if step.trips is not None:
            found.append(self.memory.number(self.at(step.trips)))
        return max(min(found), 0) if found else None

    def run(self, body: Run, driven: Driven | None = None) -> None:
        """All iterations."""
        step, at = self.step, self.at
        now = [
            at(first) if twin is not None else self.copied(first, result)
            for first, result, twin in zip(step.carried, step.results, step.twins, strict=True)
        ]
        captured = [at(each) for each in step.captured]
        if driven is not None and RECORDER.get() is None:  # a profile asks for each launch
            now, iteration = driven(self, [at(step.iteration), *now, *captured])
        else:
            now, iteration = self.by_host(body, now, captured)
        for place, address in enumerate(now):
            if address != at(step.results[place]):
                self.move(step.results[place], address)
        self.memory.put(at(step.iterations), iteration)

    def by_host(self, body: Run, now: list[int], captured: Sequence[int]) -> tuple[list[int], int]:
        """All iterations one by one; where what they carry lies then, and how many there were."""
        step, at, memory = self.step, self.at, self.memory
        again = [] if step.again is None else [at(step.again)]
        iteration = 0
        while self.goes_on(iteration):
            memory.put(at(step.iteration), iteration)
            following = [self.target(place, iteration) for place in range(len(now))]
            fresh = [
                each for each, twin in zip(following, step.twins, strict=True) if twin is not None
            ]
            body([at(step.iteration), *now, *captured, *again, *fresh])
            now, iteration = following, iteration + 1
        return now, iteration

    def goes_on(self, iteration: int) -> bool:
        """Whether there is one more iteration; what decides was computed by the iteration
        before."""
        step = self.step
        if self.limit is not None and iteration >= self.limit:
            return False
        decides = step.go_on if iteration == 0 else step.again
        return decides is None or self.memory.flag(self.at(decides))

    def target(self, place: int, iteration: int) -> int:
        """Where an iteration writes one of the tensors that are carried."""
        step = self.step
        twin = step.twins[place]
        to_result = iteration % 2 == 0 if self.last is None else (self.last - iteration) % 2 == 1
        return self.at(step.results[place] if twin is None or to_result else twin)

    def copied(self, first: int, result: int) -> int:
        """The address of a result that begins as what the first iteration takes."""
        self.move(result, self.at(first))
        return self.at(result)

    def move(self, result: int, source: int) -> None:
        """Copy what is carried into a result."""
        self.memory.copy(self.at(result), source, self.bound.nbytes(result))
