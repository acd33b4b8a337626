"""Kernels on the process's team of threads, in processes of their own: what one test does to the
threads, another should not see."""

import os
import subprocess
import sys

import pytest

BUILD = """
import os, sys, threading
import numpy as np
from hidet import ops, options
from hidet.build.compiled import build_graph
from hidet.graph import asarray, symbol, trace_from
from hidet.runtime.team import stop_team

def model(width):
    x = symbol((96, width))
    w = asarray(np.arange(width * width, dtype=np.float32).reshape(width, width) % 7 - 3)
    return build_graph(trace_from([ops.softmax(ops.matmul(x, w) * 0.01, axis=1)], [x]))

def array(width):
    return np.arange(96 * width, dtype=np.float32).reshape(96, width) % 5

def wanted(width):
    x, w = array(width).astype(float), np.arange(width * width).reshape(width, width) % 7 - 3.0
    e = np.exp(x @ w * 0.01 - (x @ w * 0.01).max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def check(compiled, width):
    found = compiled(asarray(array(width)))
    np.testing.assert_allclose(found.numpy(), wanted(width), rtol=1e-4, atol=1e-7)

def helpers():
    threads = os.listdir("/proc/self/task")
    names = [open(f"/proc/self/task/{each}/comm").read() for each in threads]
    return names.count("hidet-team\\n")

def helpers_after(call, wanted):
    for _ in range(500):  # on a busy machine some calls run alone, and start none
        call()
        if helpers() == wanted:
            break
    return helpers()
"""

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts by /proc")


@pytest.fixture
def run(tmp_path):
    """Run a program that has the names of BUILD; the words that it prints."""

    def program(body, fails=False, **environment):
        file = tmp_path / "program.py"
        file.write_text(BUILD + body)
        given = {**os.environ, "OMP_NUM_THREADS": "3", **environment}
        given = {name: value for name, value in given.items() if value}
        done = subprocess.run(
            [sys.executable, str(file)], capture_output=True, text=True, env=given, timeout=300
        )
        assert (done.returncode != 0) == fails, done.stderr[-3000:]
        return (done.stderr if fails else done.stdout).split()

    return program


@needs_proc
def test_a_call_uses_as_many_threads_as_are_asked_for(run):
    body = """
with options.options(threads=1):
    compiled = model(130)
    check(compiled, 130)
call = lambda: check(compiled, 130)
own = int(os.environ.get("HIDET_THREADS", 3)) - 1
print(helpers(), helpers_after(call, own))
with options.options(threads=5):
    print(helpers_after(call, 4))
stop_team()
print(helpers(), helpers_after(call, own))
"""
    assert run(body) == ["0", "2", "4", "0", "2"]
    assert run(body, HIDET_THREADS="2")[1] == "1"


@needs_proc
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_process_on_one_core_has_no_helpers(run):
    body = """
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
check(model(130), 130)
print(helpers())
"""
    assert run(body, OMP_NUM_THREADS="") == ["0"]


@needs_proc
def test_archives_that_come_and_go_share_one_team(run):
    body = """
from hidet.build.compiled import load
file = sys.argv[0] + ".hidet"
model(130).save(file)
for iteration in range(101):
    check(load(file), 130)
    if iteration == 0:
        first = len(os.listdir("/proc/self/task"))
print(helpers(), len(os.listdir("/proc/self/task")) - first)
"""
    assert run(body) == ["2", "0"]


def test_two_models_are_called_from_threads_at_once(run):
    body = """
models = {width: model(width) for width in (130, 257)}
errors = []
def calls(width):
    try:
        for _ in range(40):
            check(models[width], width)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=calls, args=[w]) for w in (130, 257, 130, 257)]
for each in threads: each.start()
for each in threads: each.join()
assert not errors, errors
"""
    run(body)


def test_a_child_that_was_forked_has_a_team_of_its_own(run):
    body = """
compiled = model(130)
check(compiled, 130)
for _ in range(5):
    child = os.fork()
    if child == 0:
        check(compiled, 130)
        counted = os.path.isdir("/proc/self/task")
        assert not counted or helpers_after(lambda: check(compiled, 130), 2) == 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
check(compiled, 130)
"""
    run(body)


def test_results_are_the_same_bits_on_any_number_of_threads(run):
    body = """
compiled = model(257)
x = asarray(array(257))
found = []
for count in (1, 2, 3, 7):
    with options.options(threads=count):
        found.append(compiled(x).numpy().tobytes())
assert len(set(found)) == 1
"""
    run(body)


def test_an_assertion_that_fails_in_a_iteration_ends_the_process(run):
    body = """
import hidet
from hidet.lang import f32, i32, parallel, script, attr
@script
def checks(x: f32[100000]):
    attr.func_kind = "public"
    for i in parallel(100000):
        assert x[i] < 99999.0, "too large"
        x[i] = x[i] + 1.0
function = hidet.driver.build_ir_module(checks.ir_module())
x = np.zeros(100000, np.float32)
function(x)
assert (x == 1).all() and helpers() == 2
x[-1] = 99999.0
function(x)
"""
    assert run(body, fails=True) == ["too", "large"]


@needs_proc
@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="of one core nothing can be left to the caller",
)
def test_helpers_are_kept_off_one_core_of_their_caller(run):
    """The caller's: helpers that sleep while a plan runs would wake there too."""
    body = """
def named(thread):
    return open(f"/proc/self/task/{thread}/comm").read().strip()

compiled = model(130)
helpers_after(lambda: check(compiled, 130), 2)
team = [int(each) for each in os.listdir("/proc/self/task") if named(each) == "hidet-team"]
kept = [os.sched_getaffinity(0) - os.sched_getaffinity(each) for each in team]
print(len(team), len(kept[0]), kept[0] == kept[1])
"""
    assert run(body) == ["2", "1", "True"]
