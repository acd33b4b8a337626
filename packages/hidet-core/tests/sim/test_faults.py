"""Every kind of mistake: a wrong kernel is caught where it is wrong, its corrected twin is not."""

import numpy as np
import pytest

from hidet.errors import Place, SimulationError
from hidet.ir.expr import Address, Builtin, Const, Load, Splat, Var, select, wrap
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Assert, Assign, Declare, For, If, Invoke, Return, Store, While
from hidet.sim import (
    AssertionFailed,
    Deadlock,
    DivergentBarrier,
    InactiveLane,
    Misaligned,
    MissingWait,
    OutOfBounds,
    Race,
    StepLimit,
    Uninitialised,
    launch,
)
from hidet.types import Scope, TensorType, f32, i32, u32

TX, BX = Builtin("threadIdx.x"), Builtin("blockIdx.x")
SYNC = Invoke("syncthreads")
EVERYONE = Const(2**32 - 1, u32)
X, Y = Var("x", f32[64,]), Var("y", f32[64,])
TILE = Var("tile", TensorType(f32, (64,), Scope.SHARED))
OWN = Var("own", TensorType(f32, (4,), Scope.REGISTER))


def c(value: int) -> Const:
    return Const(value, i32)


def run(*body, grid=1, block=64, **options) -> np.ndarray:
    sizes = (c(grid), ONE, ONE), (c(block), ONE, ONE)
    kernel = Kernel("wrong", (X, Y), tuple(body), KernelKind.CUDA, Launch(*sizes))
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(kernel, x, y, **options)
    return y


def place(line: int) -> Place:
    return Place("kernel.py", line)


def test_global_access_out_of_bounds():
    with pytest.raises(OutOfBounds, match=r"x\[64\].*shape \(64\).*thread \(63, 0, 0\)") as caught:
        run(Store(Y, (TX,), Load(X, (TX + 1,)), place(7)))
    assert caught.value.place == place(7)
    guarded = select(TX < 63, Load(X, (TX + 1,)), 0.0)
    assert run(Store(Y, (TX,), guarded))[62] == 63


def test_access_behind_a_pointer_out_of_bounds():
    pointer = Address(X, (c(60),))
    with pytest.raises(OutOfBounds, match="256 bytes"):
        run(Store(Y, (TX,), Load(pointer, (TX % 5,))))
    assert run(Store(Y, (TX,), Load(pointer, (TX % 4,))))[3] == 63


@pytest.mark.parametrize("tensor", [TILE, OWN])
def test_shared_and_register_access_out_of_bounds(tensor):
    extent = tensor.of.shape[0]
    with pytest.raises(OutOfBounds, match=tensor.name):
        run(Declare(tensor), Store(tensor, (TX % extent - 1,), Load(X, (TX,))))
    run(Declare(tensor), If(extent > TX, (Store(tensor, (TX % extent,), Load(X, (TX,))),)))


def test_vector_access_leaves_the_row_or_is_misaligned():
    with pytest.raises(OutOfBounds, match=r"x\[64:4\]"):
        run(Store(Y, (TX * 4,), Load(X, (TX * 4,), 4)))
    four = (TX % 15) * 4
    with pytest.raises(Misaligned, match=r"16 bytes at x\[1\]"):
        run(If(TX < 15, (Store(Y, (four,), Load(X, (four + 1,), 4)),)))
    assert run(If(TX < 15, (Store(Y, (four,), Load(X, (four + 4,), 4)),)))[0] == 4


def test_uninitialised_shared_memory():
    last = Store(Y, (TX,), Load(TILE, (TX,)))
    with pytest.raises(Uninitialised, match=r"tile\[63\]"):
        run(Declare(TILE), If(TX < 63, (Store(TILE, (TX,), Load(X, (TX,))),)), SYNC, last)
    assert run(Declare(TILE), Store(TILE, (TX,), Load(X, (TX,))), SYNC, last)[5] == 5


def test_uninitialised_registers():
    v = Var("v", f32)
    with pytest.raises(Uninitialised, match="v is read"):
        run(Declare(v), If(TX < 60, (Assign(v, wrap(1.0)),)), Store(Y, (TX,), v))
    assert run(Declare(v), Assign(v, wrap(1.0)), Store(Y, (TX,), v))[0] == 1
    fill = Store(OWN, (TX % 4,), wrap(2.0))
    with pytest.raises(Uninitialised, match=r"own\[0\]"):
        run(Declare(OWN), fill, Store(Y, (TX,), Load(OWN, (c(0),))))
    assert run(Declare(OWN), fill, Store(Y, (TX,), Load(OWN, (TX % 4,))))[0] == 2


