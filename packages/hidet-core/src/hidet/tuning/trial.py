"""The other end of a testbed: a process that runs candidates, so that a bad one harms no other.

It compiles nothing, and does one thing at a time. Outputs and scratch memory are full of NaN
before a candidate is checked: what it does not write is seen. Caches are as in the network: they
are flushed before each measurement, and what the operator ahead has just written is there again.
Where they hold all weights of the network, they hold those of the candidate too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

from filelock import FileLock
from numpy import float64, uint8

from hidet.errors import CudaError, HidetError, OutOfMemory
from hidet.runtime.binding.memory import Allocator, allocator_for, array_of, to_device
from hidet.runtime.binding.scratch import Scratch
from hidet.runtime.cores import usual_threads
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import Work
from hidet.runtime.devices.timing import (
    cache_bytes,
    device_seconds,
    flushing,
    host_seconds,
    thread_seconds,
)
from hidet.runtime.devices.view import View
from hidet.runtime.executor import Executor
from hidet.runtime.plans.archive import read
from hidet.tuning.verdict import Expected, Problem, constant_name, difference

WARM = 2
"""How many times as large as all weights of a network a cache is that still has them in the next
call: activations are there too.
"""


class Poisoned:
    """Memory that is full of NaN; each output of all candidates is in the same place."""

    def __init__(self, device: str) -> None:
        self.plain: Allocator = allocator_for(device)
        self.outputs: dict[int, View] = {}
        self.scratch: View | None = None
        """What was given last: candidates share it, and leave in it what they please."""
        self.preparing = False
        """Whether outputs are what a candidate makes of constants, and keeps."""

    def empty(self, nbytes: int, device: str) -> View:
        """Scratch memory."""
        self.scratch = None
        self.scratch = self.plain.empty(nbytes, device)
        poison(self.scratch)
        return self.scratch

    def renew(self) -> None:
        """Fill all of it again."""
        for each in self.outputs.values():
            poison(each)
        if self.scratch is not None:
            poison(self.scratch)

    def output(self, index: int, shape: tuple[int, ...], dtype: str, device: str) -> View:
        """The memory of an output."""
        if self.preparing:
            return self.plain.output(index, shape, dtype, device)
        if index not in self.outputs:
            self.outputs[index] = self.plain.output(index, shape, dtype, device)
        return self.outputs[index]


def poison(view: View) -> None:
    """Fill memory with ones: NaN in all types of floats."""
    if view.device == "cpu":
        ctypes.memset(view.pointer, 0xFF, view.nbytes)
    else:
        call("cuMemsetD8", view.pointer, 0xFF, view.nbytes)


class Trials:
    """The candidates for one problem on a device."""

    def __init__(self, problem: Problem, device: str) -> None:
        self.problem, self.device = problem, device
        self.memory = Poisoned(device)
        self.programs: dict[int, Executor] = {}
        self.agreed: list[Expected] | None = None
        views = [to_device(each, device) for each in problem.inputs]
        self.constants = {constant_name(i): views[i] for i in problem.constants}
        self.inputs = [v for i, v in enumerate(views) if i not in problem.constants]
        self.scratch = Scratch(self.memory, device)
        self.flush = flushing(device)
        self.warm = WARM * problem.weights <= cache_bytes(device)
        """Whether a call of the network finds its weights in a cache."""
        given = [] if device == "cpu" else [each for each in self.inputs if each.nbytes]
        self.written = [(each, self.copy(each)) for each in given]
        """On a GPU, inputs and where their values are written from."""
        # What else the machine does adds nothing to the time of a thread that is alone.
        self.seconds = thread_seconds if usual_threads() == 1 else host_seconds

    def check(self, number: int, archive: bytes) -> str:
        """Run a candidate once; what is wrong with its results, if anything."""
        self.programs[number] = self.loaded(archive)
        self.run(number)  # its memory is there now
        self.memory.renew()
        results = [array_of(each) for each in self.run(number)]
        for expected, found in zip(self.problem.expected, results, strict=True):
            wrong = difference(found, expected, self.problem.factor)
            if wrong:
                return wrong
        return self.compared(results)

    def loaded(self, archive: bytes) -> Executor:
        """A candidate that has made what it makes of constants."""
        self.memory.preparing = True
        made = Executor(
            read(archive, "a candidate"),
            self.device,
            allocator=self.memory,
            weights=self.constants,
        )
        self.memory.preparing = False
        made.scratch = self.scratch  # one after the other, they need no memory of their own
        return made

    def compared(self, results: Sequence[Any]) -> str:
        """What differs from the first candidate that was right at the sampled elements."""
        if all(each.positions is None for each in self.problem.expected):
            return ""
        if self.agreed is None:
            self.agreed = [
                replace(e, positions=None, values=wide(found))
                for e, found in zip(self.problem.expected, results, strict=True)
            ]
        pairs = zip(self.agreed, results, strict=True)
        # Both may be off, in opposite directions.
        wrong = (difference(found, each, 2 * self.problem.factor) for each, found in pairs)
        text = next(filter(None, wrong), "")
        return f"compared with the cost model's choice, {text}" if text else ""

    def run(self, number: int) -> list[View]:
        """One run."""
        return self.programs[number](self.inputs)

    def time(self, number: int, repeats: int, limit: float) -> list[float]:
        """Seconds of up to so many runs after one that does not count, one at least."""
        end = perf_counter() + limit
        self.run(number)
        times: list[float] = []
        while len(times) < repeats and (not times or perf_counter() < end):
            times.append(self.once(number))
        return times

    def once(self, number: int) -> float:
        """The time of one run."""
        if self.device == "cpu":
            self.flush()
            self.bring_back(number)
            return self.seconds(lambda: self.run(number))
        with Work(self.device, 0):
            # The GPU is busy with this while the host launches what is measured.
            self.flush()
            self.bring_back(number)
            return device_seconds(lambda: self.run(number), self.device, 0)

    def copy(self, view: View) -> View:
        """A copy of an input on a GPU."""
        with Work(self.device, 0):
            made = self.memory.plain.empty(view.nbytes, self.device)
            call("cuMemcpyDtoDAsync", made.pointer, view.pointer, view.nbytes, 0)
        return made

    def bring_back(self, number: int) -> None:
        """Let caches hold what they do in the network ahead of this candidate."""
        if self.warm:
            self.run(number)
        for view, values in self.written:
            call("cuMemcpyDtoDAsync", view.pointer, values.pointer, view.nbytes, 0)
        if not self.written:
            for view in self.inputs:
                read_through(view)


def read_through(view: View) -> None:
    """Bring host memory into the caches."""
    if view.nbytes:
        array_of(view).reshape(-1).view(uint8).max()


def wide(found: Any) -> Any:
    """Values to compare others with."""
    return found.copy() if found.dtype.kind in "biu" else found.astype(float64)


class Process:
    """Answers the questions of a testbed."""

    def __init__(self, device: str, lock: str) -> None:
        self.device, self.lock = device, FileLock(lock)
        self.trials: Trials | None = None

    def answer(self, verb: str, *given: Any) -> Any:
        """What becomes of a question; only one process of this user uses a device at a time."""
        with self.lock:
            if verb == "pose":
                self.trials = None
                self.trials = Trials(given[0], self.device)
                return None
            assert self.trials is not None
            return self.trials.check(*given) if verb == "check" else self.trials.time(*given)


def serve(handle: int, device: str, lock: str) -> None:
    """Answer questions until there are no more, or the device cannot be used any longer."""
    connection = Connection(handle)
    Path(lock).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    process = Process(device, lock)
    with suppress(EOFError, BrokenPipeError):
        while True:
            question = connection.recv()
            try:
                connection.send((True, process.answer(*question)))
            except OutOfMemory as error:
                connection.send((False, error.message))
            except CudaError as error:
                connection.send((False, error.message))
                return  # after a fault the whole context is lost
            except HidetError as error:
                connection.send((False, error.message))
            except Exception as error:  # told to who asked, who refuses the candidate
                connection.send((False, f"{type(error).__name__}: {error}"))
