"""Plans of one launch: called without what plans of several need, and right all the same."""

import threading

import numpy as np
import pytest

from hidet.codegen.cpu.team import team_source
from hidet.options import options
from hidet.runtime import Archive, Executor, Plan, Scalar
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.profiling.profile import HostRecorder, recorded
from hidet.toolchain import compile_cpp

from .conftest import buffer, diamond, launch


def executor_of(cpp, step, *others, size="n", weights=None):
    """An executor of a plan of one launch, which reads x and writes y."""
    buffers = (buffer("x", "input", size), *others, buffer("y", "output", size))
    symbols = {} if isinstance(size, int) else {size: (0, 0)}
    plan = Plan("cpu", buffers, (step,), (0,), (len(buffers) - 1,), symbols)
    return Executor(Archive({"main": plan}, {"unit": cpp}), weights=weights)


def run(executor, *arrays):
    return [array_of(each) for each in executor([view_of(each) for each in arrays])]


def is_direct(executor):
    return [each.direct is not None for each in executor.programs.values()] == [True]


def numbers(count):
    return np.arange(count, dtype=np.float32)


@pytest.mark.parametrize("count", [1, 2, 7, 129])
def test_numbers_follow_the_addresses(cpp, count):
    executor = executor_of(cpp, launch("shift", [0], [1], Scalar("int32", 3), "n"))
    (y,) = run(executor, numbers(count))
    np.testing.assert_array_equal(y, numbers(count) + 3)
    assert is_direct(executor)


def test_addresses_alone_in_their_order(cpp):
    executor = executor_of(cpp, launch("halve", [0], [1]), size=7)
    for _ in range(2):
        (y,) = run(executor, numbers(7))
        np.testing.assert_array_equal(y, numbers(7) / 2)
    assert is_direct(executor)


def test_weights_lie_where_they_are(cpp):
    weight = np.full(5, 10, np.float32)
    step = launch("add", [1, 0], [2], 5)
    executor = executor_of(
        cpp, step, buffer("w", "weight", 5), size=5, weights={"w": view_of(weight)}
    )
    np.testing.assert_array_equal(run(executor, numbers(5))[0], numbers(5) + 10)
    weight[:] = 20
    np.testing.assert_array_equal(run(executor, numbers(5))[0], numbers(5) + 20)
    assert is_direct(executor)


def test_earlier_outputs_stay(cpp):
    executor = executor_of(cpp, launch("twice", [0], [1], "n"))
    (first,) = run(executor, numbers(9))
    (second,) = run(executor, -numbers(9))
    np.testing.assert_array_equal(first, -second)


def test_a_recorder_notes_the_launch(cpp):
    executor = executor_of(cpp, launch("twice", [0], [1], "n"))
    run(executor, numbers(3))
    with recorded(HostRecorder()) as recorder:
        run(executor, numbers(3))
    assert [name for name, _ in recorder.steps()] == ["twice"]
    assert is_direct(executor)


TEAM = """
extern "C" void (*hidet_parallel)(void (*)(const void *, long long, long long), const void *,
                                  long long);
void (*hidet_parallel)(void (*)(const void *, long long, long long), const void *, long long) = 0;
struct Both { float *x, *y; };
extern "C" void twice(float *x, float *y, long n) {
  Both both = {x, y};
  auto part = [](const void *of, long long begin, long long end) {
    const Both &b = *static_cast<const Both *>(of);
    for (long long i = begin; i < end; i++) b.y[i] = 2 * b.x[i];
  };
  if (hidet_parallel) hidet_parallel(part, &both, n); else part(&both, 0, n);
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_loops_of_the_team(threads):
    plan = Plan("cpu", (buffer("x", "input", "n"), buffer("y", "output", "n")),
                (launch("twice", [0], [1], "n"),), (0,), (1,), {"n": (0, 0)})  # fmt: skip
    binaries = {"unit": compile_cpp(TEAM), "team": compile_cpp(team_source())}
    executor = Executor(Archive({"main": plan}, binaries), threads=lambda: threads)
    for count in (1, 2, 7, 129, 10007):
        for asked in (0, 2):
            with options(threads=asked):
                np.testing.assert_array_equal(run(executor, numbers(count))[0], 2 * numbers(count))
    assert all(each.direct is not None for each in executor.programs.values())


def test_several_launches_take_the_usual_way(cpp):
    executor = Executor(Archive({"main": diamond()}, {"unit": cpp}))
    np.testing.assert_array_equal(run(executor, numbers(10))[0], 4 * numbers(10) + 8)
    assert not is_direct(executor)


def test_threads_do_not_wait_for_each_other(cpp):
    executor = executor_of(cpp, launch("twice", [0], [1], "n"))
    run(executor, numbers(1000))
    wrong = []

    def calls(sign):
        for _ in range(200):
            (y,) = run(executor, sign * numbers(1000))
            if not np.array_equal(y, 2 * sign * numbers(1000)):
                wrong.append(sign)

    with executor.scratch.lock:  # held by somebody else's call, which this one needs nothing of
        threads = [threading.Thread(target=calls, args=(sign,)) for sign in (1, -1)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
    assert not wrong
    assert not any(each.is_alive() for each in threads)