def test_race_on_shared_memory_between_warps():
    def body(*between):
        return (
            Declare(TILE),
            Store(TILE, (TX,), Load(X, (TX,)), place(3)),
            *between,
            Store(Y, (TX,), Load(TILE, (63 - TX,)), place(5)),
        )

    with pytest.raises(Race, match=r"tile\[63\].*reads.*wrote at kernel.py:3") as caught:
        run(*body())
    assert caught.value.place == place(5)
    assert run(*body(SYNC))[0] == 63


def test_race_within_a_warp_is_ordered_by_syncwarp_but_not_by_a_shuffle():
    v = Var("v", f32)
    shuffle = Invoke("shfl_sync", (EVERYONE, wrap(1.0), c(0)), (v,))

    def body(*between):
        read = Load(TILE, (TX ^ 1,))
        return Declare(v), Declare(TILE), Store(TILE, (TX,), Load(X, (TX,))), *between, read

    def written(*between):
        *first, read = body(*between)
        return run(*first, Store(Y, (TX,), read))

    with pytest.raises(Race):
        written()
    with pytest.raises(Race):
        written(shuffle)
    assert written(Invoke("syncwarp"))[0] == 1


def test_syncwarp_does_not_order_different_warps():
    with pytest.raises(Race):
        run(
            Declare(TILE),
            Store(TILE, (TX,), Load(X, (TX,))),
            Invoke("syncwarp"),
            Store(Y, (TX,), Load(TILE, (63 - TX,))),
        )


def test_write_after_read_needs_a_barrier():
    i, v = Var("i", i32), Var("v", f32)

    def body(*after):
        iteration = (
            Store(TILE, (TX,), Load(X, (TX,))),
            SYNC,
            Declare(v, Load(TILE, (63 - TX,)), place(4)),
            *after,
        )
        return Declare(TILE), For(i, c(2), iteration), Store(Y, (TX,), Load(X, (TX,)))

    with pytest.raises(Race, match=r"writes what .* read"):
        run(*body())
    run(*body(SYNC))


def test_many_writers_must_agree():
    with pytest.raises(Race, match="different values"):
        run(Store(Y, (c(0),), Load(X, (TX,))))
    assert run(Store(Y, (c(0),), wrap(3.0)))[0] == 3


def test_race_on_global_memory_within_a_block():
    with pytest.raises(Race, match="global y"):
        run(Store(Y, (TX,), wrap(1.0)), Store(Y, (TX,), Load(Y, (63 - TX,)) + 1.0))
    v = Var("v", f32)
    run(Store(Y, (TX,), wrap(1.0)), SYNC, Declare(v, Load(Y, (63 - TX,))), SYNC, Store(Y, (TX,), v))


def test_race_between_blocks_is_not_ordered_by_barriers():
    with pytest.raises(Race, match=r"block \(1, 0, 0\)"):
        run(
            If(BX.eq(0), (Store(Y, (TX,), wrap(1.0)),)),
            SYNC,
            Store(X, (TX,), Load(Y, (TX,))),
            grid=2,
        )
    mine = BX * 32 + TX
    run(Store(Y, (mine,), wrap(1.0)), SYNC, Store(X, (mine,), Load(Y, (mine,))), grid=2, block=32)


def test_read_in_one_block_and_write_in_another():
    v, mine = Var("v", f32), BX * 32 + TX
    with pytest.raises(Race, match="writes what"):
        run(Declare(v, Load(Y, (TX,))), SYNC, Store(Y, (mine,), v), grid=2, block=32)
    run(Declare(v, Load(Y, (mine,))), SYNC, Store(Y, (mine,), v), grid=2, block=32)


def test_publication_between_blocks_needs_the_fence():
    flag, seen = Address(Y, (c(63),)), Var("seen", f32)

    def body(*fence):
        raise_flag = Invoke("atomic_add", (flag, wrap(1.0)), (seen,))
        read = If(seen.eq(1.0), (Store(X, (BX,), Load(Y, (c(0),))),))
        first = If(BX.eq(0), (Store(Y, (c(0),), wrap(5.0)),))
        return first, *fence, Declare(seen), raise_flag, read

    with pytest.raises(Race):
        run(*body(), grid=2, block=1)
    run(*body(Invoke("threadfence", (), (), ("gpu",))), grid=2, block=1)


