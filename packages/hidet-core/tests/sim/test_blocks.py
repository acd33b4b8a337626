"""Blocks that wait for each other, launch sizes, and memory that stays small."""

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Address, Builtin, Const, Load, Var, wrap
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, If, Invoke, Store, While
from hidet.sim import StepLimit, launch
from hidet.types import f32, i32

TX, BX = Builtin("threadIdx.x"), Builtin("blockIdx.x")
FENCE = Invoke("threadfence", (), (), ("gpu",))


def c(value):
    return Const(value, i32)


def chain(blocks, threads=32):
    """Block b waits until the one after it has passed its sum on, then adds its own number."""
    total, turn, seen = Var("total", i32[1,]), Var("turn", i32[1,]), Var("seen", i32)
    own = blocks - 1 - BX
    look = Invoke("atomic_add", (Address(turn, (c(0),)), c(0)), (seen,))
    body = (
        If(
            TX.eq(0),
            (
                Declare(seen, c(-1)),
                While(seen.ne(own), (look,)),
                FENCE,
                Store(total, (c(0),), Load(total, (c(0),)) + BX),
                FENCE,
                Invoke("atomic_add", (Address(turn, (c(0),)), c(1))),
            ),
        ),
        Invoke("syncthreads"),
    )
    sizes = (c(blocks), ONE, ONE), (c(threads), ONE, ONE)
    return Kernel("chain", (total, turn), body, KernelKind.CUDA, Launch(*sizes))


def test_earlier_blocks_wait_for_later_ones():
    total, turn = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(chain(6), total, turn)
    assert total[0] == 15
    assert turn[0] == 6


def test_a_turn_that_never_comes():
    with pytest.raises(StepLimit):
        launch(chain(3), np.zeros(1, np.int32), np.full(1, 99, np.int32), step_limit=500)


def test_three_dimensional_grids_and_blocks():
    names = [f"{what}.{axis}" for what in ("blockIdx", "threadIdx") for axis in "xyz"]
    y = Var("y", i32[2, 3, 4, 2, 3, 5])
    bx, by, bz, tx, ty, tz = map(Builtin, names)
    value = ((((bz * 3 + by) * 4 + bx) * 2 + tz) * 3 + ty) * 5 + tx
    body = (Store(y, (bz, by, bx, tz, ty, tx), value),)
    sizes = (c(4), c(3), c(2)), (c(5), c(3), c(2))
    out = np.zeros((2, 3, 4, 2, 3, 5), np.int32)
    launch(Kernel("numbers", (y,), body, KernelKind.CUDA, Launch(*sizes)), out)
    np.testing.assert_array_equal(out.reshape(-1), np.arange(out.size))


def test_many_batches_of_blocks():
    y = Var("y", f32[1 << 18,])
    sizes = (c(1 << 11), ONE, ONE), (c(128), ONE, ONE)
    body = (Store(y, (BX * 128 + TX,), wrap(1.0)),)
    out = np.zeros(1 << 18, np.float32)
    launch(Kernel("ones", (y,), body, KernelKind.CUDA, Launch(*sizes)), out)
    assert out.all()


def test_a_block_of_too_many_threads():
    sizes = (ONE, ONE, ONE), (c(64), c(32), ONE)
    with pytest.raises(BadKernel, match="2048 threads"):
        launch(Kernel("wide", (), (), KernelKind.CUDA, Launch(*sizes)))
