"""Iterations of a loop on the CPU that a compiled function runs, without the host in between.

A body that consists of launches alone is a list of functions and of where their arguments lie in a
table of addresses and numbers. A launch then costs a call, where one by the host takes a
microsecond or two, as much as a small kernel.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

from hidet.runtime.plans.plan import Launch, Pointer, Repeat, Scalar, Step

DRIVER = "hidet_loop_driver"
MOST_ARGUMENTS = 24
"""How many arguments a launch of such a body has at most."""
CHUNK_SECONDS = 0.02
"""About how long iterations run before the host may end them (Ctrl-C)."""


def drivable(steps: Sequence[Step]) -> list[Launch] | None:
    """The launches of a body, if it consists of those alone, and the function can run them."""
    found = [e for e in steps if isinstance(e, Launch) and len(e.args) <= MOST_ARGUMENTS]
    return found if len(found) == len(steps) else None


class LoopDriver:
    """The body of a loop as tables.

    `functions` are those of the `launches`, `count` is how many buffers the body has, `inputs` and
    `outputs` which of them stand for the tensors that are carried: None for an output that is
    updated in place.
    """

    def __init__(
        self,
        driver: Any,
        functions: Sequence[Any],
        launches: Sequence[Launch],
        count: int,
        inputs: Sequence[int],
        outputs: Sequence[int | None],
    ) -> None:
        self.driver, self.inputs, self.carried = driver, inputs, len(inputs)
        driver.restype = ctypes.c_int
        self.numbers: list[int] = []
        places: list[int] = []
        for each in (arg for launch in launches for arg in launch.args):
            if isinstance(each, Scalar):
                assert isinstance(each.value, int), "a bound plan has numbers only"
                self.numbers.append(each.value)
                places.append(count + len(self.numbers) - 1)
            else:
                assert isinstance(each, Pointer), "only GPUs have tensor maps"
                places.append(each.buffer)
        self.functions = (ctypes.c_void_p * len(launches))(
            *(ctypes.cast(each, ctypes.c_void_p).value for each in functions)
        )
        self.counts = ints([len(each.args) for each in launches])
        self.args = ints(places)
        self.carry = ints(inputs), ints([-1 if each is None else each for each in outputs])

    def run(
        self,
        step: Repeat,
        addresses: Sequence[int],
        at: Callable[[int], int],
        limit: int | None,
        last: int | None,
        goes_on: Callable[[int], bool],
    ) -> tuple[list[int], int]:
        """Run all iterations on a body whose buffers lie at `addresses`; where what they carry
        lies then, and how many there were."""
        values = words([*addresses, *self.numbers])
        results = words([at(each) for each in step.results])
        twins = words([0 if each is None else at(each) for each in step.twins])
        again = None if step.again is None else ctypes.c_void_p(at(step.again))
        done, chunk = 0, 16
        while goes_on(done):
            end = min(done + chunk, limit if limit is not None else done + chunk)
            start = time.perf_counter()
            done = self.driver(
                self.functions, self.counts, self.args, len(self.functions), values,
                ctypes.c_void_p(at(step.iteration)), again, *self.carry, results, twins,
                self.carried, done, end, -1 if last is None else last,
            )  # fmt: skip
            chunk *= 2 if time.perf_counter() - start < CHUNK_SECONDS else 1
        return [values[each] for each in self.inputs], done


def ints(numbers: Sequence[int]) -> Any:
    """Numbers as an array of C."""
    return (ctypes.c_int * len(numbers))(*numbers)


def words(numbers: Sequence[int]) -> Any:
    """Addresses and numbers as an array of C."""
    return (ctypes.c_ssize_t * len(numbers))(*numbers)