def test_plain_access_beside_an_atomic():
    add = Invoke("atomic_add", (Address(TILE, (c(0),)), wrap(1.0)))
    zero = If(TX.eq(0), (Store(TILE, (c(0),), wrap(0.0)),))
    read = Store(Y, (TX,), Load(TILE, (c(0),)))
    with pytest.raises(Race):
        run(Declare(TILE), zero, add, SYNC, read)
    with pytest.raises(Race):
        run(Declare(TILE), zero, SYNC, add, read)
    assert run(Declare(TILE), zero, SYNC, add, SYNC, read)[0] == 64


def copy_to_tile(*after):
    copy = Invoke("cp_async", (Address(TILE, (TX,)), Address(X, (TX,))), (), (4,))
    return run(Declare(TILE), copy, *after, Store(Y, (TX,), Load(TILE, (63 - TX,))))


def test_asynchronous_copies_need_a_wait_and_a_barrier():
    wait = Invoke("cp_async_wait_all")
    with pytest.raises(MissingWait, match="asynchronous copy"):
        copy_to_tile(SYNC)
    with pytest.raises(Race, match="nothing orders"):
        copy_to_tile(wait)
    with pytest.raises(MissingWait, match="asynchronous copy"):
        copy_to_tile(Invoke("cp_async_wait_group", (), (), (0,)), SYNC)  # nothing was committed
    assert copy_to_tile(wait, SYNC)[0] == 63


def test_barrier_in_a_divergent_branch():
    with pytest.raises(DivergentBarrier, match=r"thread \(32, 0, 0\)"):
        run(If(TX < 32, (SYNC,)))
    run(If(BX < 1, (SYNC,)), grid=2)


def test_barrier_in_a_loop_that_some_leave_earlier():
    i = Var("i", i32)
    with pytest.raises(DivergentBarrier):
        run(For(i, TX, (SYNC,)))
    run(For(i, BX, (SYNC,)), grid=2)


def test_exited_threads_are_not_missed_at_barriers():
    run(If(TX > 40, (Return(),)), SYNC)


def test_collectives_need_whole_warps():
    with pytest.raises(DivergentBarrier):
        run(If(TX < 16, (Invoke("syncwarp"),)))
    run(If(TX < 32, (Invoke("syncwarp"),)))


def test_shuffle_from_an_inactive_lane():
    v = Var("v", f32)

    def shuffle(mask: int, lane: int):
        return Invoke("shfl_sync", (Const(mask, u32), wrap(1.0), c(lane)), (v,))

    with pytest.raises(InactiveLane, match="lane 20"):
        run(Declare(v), If(TX < 16, (shuffle(0xFFFF, 20),)))
    with pytest.raises(InactiveLane, match="names a lane"):
        run(Declare(v), If(TX < 16, (shuffle(2**32 - 1, 3),)))
    run(Declare(v), If(TX < 16, (shuffle(0xFFFF, 3),)))


def test_a_lane_that_its_own_mask_does_not_name():
    v = Var("v", f32)
    with pytest.raises(SimulationError, match="does not name it"):
        run(Declare(v), Invoke("shfl_sync", (Const(0xFFFF, u32), wrap(1.0), c(0)), (v,)))


def test_deadlock_at_a_named_barrier():
    sync = Invoke("barrier_sync", (), (), (1, 64))
    with pytest.raises(Deadlock):
        run(If(TX < 32, (sync,)))
    run(If(TX < 32, (sync,), (Invoke("barrier_arrive", (), (), (1, 64)),)))


def test_an_endless_loop_ends():
    with pytest.raises(StepLimit, match="1000"):
        run(While(wrap(True), ()), step_limit=1000)


def test_assertion():
    with pytest.raises(AssertionFailed, match=r"positive.*thread \(0, 0, 0\)"):
        run(Assert(TX > 0, "positive"))
    run(Assert(TX > -1, "positive"))


def test_misaligned_vector_store_in_shared_memory():
    value = Splat(wrap(1.0), 2)
    with pytest.raises(Misaligned, match="tile"):
        run(Declare(TILE), If(TX < 31, (Store(TILE, (TX * 2 + 1,), value),)))
    run(Declare(TILE), If(TX < 32, (Store(TILE, (TX * 2,), value),)))


def test_messages_name_kernel_block_thread_warp_and_lane():
    with pytest.raises(SimulationError) as caught:
        run(Store(Y, (BX * 64 + TX,), wrap(0.0)), grid=2, block=40)
    text = str(caught.value)
    assert "kernel wrong" in text
    assert "block (1, 0, 0), thread (0, 0, 0), warp 0, lane 0" in text
