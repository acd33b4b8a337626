"""Where the time of a call on the CPU goes."""

import time

import numpy as np
import pytest

from hidet import ops, symbol, trace_from
from hidet.errors import BadArgument, NotYet
from hidet.options import options
from hidet.runtime.profile import RECORDER, Profile, Row, profile_of, run_steps

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


def test_turns_of_a_loop_are_counted():
    x = symbol((5,), "float32", "cpu", name="x")
    (y,) = ops.while_loop(lambda v: ops.less(ops.sum(v), 640.0), lambda v: v * 2.0, x)
    profile = trace_from(y, [x]).build().profile(np.ones(5, np.float32), repeat=2)
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


def test_what_has_no_profile_is_said():
    with pytest.raises(BadArgument, match="measures nothing"):
        compiled().profile(A, B, repeat=0)
    with options(target="sim"), pytest.raises(NotYet, match="on the CPU"):
        compiled().profile(A, B)
