"""What an iteration of a loop costs on a GPU: in a conditional node, unrolled, and driven by the
host."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks.measure.conditional import IF, SOURCE, WHILE, Chain, Kernel
from benchmarks.measure.timing import host_microseconds, milliseconds
from hidet.runtime.devices.driver import call, cu, expect
from hidet.runtime.graphs.conditional import current_context, decider
from hidet.toolchain import compile_cuda

ITERATIONS = 1000
SIZES = (1, 4, 16)
"""Kernels of a body beside those that count iterations."""
Answer = Iterable[tuple[str, str]]


class Loops:
    """Memory and kernels that the questions share: counters, flags, and what adds to numbers."""

    def __init__(self) -> None:
        self.x, self.iteration, self.flags = (
            torch.zeros(n, dtype=torch.int32, device="cuda") for n in (64, 8, 8)
        )
        self.stream = cu.CUstream(0)
        arch = "sm_{}{}".format(*torch.cuda.get_device_capability())
        self.source = call("cuModuleLoadData", compile_cuda(SOURCE, arch=arch).cubin)
        start = time.perf_counter()
        self.setter = decider(int(current_context()))
        self.load_ms = (time.perf_counter() - start) * 1e3

    def add(self, value: int = 1, to: int = 0, function: str = "add", **how: int) -> Kernel:
        """Adds to 32 numbers, the first or the last ones."""
        return Kernel(self.function(function), self.x.data_ptr() + 128 * to, value, **how)

    def step(self, trips: int = ITERATIONS, at: int = 0) -> Kernel:
        """Counts an iteration; says whether another is to come."""
        addresses = self.iteration.data_ptr() + 4 * at, self.flags.data_ptr() + at
        return Kernel(self.function("step"), *addresses, trips)

    def parity(self) -> Kernel:
        """Says whether the iteration is odd."""
        return Kernel(self.function("parity"), self.iteration.data_ptr(), self.flags.data_ptr() + 4)

    def set(self, handle: Any, at: int = 0) -> Kernel:
        """Sets a condition to what a kernel said."""
        # It counts no iterations here: 0 stays below a limit of 1.
        flag = self.flags.data_ptr() + at
        return Kernel(self.setter, int(handle), 0, flag, 0, 1, 0, threads=1)

    def function(self, name: str) -> Any:
        """A function of the source."""
        return call("cuModuleGetFunction", self.source, name.encode())

    def reset(self, chain: Chain) -> None:
        """Iterations and flags begin at nothing."""
        chain.memset(self.iteration.data_ptr(), 0, 8)
        chain.memset(self.flags.data_ptr(), 0, 8)

    def run(self, executable: Any) -> list[int]:
        """The first and the last numbers after one launch, from nothing."""
        self.x.zero_()
        call("cuGraphLaunch", executable, self.stream)
        torch.cuda.synchronize()
        return [int(self.x[0]), int(self.x[32])]

    def milliseconds(self, executable: Any) -> float:
        """The median of launches."""
        return milliseconds(
            lambda: expect(cu.cuGraphLaunch(executable, self.stream)[0], "cuGraphLaunch"),
            "cuda", seconds=0.2,
        ).median  # fmt: skip

    def loop(
        self, kernels: int, trips: int = ITERATIONS, *, early: bool = False
    ) -> tuple[Chain, Chain]:
        """A graph that runs a chain of kernels so often; and its body."""
        chain = Chain()
        self.reset(chain)
        handle = chain.handle(1)
        (body,) = chain.conditional(handle, WHILE)
        for _ in range(kernels):
            body.kernel(self.add(), early=early)
        body.kernel(self.step(trips), early=early)
        body.kernel(self.set(handle))
        return chain, body


def check(found: object, wanted: object) -> str:
    """Whether it came as it should."""
    return "right" if found == wanted else f"WRONG: {found} instead of {wanted}"


def iterations(loops: Loops) -> Answer:
    """A WHILE of 1,000 iterations: right, again right, and what an iteration takes by kernels in
    it."""
    for kernels in SIZES:
        for early in (False, True):
            chain, _ = loops.loop(kernels, early=early)
            executable = chain.instantiate()
            found = check([loops.run(executable)[0] for _ in range(2)], [kernels * ITERATIONS] * 2)
            edges = "programmatic" if early else "full"
            took = loops.milliseconds(executable) / ITERATIONS * 1e3
            what = f"WHILE, {kernels} + step + setter, {edges} edges, an iteration"
            yield what, f"{took:.2f} us, {found}"
    chain, _ = loops.loop(1, trips=1)
    once = chain.instantiate()
    yield "WHILE of one iteration, a launch", f"{loops.milliseconds(once) * 1e3:.1f} us"
    chain, _ = loops.loop(1, trips=65536)
    yield (
        "WHILE of 65,536 iterations, a launch",
        f"{loops.milliseconds(chain.instantiate()):.1f} ms",
    )


def amortised(loops: Loops) -> Answer:
    """Several iterations in a body, whose kernels do nothing once a flag says that the loop is
    over."""
    for kernels, copies in ((1, 4), (1, 16), (4, 16)):
        chain = Chain()
        chain.memset(loops.iteration.data_ptr(), 0, 8)
        chain.memset(loops.flags.data_ptr(), 0x01010101, 8)
        handle = chain.handle(1)
        (body,) = chain.conditional(handle, WHILE)
        go = loops.flags.data_ptr()
        for _ in range(copies):
            for _ in range(kernels):
                add = Kernel(loops.function("add_if"), loops.x.data_ptr(), 1, go)
                body.kernel(add, early=True)
            step = Kernel(loops.function("step_if"), loops.iteration.data_ptr(), go, ITERATIONS)
            body.kernel(step, early=True)
        body.kernel(loops.set(handle))
        executable = chain.instantiate()
        found = check(loops.run(executable)[0], kernels * ITERATIONS)
        took = loops.milliseconds(executable) / ITERATIONS * 1e3
        of = f"{copies} iterations of {kernels} + step"
        what = f"WHILE, {of} in its body, programmatic edges, an iteration"
        yield what, f"{took:.2f} us, {found}"


def relaunched(loops: Loops) -> Answer:
    """A number of iterations that the host knows: graphs of some iterations, launched without
    waiting."""
    for kernels, copies in ((1, 1), (1, 20), (4, 1), (4, 20)):
        chain = Chain()
        for _ in range(copies):
            for _ in range(kernels):
                chain.kernel(loops.add(), early=True)
            chain.kernel(loops.step(), early=True)
        executable = chain.instantiate()

        def run(executable: Any = executable, copies: int = copies) -> None:
            for _ in range(ITERATIONS // copies):
                cu.cuGraphLaunch(executable, loops.stream)

        took = milliseconds(run, "cuda", seconds=0.2).median / ITERATIONS * 1e3
        yield (
            f"graphs of {copies} iterations of {kernels} + step, no waiting, an iteration",
            f"{took:.2f} us",
        )


def flat(loops: Loops) -> Answer:
    """The same kernels with no loop: a graph that is a line of all iterations."""
    for kernels in SIZES:
        for early in (False, True):
            chain = Chain()
            loops.reset(chain)
            for _ in range(100):
                for _ in range(kernels):
                    chain.kernel(loops.add(), early=early and len(chain.nodes) > 2)
                chain.kernel(loops.step(), early=early)
            took = loops.milliseconds(chain.instantiate()) * 10
            edges = "programmatic" if early else "full"
            yield f"unrolled, {kernels} + step, {edges} edges, an iteration", f"{took:.2f} us"


def host_driven(loops: Loops) -> Answer:
    """An iteration of a loop that the host drives: kernels one by one, or a graph of the body."""
    pinned = call("cuMemHostAlloc", 8, 2)  # 2: mapped
    go = ctypes.c_uint8.from_address(int(pinned))
    event = call("cuEventCreate", 2)  # 2: without times
    mapped = int(call("cuMemHostGetDevicePointer", pinned, 0))
    for kernels in SIZES:
        adds = [loops.add() for _ in range(kernels)]
        for copied in (True, False):
            flag = loops.flags.data_ptr() if copied else mapped
            step = Kernel(loops.function("step"), loops.iteration.data_ptr(), flag, ITERATIONS)
            chain = Chain()
            for each in (*adds, step):
                chain.kernel(each)
            executable = chain.instantiate()
            ways: dict[str, Callable[[], Any]] = {
                "kernels one by one": partial(launch_each, (*adds, step), loops.stream),
                "a graph of the body": partial(cu.cuGraphLaunch, executable, loops.stream),
            }
            how = "copy and event" if copied else "event, flag in the host's memory"
            for name, launch in ways.items():
                took = drive(loops, launch, go, pinned if copied else None, event)
                found = check(int(loops.x[0]), kernels * ITERATIONS)
                what = f"host-driven, {kernels} + step, {name}, {how}, an iteration"
                yield what, f"{took:.2f} us, {found}"


def launch_each(kernels: Iterable[Kernel], stream: Any) -> None:
    """Launch kernels one after the other."""
    for kernel in kernels:
        kernel.launch(stream)


def drive(loops: Loops, launch: Callable[[], Any], go: Any, pinned: Any, event: Any) -> float:
    """Microseconds of an iteration."""
    best = math.inf
    source = cu.CUdeviceptr(loops.flags.data_ptr())
    for _ in range(3):
        loops.iteration.zero_()
        loops.x.zero_()
        torch.cuda.synchronize()
        start = time.perf_counter()
        going = True
        while going:
            launch()
            if pinned is not None:
                expect(cu.cuMemcpyDtoHAsync(pinned, source, 1, loops.stream)[0], "copy")
            expect(cu.cuEventRecord(event, loops.stream)[0], "record")
            expect(cu.cuEventSynchronize(event)[0], "wait")
            going = bool(go.value)
        best = min(best, time.perf_counter() - start)
    return best / ITERATIONS * 1e6


def launching(loops: Loops) -> Answer:
    """What a conditional node adds to a launch: lines of kernels with and without one."""
    made: dict[str, Any] = {}
    for name in ("3 kernels", "kernel, IF that is not taken, kernel", "kernel, IF, kernel"):
        chain = Chain()
        chain.kernel(loops.add())
        if name == "3 kernels":
            chain.kernel(loops.add())
        else:
            (body,) = chain.conditional(chain.handle(int("not" not in name)), IF)
            body.kernel(loops.add())
        chain.kernel(loops.add())
        start = time.perf_counter()
        made[name] = chain.instantiate()
        yield f"{name}: instantiated", f"{(time.perf_counter() - start) * 1e3:.2f} ms"

    def ten(executable: Any) -> None:
        for _ in range(10):
            cu.cuGraphLaunch(executable, loops.stream)

    for name, executable in made.items():
        host = median(host_microseconds({name: partial(ten, executable)}, "cuda", 1)[name]) / 10
        took = milliseconds(partial(ten, executable), "cuda", seconds=0.2).median * 100
        yield f"{name}: one of ten launches, host; GPU", f"{host:.2f} us; {took:.2f} us"
