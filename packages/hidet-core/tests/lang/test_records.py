"""Records and parts: references with numbers of their own."""

from __future__ import annotations

import numpy as np
import pytest

from hidet.errors import BadScript
from hidet.lang import (
    Bool,
    Float,
    Global,
    Int,
    Registers,
    Shared,
    attr,
    f32,
    i32,
    part,
    record,
    register_tensor,
    script,
    shared_tensor,
    static,
)
from hidet.lang.cuda import syncthreads, threadIdx
from hidet.sim import launch

LANES = 8


@record
class Counter:
    """A number that parts count on."""

    step: int
    count: Int

    @part
    def advance(self) -> Int:
        self.count += self.step
        return self.count

    @property
    def twice(self) -> Int:
        """A method of Python's: it gives an expression."""
        return self.count * 2


@record
class Line:
    """Memory and a record within a record."""

    held: Shared
    counter: Counter

    @part
    def put(self, at: Int, value: Float) -> None:
        self.held[at] = value
        self.counter.advance()


@part
def shifted(line: Line, by: int) -> None:
    for _ in static(range(by)):
        line.counter.advance()


def run(kernel, *arrays):
    launch(kernel.ir_module(), *arrays)
    return arrays[-1].tolist()


@record
class Stride(Counter):
    """The same, by a factor more."""

    factor: int

    @part
    def advance(self) -> Int:
        self.count += self.step * self.factor
        return self.count


def test_records_of_records_have_their_fields_and_other_parts():
    @script
    def kernel(out: i32[2]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 1
        plain, longer = Counter(2, 1), Stride(2, 1, 5)
        plain.advance()
        longer.advance()
        out[0], out[1] = plain.count, longer.twice

    out = np.zeros(2, np.int32)
    launch(kernel.ir_module(), out)
    assert out.tolist() == [3, 22]
    with pytest.raises(BadScript, match="`count` of a Stride is an integer"):
        Stride(2, 1.5, 5)


def test_numbers_are_assigned_wherever_a_record_is_known():
    @script
    def kernel(y: i32[4]):
        attr.cuda_block_dim = 1
        one = Counter(3, 1)
        two = one
        other = Counter(5, one.count)
        y[0] = one.advance()
        y[1] = two.count
        two.count = two.count * 2
        y[2] = one.twice
        y[3] = other.count

    assert run(kernel, np.zeros(4, np.int32)) == [4, 4, 16, 1]


def test_records_within_records_are_the_same_ones():
    @script
    def kernel(x: f32[LANES], y: f32[LANES]):
        attr.cuda_block_dim = LANES
        held = shared_tensor(f32, LANES)
        counter = Counter(2, 0)
        line = Line(held, counter)
        line.put(threadIdx.x, x[threadIdx.x])
        shifted(line, 3)
        syncthreads()
        y[threadIdx.x] = held[LANES - 1 - threadIdx.x] + counter.count

    x = np.arange(LANES, dtype=np.float32)
    assert run(kernel, x, np.zeros(LANES, np.float32)) == (x[::-1] + 8).tolist()


def test_a_loop_iterations_as_often_as_was_said_before_it():
    @script
    def kernel(y: i32[2]):
        attr.cuda_block_dim = 1
        counter = Counter(1, 3)
        y[0] = 0
        for _ in range(counter.count):
            counter.advance()
            y[0] += 1
        y[1] = counter.count

    assert run(kernel, np.zeros(2, np.int32)) == [3, 6]


def test_what_is_read_first_is_the_earlier_value():
    @script
    def kernel(y: i32[3]):
        attr.cuda_block_dim = 1
        counter = Counter(1, 5)
        y[0] = counter.count * 10 + counter.advance()
        counter.count += counter.advance()
        y[1] = counter.count
        y[2] = 0
        if counter.advance() == 14:
            y[2] = 1

    assert run(kernel, np.zeros(3, np.int32)) == [56, 13, 1]


def test_a_part_has_its_own_numbers_and_returns_records():
    @part
    def made(count: Int) -> Counter:
        count += 1
        return Counter(1, count)

    @script
    def kernel(y: i32[2]):
        attr.cuda_block_dim = 1
        count = 4
        counter = made(count)
        counter.advance()
        y[0] = counter.count
        y[1] = count

    assert run(kernel, np.zeros(2, np.int32)) == [6, 4]


OUTSIDE = Counter(1, 0)


@record
class Wrong:
    """A field of each kind that can be mistaken."""

    known: int = 0
    flag: Bool = False
    real: Float = 0.0
    array: Global = None


@part
def of_registers(held: Registers, known: int) -> None:
    held[known] = 0.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: Wrong(threadIdx.x), "`known` of a Wrong is `int`, known while transcribing"),
        (lambda x: Wrong(0, 1), "`flag` of a Wrong is a truth value, the value is 1"),
        (lambda x: Wrong(0, False, x), "`real` of a Wrong is a float"),
        (lambda x: Wrong(), "`array` of a Wrong is a tensor in global memory"),
    ],
)
def test_fields_are_of_their_kinds(wrong, message):
    with pytest.raises(BadScript) as found:

        @script
        def kernel(x: f32[4]):
            attr.cuda_block_dim = 1
            _ = wrong(x)

    assert message in found.value.message


def test_arguments_are_of_their_kinds():
    with pytest.raises(BadScript, match="`held` is a tensor in registers, the argument is `x`"):

        @script
        def kernel(x: f32[4]):
            attr.cuda_block_dim = 1
            of_registers(x, 0)

    with pytest.raises(BadScript, match="`known` is `int`, known while transcribing"):

        @script
        def other(x: f32[4]):
            attr.cuda_block_dim = 1
            of_registers(register_tensor(f32, 4), threadIdx.x)


def test_what_cannot_be_assigned():
    with pytest.raises(BadScript, match="`step` of a Counter cannot be assigned"):

        @script
        def kernel(x: f32[4]):
            attr.cuda_block_dim = 1
            counter = Counter(1, 0)
            counter.step = 2

    with pytest.raises(BadScript, match="`count` of a Counter is no variable yet"):

        @script
        def other(x: f32[4]):
            attr.cuda_block_dim = 1
            OUTSIDE.count += 1

    with pytest.raises(BadScript, match="known beforehand, and cannot change at run time"):

        @script
        def branches(x: f32[4]):
            attr.cuda_block_dim = 4
            counter = Counter(1, 0)
            if threadIdx.x > 1:
                counter = Counter(2, 0)  # noqa: F841


def test_parts_are_called_in_scripts():
    with pytest.raises(BadScript, match="`advance`, a part of kernels, is called outside"):
        OUTSIDE.advance()
