"""Iterations that the host takes: Ctrl-C ends them between two, and no later."""

import ctypes

import pytest

from hidet.runtime.binding.bound import bind
from hidet.runtime.devices.view import View
from hidet.runtime.programs.region import HostMemory, run_region

from .test_calls import LOOP

TYPES = (ctypes.c_bool, ctypes.c_float * 4, ctypes.c_float * 4, ctypes.c_float * 4,
         ctypes.c_int64, ctypes.c_int64, ctypes.c_bool, ctypes.c_uint8)  # fmt: skip


def region():
    """A loop of 9 iterations at most, with memory for its buffers."""
    (step,) = LOOP["main"].steps
    memory = [each() for each in TYPES]
    memory[0].value = True
    views = [View(0, (), "bool", "cpu"), View(0, (4,), "float32", "cpu")]
    bound = bind(LOOP["main"], views, LOOP)
    at = lambda number: ctypes.addressof(memory[number])
    return step, bound, at, memory


def test_iterations_end_by_their_condition_and_are_counted():
    step, bound, at, memory = region()
    taken = []

    def body(addresses):
        iteration, before, again, after = addresses
        taken.append(ctypes.c_int64.from_address(iteration).value)
        values = (ctypes.c_float * 4).from_address(before)
        (ctypes.c_float * 4).from_address(after)[:] = [each + 1 for each in values]
        ctypes.c_bool.from_address(again).value = len(taken) < 4

    run_region(step, bound, at, HostMemory(), [body])
    assert taken == [0, 1, 2, 3]
    assert memory[4].value == 4
    assert list(memory[2]) == [4.0] * 4


def test_an_interrupt_in_a_iteration_is_the_last_iteration():
    step, bound, at, _ = region()
    taken = []

    def body(addresses):
        taken.append(len(taken))
        ctypes.c_bool.from_address(addresses[2]).value = True
        if len(taken) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_region(step, bound, at, HostMemory(), [body])
    assert taken == [0, 1, 2]
