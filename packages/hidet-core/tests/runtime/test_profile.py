"""Where the time of a call goes, on each kind of device."""

import time
from contextlib import nullcontext

import numpy as np
import pytest

from hidet import asarray, ops, symbol, trace_from
from hidet.errors import BadArgument
from hidet.options import options
from hidet.runtime import executor
from hidet.runtime.profiling import stream_profile
from hidet.runtime.profiling.profile import (
    RECORDER,
    HostRecorder,
    Profile,
    Row,
    profile_of,
    recorded,
    run_steps,
)
from hidet.runtime.programs import cuda_program
from hidet.runtime.programs.cuda_program import CudaProgram

from .graph_machine import Machine

A, B = np.ones((129, 7), np.float32), np.ones((7, 31), np.float32)


def compiled():
    x, y = symbol(("n", 7), "float32", "cpu", name="x"), symbol((7, 31), "float32", "cpu", name="y")
    return trace_from(ops.softmax(ops.matmul(x, y), 1), [x, y]).build()


def test_each_kernel_has_a_row():
    profile = compiled().profile(A, y=B, repeat=3)
    names = {row.name.rpartition("_")[0] for row in profile.rows}  # what is in it comes last
    assert {"matmul", "softmax"} <= names <= {"matmul", "matmul_pack", "softmax"}
    assert all(row.runs == 1 and row.microseconds > 0 for row in profile.rows)
    assert profile.total == pytest.approx(sum(row.microseconds for row in profile.rows))
    assert RECORDER.get() is None


def looping(device):
    x = symbol((5,), "float32", device, name="x")
    (y,) = ops.while_loop(lambda v: ops.less(ops.sum(v), 640.0), lambda v: v * 2.0, x)
    return trace_from(y, [x])


def test_iterations_of_a_loop_are_counted():
    profile = looping("cpu").build().profile(np.ones(5, np.float32), repeat=2)
    assert max(row.runs for row in profile.rows) >= 7


def test_steps_take_the_time_they_take():
    names, calls = ["slow", "", "fast"], [lambda: time.sleep(0.02), lambda: None, lambda: None]
    profile = profile_of(lambda: run_steps(names, calls), 3)
    assert [row.name for row in profile.rows] == ["slow", "fast"]
    assert profile.rows[0].microseconds >= 19_000


def test_it_prints_as_a_table():
    table = str(Profile((Row("matmul", 2, 75.0), Row("exp", 1, 25.0))))
    assert table.splitlines() == [
        "matmul      2        75.0 us   75%",
        "exp         1        25.0 us   25%",
        "100.0 us in all",
    ]


def test_what_measures_nothing_is_said():
    with pytest.raises(BadArgument, match="measures nothing"):
        compiled().profile(A, B, repeat=0)


def test_the_simulator_counts():
    with options(target="sim"):
        profile = looping("cpu").build().profile(np.ones(5, np.float32))
    assert max(row.runs for row in profile.rows) >= 7
    assert {row.microseconds for row in profile.rows} == {None}
    assert str(profile).endswith(f"{sum(row.runs for row in profile.rows)} runs in all")
    with options(target="sim"), pytest.raises(BadArgument, match="measures nothing"):
        compiled().profile(A, B, repeat=0)


class Event:
    """An event of a GPU whose clock goes on by a microsecond with each one."""

    now = 0

    def __init__(self, device, timed):
        assert (device, timed) == ("cuda:0", True)

    def record(self, stream):
        Event.now += 1
        self.time = Event.now

    def synchronize(self):
        pass

    def seconds_since(self, start):
        return (self.time - start.time) * 1e-6


@pytest.fixture
def fills(monkeypatch):
    """A GPU's events and its clock; what keeps it busy, by how often it does."""
    fills = []
    monkeypatch.setattr(stream_profile, "Event", Event)
    monkeypatch.setattr(stream_profile, "flushing", lambda *where: lambda: fills.append(where))
    monkeypatch.setattr(stream_profile, "device_seconds", lambda *what: 1e-4)
    return fills


def test_each_kernel_on_a_stream_is_between_two_events(monkeypatch, fills):
    machine = Machine(monkeypatch)
    machine.use_graph = False
    monkeypatch.setattr(executor, "HostProgram", machine.program)
    graph = looping("cpu").build()
    x = asarray(np.ones(5, np.float32))
    profile = stream_profile.stream_profile(lambda: graph.run([x]), 3, "cuda:0", 7)
    assert machine.launches == 0
    assert max(row.runs for row in profile.rows) >= 7
    assert all(row.microseconds == pytest.approx(row.runs) for row in profile.rows)
    assert RECORDER.get() is None
    # One at first to see how long it takes; none before the first call, then more than the host.
    assert len(fills) >= 1 + 4
    assert set(fills) == {("cuda:0", 7)}


def test_a_recorded_call_launches_kernels_one_by_one(monkeypatch):
    made = []

    def program(*given, use_graph, chain, scratch):
        return lambda addresses, stream: made.append((use_graph, scratch, addresses))

    for name, stands in {
        "StreamProgram": program,
        "primary_context": lambda device: 1,
        "is_current": lambda context: True,
        "is_capturing": lambda stream: False,
        "Work": lambda device, stream: nullcontext(),
    }.items():
        monkeypatch.setattr(cuda_program, name, stands)
    call = CudaProgram(None, {}, {}, lambda stream: f"of {stream}", "cuda:0", {}, None)
    call([1], 7)
    with recorded(HostRecorder()):
        call([2], 7)
    call([3], 7)
    assert made == [(True, "of 7", [1]), (False, "of 7", [2]), (True, "of 7", [3])]


@pytest.mark.gpu
def test_a_gpu_says_where_its_time_goes():
    profile = looping("cuda").build().profile(ops.ones((5,), "float32", device="cuda"), repeat=3)
    assert max(row.runs for row in profile.rows) >= 7
    assert all(0 < row.microseconds < 1e5 for row in profile.rows)
