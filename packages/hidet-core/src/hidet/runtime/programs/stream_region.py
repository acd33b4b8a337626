"""Control flow on a CUDA stream, driven by the host: it waits for what decides, then puts the body
on the stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeAlias

from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.devices.captures import beside_captures
from hidet.runtime.devices.driver import call
from hidet.runtime.plans.plan import Branch, Repeat
from hidet.runtime.programs.chain import Chain
from hidet.runtime.programs.region import on_chain, run_region

Body: TypeAlias = "tuple[Lent, BoundPlan, Callable[[Sequence[int], int], None]]"
"""The memory of a body's workspaces, its plan, and what puts that on a stream."""


class Lent:
    """Scratch memory of a body: a part of the arena of the plan that runs it, which waits for other
    runs where it has to."""

    def __init__(self, device: str) -> None:
        self.device, self.lock, self.generation = device, Lock(), 0

    def reserve(self, nbytes: int) -> int:
        """Where it lies."""
        return self.generation

    def begin(self, stream: int) -> None:
        """Nothing to wait for."""

    def end(self, stream: int) -> None:
        """Nothing to tell."""


class StreamRegion:
    """A step of control flow; the host reads what decides through memory that it shares."""

    def __init__(
        self, step: Branch | Repeat, bound: BoundPlan, bodies: Sequence[Body], chain: Chain
    ) -> None:
        self.step, self.bound, self.bodies, self.chain = step, bound, bodies, chain

    def forget(self) -> None:
        """After a failure bodies build their graphs again, as each does after one of its own."""

    def run(self, pointers: Sequence[int], stream: int) -> None:
        """Run it on buffers at `pointers`; the call returns when all is on the stream."""

        def first(
            lent: Lent,
            program: Callable[[Sequence[int], int], None],
            addresses: Sequence[int],
            stream: int,
        ) -> None:
            lent.generation = pointers[self.step.arena]
            program(addresses, stream)

        runs = [
            on_chain(self.step, self.bound, body, partial(first, lent, program), self.chain, stream)
            for lent, body, program in self.bodies
        ]
        run_region(self.step, self.bound, pointers.__getitem__, StreamMemory(stream), runs)


class StreamMemory:
    """Memory of a GPU in the order of a stream."""

    def __init__(self, stream: int) -> None:
        self.stream = stream

    def flag(self, address: int) -> bool:
        """The bool that lies there, once the stream has computed it."""
        return self.read(address, ctypes.c_uint8()) != 0

    def number(self, address: int) -> int:
        """The i64 that lies there, once the stream has computed it."""
        return self.read(address, ctypes.c_int64())

    def read(self, address: int, value: ctypes.c_uint8 | ctypes.c_int64) -> int:
        """What lies there, once the stream has computed it."""
        with beside_captures():
            target = ctypes.addressof(value)
            call("cuMemcpyDtoHAsync", target, address, ctypes.sizeof(value), self.stream)
            call("cuStreamSynchronize", self.stream)
        return int(value.value)

    def put(self, address: int, value: int) -> None:
        """Write an i64."""
        for place, word in enumerate((value & 0xFFFFFFFF, value >> 32)):
            call("cuMemsetD32Async", address + 4 * place, word, 1, self.stream)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes."""
        if nbytes:
            call("cuMemcpyDtoDAsync", target, source, nbytes, self.stream)
