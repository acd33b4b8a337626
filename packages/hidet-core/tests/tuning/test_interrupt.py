"""Ctrl-C, as a signal: in and out of a wait, a second one, and where a program has its own way."""

import signal
import subprocess
import sys
from threading import Thread

import pytest

from hidet.tuning.interrupt import Interruptible, undisturbed


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_it_ends_a_wait_at_once():
    with Interruptible() as block:
        with pytest.raises(KeyboardInterrupt), block.waiting():
            interrupt()
        assert block.noted


def test_outside_of_a_wait_it_ends_the_next_one():
    with Interruptible() as block:
        interrupt()
        assert block.noted
        with pytest.raises(KeyboardInterrupt), block.waiting():
            pytest.fail("there is no more waiting")


def test_the_second_one_is_as_ever():
    with Interruptible():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_afterwards_all_is_as_it_was():
    with Interruptible():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_that_is_undisturbed_is_left_before_it_acts():
    seen = []

    def block():
        with undisturbed():
            interrupt()
            seen.append("the block went on")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert seen == ["the block went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_with_a_way_of_its_own_keeps_it():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with Interruptible() as block, block.waiting():
            interrupt()
        assert seen == [signal.SIGINT]
        assert not block.noted
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_thread_without_signals_goes_on():
    done = []

    def work():
        with Interruptible() as block, block.waiting():
            done.append(block)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert len(done) == 1


PROGRAM = """
import sys
import numpy as np
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import from_numpy, symbol, trace_from
from hidet.options import options
from hidet.runtime.executor import Executor
from hidet.runtime.binding.memory import array_of, view_of
from hidet.tuning import store
from hidet.tuning.contest import Contest

plain, looked = Contest.look, []

def look(self, choice):
    plain(self, choice)
    looked.append(choice)
    if len(looked) == 2:
        print("measured two", flush=True)  # from here on the signal may come at any point

Contest.look = look
x = symbol([40, 32])
w, v = (from_numpy(np.eye(32, dtype=np.float32) * k) for k in (2, 3))
graph = trace_from(ops.relu(x @ w) @ v, inputs=[x])
with options(search_space=2, cache_dir=sys.argv[1]):
    made = compile_graph(graph)
    read = [store.read(file) for file in store.folder().glob("*.json")]
    kept = [r for facts, found in read if "group" in facts for r in found.values()]
given = np.arange(40 * 32, dtype=np.float32).reshape(40, 32)
(view,) = Executor(made.with_weights(), "cpu")([view_of(given)])
assert (array_of(view) == given * 6).all()
assert sum(t.seconds is not None for r in kept for t in r.trials) >= 2
assert all(r.level == 0 and r.best is not None for r in kept)
print(len(kept), "kept")
"""


def test_a_real_signal_ends_the_search_and_keeps_what_was_found(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "measured two\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out == "1 kept\n"
    assert "the search for schedules was interrupted" in err
    assert "2 operators were not measured to the end: the search was interrupted" in err
