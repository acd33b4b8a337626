"""Clocks, sleep, traps, printing, the debugger, dependent launches."""

import builtins
import sys

import numpy as np
import pytest

import hidet
from hidet.errors import BadScript
from hidet.lang import attr, f32, f64, i32, i64, printf, script, shared_tensor, u32, u64
from hidet.lang.cuda import (
    atomic_add,
    blockIdx,
    clock,
    clock32,
    clock64,
    globaltimer,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    nanosleep,
    syncthreads,
    threadIdx,
    trap,
)
from hidet.sim import MissingGridWait, Trapped, launch


def test_clocks_do_not_go_back(run):
    @script
    def kernel(y: i32[4, 32]):
        attr.cuda_block_dim = 32
        started, old, short, time = clock(), clock64(), clock32(), globaltimer()
        nanosleep(100)
        y[0, threadIdx.x] = i32(clock() >= started)
        y[1, threadIdx.x] = i32(clock64() >= old)
        y[2, threadIdx.x] = i32(clock32() - short < 1 << 30)
        y[3, threadIdx.x] = i32(globaltimer() >= time)

    (y,) = run(kernel, np.zeros((4, 32), np.int32))
    assert y.all()


def test_a_trap_stops():
    @script
    def kernel(y: i32[32]):
        attr.cuda_block_dim = 32
        if threadIdx.x == 5:
            trap()

    with pytest.raises(Trapped, match=r"a trap was executed .*lane 5") as caught:
        launch(kernel, np.zeros(32, np.int32))
    assert caught.value.place is not None


def test_printing(run, capfd):
    @script
    def kernel(y: i32[2], z: f64[1], big: u64[1]):
        attr.cuda_block_dim = 2
        print("thread", threadIdx.x, "of 100%:", y[threadIdx.x], z[0] / 3, sep=" ", end=";\n")
        if threadIdx.x == 0:
            print(big[0], i64(-1))
            printf("%5.2f|%-4d|%llu\n", f32(z[0]), y[1], big[0])

    big = np.array([2**63 + 1], np.uint64)
    run(kernel, np.array([7, -8], np.int32), np.array([1.0]), big)
    sys.stdout.flush()
    lines = capfd.readouterr().out.splitlines()
    assert f"thread 1 of 100%: -8 {1 / 3:.17g};" in lines
    assert f"{2**63 + 1} -1" in lines
    assert f" 1.00|-8  |{2**63 + 1}" in lines


def test_the_debugger_sees_the_script(monkeypatch):
    seen = []

    def look():
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, dict(frame.f_globals)))

    monkeypatch.setattr(sys, "breakpointhook", look)

    @script
    def kernel(y: i32[40]):
        attr.cuda_block_dim = 40
        double = threadIdx.x * 2
        tile = shared_tensor(i32, 4)
        if threadIdx.x < 4:
            tile[threadIdx.x] = double
            breakpoint()
        y[threadIdx.x] = double

    launch(kernel, np.zeros(40, np.int32))
    ((file, line, names),) = seen
    assert file == __file__
    assert line == kernel.kernel.place.line + 6
    assert names["double"].tolist() == [0, 2, 4, 6]
    assert names["tile"].tolist() == [[0, 2, 4, 6]]
    assert names["y"].shape == (1, 40)
    assert len(names["threads"]) == 4
    assert "lane 3" in names["threads"][3]


def test_a_breakpoint_is_nothing_on_a_device(run):
    @script
    def kernel(y: i32[32]):
        attr.cuda_block_dim = 32
        if blockIdx.x == 1:
            breakpoint()
        y[threadIdx.x] = 3

    (y,) = run(kernel, np.zeros(32, np.int32))
    assert (y == 3).all()

    def arguments(y: i32[32]):
        attr.cuda_block_dim = 32
        builtins.breakpoint(1)

    with pytest.raises(BadScript, match="takes no arguments"):
        script(arguments)


# ---- dependent launches ------------------------------------------------------------------------


def chain(wait_first, *, signals=True, waits=True, shared_wait=False, reads=True):
    """Two kernels; the second reads, or overwrites, what the first touches."""
    with hidet.script_module("chain") as module:

        @script
        def first(x: i32[64], t: i32[64]):
            attr.cuda_block_dim = 64
            if signals:
                griddepcontrol_launch_dependents()
            t[threadIdx.x] = x[threadIdx.x] + 1

        @script
        def second(t: i32[64], x: i32[64], y: i32[64]):
            attr.cuda_block_dim = 64
            own = i32(threadIdx.x) * 10  # needs nothing of the first
            if not wait_first:
                if reads:
                    y[threadIdx.x] = t[threadIdx.x] + own
                else:
                    x[threadIdx.x] = own
            if waits:
                if shared_wait:
                    if threadIdx.x == 0:
                        griddepcontrol_wait()
                    syncthreads()
                else:
                    griddepcontrol_wait()
            if wait_first:
                y[threadIdx.x] = t[63 - threadIdx.x] + own

        x, y = module.params(x=i32[64], y=i32[64])
        t = module.workspace(i32[64])
        module.launch(first, x, t)
        module.launch(second, t, x, y)
    return module


def arrays():
    return np.arange(64, dtype=np.int32), np.zeros(64, np.int32)


@pytest.mark.parametrize("shared_wait", [False, True])
def test_what_is_read_after_the_wait_is_there(shared_wait):
    x, y = arrays()
    launch(chain(True, shared_wait=shared_wait), x, y)
    t = np.arange(64)
    assert y.tolist() == (x[::-1] + 1 + 10 * t).tolist()


@pytest.mark.parametrize("signals", [False, True])
def test_a_read_before_the_wait(signals):
    with pytest.raises(MissingGridWait, match=r"global workspace\[0\] is read before"):
        launch(chain(False, signals=signals), *arrays())


def test_a_kernel_that_never_waits():
    with pytest.raises(MissingGridWait, match="is read before griddepcontrol_wait"):
        launch(chain(False, waits=False), *arrays())
    launch(chain(False, waits=False, signals=False), *arrays())  # an ordinary launch


def test_a_write_before_the_wait_to_what_is_still_read():
    with pytest.raises(MissingGridWait, match=r"global x\[0\] is written before"):
        launch(chain(False, reads=False), *arrays())


@pytest.mark.parametrize("early", [False, True])
def test_grids_before_the_one_before(early):
    """The third kernel reads what the first writes: complete only if the second waited first."""
    with hidet.script_module("three") as module:

        @script
        def first(t: i32[32]):
            attr.cuda_block_dim = 32
            griddepcontrol_launch_dependents()
            t[threadIdx.x] = threadIdx.x

        @script
        def second(u: u32[1]):
            attr.cuda_block_dim = 32
            if early:
                griddepcontrol_launch_dependents()
            griddepcontrol_wait()
            if not early:
                griddepcontrol_launch_dependents()
            atomic_add(~u[0], 1)

        @script
        def third(t: i32[32], y: i32[32], u: u32[1]):
            attr.cuda_block_dim = 32
            y[threadIdx.x] = t[threadIdx.x]
            griddepcontrol_wait()
            if threadIdx.x == 0:
                u[0] = 0

        y, u = module.params(y=i32[32], u=u32[1])
        t = module.workspace(i32[32])
        module.launch(first, t)
        module.launch(second, u)
        module.launch(third, t, y, u)
    y, u = np.zeros(32, np.int32), np.zeros(1, np.uint32)
    if early:
        with pytest.raises(MissingGridWait, match=r"global \w+\[0\] is read"):
            launch(module, y, u)
        return
    launch(module, y, u)
    assert y.tolist() == list(range(32))
