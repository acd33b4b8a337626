import io
import re
import signal
import sys
import threading
import time

import pytest

from hidet import options
from hidet.build.workers.pool import in_parallel, jobs
from hidet.errors import CompilerError
from hidet.toolchain.host import run

PATIENCE = 300
"""Seconds after which a thread does not come any more."""


def test_results_are_in_the_order_of_the_items():
    with options.options(jobs=3):
        assert in_parallel(lambda n: time.sleep(0.01 / (n + 1)) or n * n, range(9), "") == [
            n * n for n in range(9)
        ]


def test_options_of_the_caller_hold_in_the_workers():
    with options.options(jobs=2, tf32=True):
        assert in_parallel(lambda _: options.tf32.get(), range(4), "") == [True] * 4


def test_as_many_at_once_as_allowed():
    at_work, most, lock = [0], [0], threading.Lock()
    both = threading.Barrier(2)

    def work(_):
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        both.wait(PATIENCE)
        with lock:
            at_work[0] -= 1

    with options.options(jobs=2):
        assert jobs() == 2
        in_parallel(work, range(6), "")
    assert most[0] == 2


def test_the_first_error_stops_what_has_not_begun_and_ends_compilers():
    begun, codes, other = [], [], threading.Event()

    def work(n):
        begun.append(n)
        if n == 0:
            assert other.wait(PATIENCE)
            raise CompilerError("first")
        other.set()
        codes.append(run(["sleep", "60"])[0])

    with options.options(jobs=2), pytest.raises(CompilerError, match="first"):
        in_parallel(work, range(20), "")
    assert 0 not in codes  # none slept to its end
    assert len(begun) <= 3


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_shown_on_a_terminal_only(terminal, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    in_parallel(lambda n: n, range(3), "Compiling it")
    assert ("Compiling it" in stream.getvalue()) is terminal
    with options.options(progress=False):
        stream.truncate(0)
        in_parallel(lambda n: n, range(3), "Compiling it")
    assert stream.getvalue() == ""


def test_progress_counts_and_says_how_long_it_will_take(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with options.options(jobs=1):
        in_parallel(lambda n: time.sleep(0.15), range(4), "Compiling it")
    assert "0/4" in stream.getvalue()
    assert re.search(r"2/4 \[\d\d:\d\d<\d\d:\d\d", stream.getvalue())


def test_ctrl_c_ends_the_work_also_if_another_thread_is_interrupted():
    given_up, both = [], threading.Barrier(2)

    def work(n):
        both.wait(PATIENCE)
        if n == 0:
            time.sleep(0.3)  # the main thread waits by then
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        try:
            run(["sleep", str(PATIENCE)])
        finally:
            given_up.append(n)

    begin = time.monotonic()
    with options.options(jobs=2), pytest.raises(KeyboardInterrupt):
        in_parallel(work, range(2), "")
    assert time.monotonic() - begin < PATIENCE / 2
    assert sorted(given_up) == [0, 1]
