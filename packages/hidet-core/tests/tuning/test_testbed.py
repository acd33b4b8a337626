"""Candidates in a process of their own: right ones, wrong ones, ones that crash or never end."""

from pathlib import Path

import numpy as np
import pytest

from hidet.errors import NoDevice
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Buffer, Launch, Plan, Pointer
from hidet.toolchain import compile_cpp
from hidet.tuning import testbed
from hidet.tuning.contest import Refused
from hidet.tuning.verdict import Expected, Problem

X = np.arange(8, dtype=np.float32)
PROBLEM = Problem((X,), (Expected(None, X * 2.0, "float32"),), 4)
BODIES = {
    "right": "for (int i = 0; i < 8; ++i) y[i] = 2 * x[i];",
    "wrong": "for (int i = 0; i < 8; ++i) y[i] = 2 * x[i] + (i == 5);",
    "lazy": "for (int i = 0; i < 7; ++i) y[i] = 2 * x[i];",
    "crash": "*(volatile int*)0 = 1;",
    "abort": "__builtin_abort();",
    "hang": "while (true) *(volatile float*)y = x[0];",
}


@pytest.fixture(scope="module")
def archives():
    return {name: archive(body) for name, body in BODIES.items()}


def archive(body):
    source = f'extern "C" void f(const float* x, float* y) {{ {body} }}'
    buffers = (Buffer("input0", "input", "float32", (8,)), Buffer("y", "output", "float32", (8,)))
    launch = Launch("unit", "f", (Pointer(0), Pointer(1)), (0,), (1,), (1, 1, 1), (1, 1, 1), 0)
    plan = Plan("cpu", buffers, (launch,), (0,), (1,), {})
    return Archive({"main": plan}, {"unit": compile_cpp(source)}).to_bytes()


@pytest.fixture
def bed(tmp_path):
    with testbed.Testbed("cpu", Path(tmp_path, "cpu.lock")) as made:
        made.pose(PROBLEM)
        yield made


def test_a_right_candidate_is_timed(bed, archives):
    bed.check(0, archives["right"])
    times = bed.time(0, 5)
    assert len(times) == 5
    assert all(each > 0 for each in times)


def test_a_wrong_candidate_is_told_by_its_elements(bed, archives):
    with pytest.raises(Refused, match="1 of 8 elements are wrong: 11, not 10"):
        bed.check(0, archives["wrong"])


def test_what_another_candidate_wrote_does_not_help_a_lazy_one(bed, archives):
    bed.check(0, archives["right"])
    with pytest.raises(Refused, match="1 of 8 elements are wrong: nan, not 14"):
        bed.check(1, archives["lazy"])


@pytest.mark.parametrize(("name", "signal"), [("crash", "SIGSEGV"), ("abort", "SIGABRT")])
def test_a_crash_is_told_and_the_others_go_on(bed, archives, name, signal):
    bed.check(0, archives["right"])
    with pytest.raises(Refused, match=f"it crashed: {signal}"):
        bed.check(1, archives[name])
    assert len(bed.time(0, 2)) == 2
    bed.check(2, archives["right"])


def test_a_candidate_that_never_ends_is_ended(bed, archives, monkeypatch):
    bed.check(0, archives["right"])
    monkeypatch.setattr(testbed, "PATIENCE", 0.3)
    with pytest.raises(Refused, match="did not end"):
        bed.check(1, archives["hang"])
    monkeypatch.setattr(testbed, "PATIENCE", 60)
    assert bed.time(0, 1)


def test_a_broken_binary_is_refused(bed, archives):
    whole = archives["right"]
    with pytest.raises(Refused, match="damaged"):
        bed.check(0, whole[: len(whole) // 2])


def test_a_process_that_cannot_start_is_no_device(tmp_path):
    with (
        pytest.raises(NoDevice, match="cannot be used for tuning"),
        testbed.Testbed("cuda:99", Path(tmp_path, "lock")) as bed,
    ):
        bed.pose(PROBLEM)


def test_no_process_is_left(tmp_path, archives):
    with testbed.Testbed("cpu", Path(tmp_path, "lock")) as bed:
        bed.pose(PROBLEM)
        process = bed.process
    assert process.poll() is not None
