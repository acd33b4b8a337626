"""Loads and stores with cache hints and orders, pointers of other widths, dynamic shared memory."""

import numpy as np
import pytest

from hidet.errors import BadKernel, BadScript, DtypeMismatch, SimulationError
from hidet.intrinsics.memory import CONSTANT_CACHES, EVICT_L1, EVICT_L2, LOAD_CACHES, STORE_CACHES
from hidet.lang import (
    attr,
    bf16,
    f8e4m3,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    reinterpret,
    script,
    shared_tensor,
    store,
    u8,
    u16,
    u32,
    vector,
)
from hidet.lang.cuda import (
    blockIdx,
    dynamic_shared,
    dynamic_smem_size,
    load_acquire,
    load_global,
    load_relaxed,
    load_volatile,
    store_global,
    store_relaxed,
    store_release,
    store_volatile,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.sim import Misaligned, OutOfBounds, Race, Uninitialised, launch
from hidet.types import VectorType

WIDTHS = [
    (i8, 1), (u8, 16), (f8e4m3, 4), (f16, 1), (bf16, 2), (f16, 8), (i32, 1), (f32, 2), (f32, 4),
    (f64, 1), (i64, 2), (u16, 4),
]  # fmt: skip


def values(of, count):
    return (np.arange(count) % 61 - (0 if of.name.startswith("u") else 30)).astype(of.numpy)


def copies(of, lanes, load, save):
    count = 40 * lanes

    @script
    def kernel(x: of[count], y: of[count]):
        attr.cuda_block_dim = 40
        at = threadIdx.x * lanes
        save(~y[at], load(~x[at], lanes))

    return kernel, values(of, count), np.zeros(count, of.numpy)


@pytest.mark.parametrize(("of", "lanes"), WIDTHS, ids=str)
def test_every_width(run, of, lanes):
    x, y = run(*copies(of, lanes, load_global, store_global))
    assert x.tolist() == y.tolist()
    x, y = run(*copies(of, lanes, load_relaxed, store_relaxed))
    assert x.tolist() == y.tolist()


def hinted(function, **hints):
    return lambda *args: function(*args, **hints)


@pytest.mark.parametrize(
    ("load", "save"),
    [
        *((hinted(load_global, cache=c), store_global) for c in LOAD_CACHES),
        *((hinted(load_global, cache=c, constant=True), store_global) for c in CONSTANT_CACHES),
        *((hinted(load_global, l1=e), store_global) for e in EVICT_L1),
        *((hinted(load_global, l2=e), hinted(store_global, l2=e)) for e in EVICT_L2),
        (hinted(load_global, l1="no_allocate", l2="evict_last", constant=True), store_global),
        *((load_global, hinted(store_global, cache=c)) for c in STORE_CACHES),
        (load_global, hinted(store_global, l1="evict_first")),
    ],
)  # fmt: skip
def test_every_hint(run, load, save):
    x, y = run(*copies(f32, 4, load, save))
    assert x.tolist() == y.tolist()


@pytest.mark.parametrize("scope", ["block", "cluster", "gpu", "sys"])
def test_ordered_accesses(run, scope):
    for load, save in ((load_acquire, store_release), (load_relaxed, store_relaxed)):
        x, y = run(*copies(f32, 1, hinted(load, scope=scope), hinted(save, scope=scope)))
        assert x.tolist() == y.tolist()
    x, y = run(*copies(i64, 1, load_volatile, store_volatile))
    assert x.tolist() == y.tolist()


def test_ordered_accesses_of_shared_memory(run):
    @script
    def kernel(y: i32[32]):
        attr.cuda_block_dim = 32
        tile = shared_tensor(i32, 32)
        store_volatile(~tile[threadIdx.x], threadIdx.x)
        store_release(~tile[threadIdx.x], load_acquire(~tile[threadIdx.x], scope="block") * 2)
        y[threadIdx.x] = load_volatile(~tile[threadIdx.x])

    (y,) = run(kernel, np.zeros(32, np.int32))
    assert y.tolist() == [2 * t for t in range(32)]


def test_a_flag_handed_from_block_to_block(run):
    @script
    def kernel(data: i32[32], flag: i32[1], y: i32[32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        if blockIdx.x == 1:
            data[threadIdx.x] = threadIdx.x + 5
            syncthreads()
            if threadIdx.x == 0:
                store_release(~flag[0], 1)
        else:
            if threadIdx.x == 0:
                while load_acquire(~flag[0]) == 0:
                    pass
            syncthreads()
            y[threadIdx.x] = data[threadIdx.x]

    zeros = np.zeros(32, np.int32)
    _, _, y = run(kernel, zeros, np.zeros(1, np.int32), zeros)
    assert y.tolist() == [t + 5 for t in range(32)]


def warps_of_a_block(save, load):
    """One warp hands a tile to another, by a flag in shared memory."""

    @script
    def kernel(y: i32[32]):
        attr.cuda_block_dim = 64
        tile = shared_tensor(i32, 32)
        flag = shared_tensor(i32, 1)
        if threadIdx.x == 0:
            flag[0] = 0
        syncthreads()
        if threadIdx.x < 32:
            tile[threadIdx.x] = threadIdx.x * 7
            syncwarp()
            if threadIdx.x == 0:
                save(~flag[0], 1, scope="block")
        else:
            if threadIdx.x == 32:
                while load(~flag[0], scope="block") == 0:
                    pass
            syncwarp()
            y[threadIdx.x - 32] = tile[63 - threadIdx.x]

    return kernel


def test_a_flag_handed_from_warp_to_warp(run):
    (y,) = run(warps_of_a_block(store_release, load_acquire), np.zeros(32, np.int32))
    assert y.tolist() == [7 * t for t in range(31, -1, -1)]


@pytest.mark.parametrize(
    ("save", "load"),
    [
        (store_relaxed, load_relaxed),
        (store_relaxed, load_acquire),
        (store_release, load_relaxed),
    ],
)
def test_half_a_handover_is_none(save, load):
    with pytest.raises(Race, match=r"race on shared tile\["):
        launch(warps_of_a_block(save, load), np.zeros(32, np.int32))


def test_a_relaxed_flag_hands_over_nothing():
    @script
    def kernel(data: i32[32], flag: i32[1], y: i32[32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        if blockIdx.x == 1:
            data[threadIdx.x] = threadIdx.x + 5
            syncthreads()
            if threadIdx.x == 0:
                store_relaxed(~flag[0], 1)
        else:
            if threadIdx.x == 0:
                while load_relaxed(~flag[0]) == 0:
                    pass
            syncthreads()
            y[threadIdx.x] = data[threadIdx.x]

    zeros = np.zeros(32, np.int32)
    with pytest.raises(Race, match=r"race on global data\["):
        launch(kernel, zeros, np.zeros(1, np.int32), zeros.copy())


def test_pointers_of_other_widths(run):
    """Bytes seen as words, words as halves, and addresses moved both ways."""

    @script
    def kernel(x: u8[64], y: u32[16], halves: u16[32]):
        attr.cuda_block_dim = 16
        words = reinterpret(x, ~u32)
        y[threadIdx.x] = words[threadIdx.x]
        first = reinterpret(words + 4, ~u16)
        halves[threadIdx.x] = first[threadIdx.x]
        back = first - 8
        halves[16 + threadIdx.x] = back[threadIdx.x]

    x = np.arange(64, dtype=np.uint8)
    _, y, halves = run(kernel, x, np.zeros(16, np.uint32), np.zeros(32, np.uint16))
    assert y.tobytes() == x.tobytes()
    assert halves.tolist() == [*x.view(np.uint16)[8:24], *x.view(np.uint16)[:16]]


def test_bits_of_numbers_and_vectors(run):
    @script
    def kernel(x: f32[32], y: u32[32], packed: u32[32]):
        attr.cuda_block_dim = 32
        value = x[threadIdx.x]
        y[threadIdx.x] = reinterpret(value, u32)
        pair = vector(f16(value), f16(-value))
        packed[threadIdx.x] = reinterpret(pair, u32)
        again = reinterpret(packed[threadIdx.x], VectorType(f16, 2))
        x[threadIdx.x] = f32(again[1])

    x = np.arange(32, dtype=np.float32)
    after, y, packed = run(kernel, x, np.zeros(32, np.uint32), np.zeros(32, np.uint32))
    assert y.tobytes() == x.tobytes()
    both = np.stack([x, -x], 1).astype(np.float16)
    assert packed.tobytes() == both.tobytes()
    assert after.tolist() == (-x).tolist()


def test_dynamic_shared_memory(run):
    @script
    def kernel(y: f32[64], z: i32[64]):
        attr.cuda_block_dim = 64
        attr.cuda_dynamic_smem_bytes = 64 * 8
        beside = shared_tensor(i32, 128)
        floats = dynamic_shared(f32)
        whole = reinterpret(floats + 64, ~i32)
        floats[threadIdx.x] = f32(threadIdx.x)
        whole[threadIdx.x] = threadIdx.x * 2
        beside[threadIdx.x] = dynamic_smem_size
        syncthreads()
        y[threadIdx.x] = floats[63 - threadIdx.x]
        z[threadIdx.x] = whole[63 - threadIdx.x] + beside[63 - threadIdx.x]

    y, z = run(kernel, np.zeros(64, np.float32), np.zeros(64, np.int32))
    t = np.arange(63, -1, -1)
    assert y.tolist() == t.tolist()
    assert z.tolist() == (2 * t + 512).tolist()


def test_mistakes():
    @script
    def beyond(y: f32[8]):
        attr.cuda_block_dim = 1
        attr.cuda_dynamic_smem_bytes = 16
        tile = dynamic_shared(f32)
        tile[4] = 1.0

    with pytest.raises(OutOfBounds, match="shared dynamic_shared has 16 bytes"):
        launch(beyond, np.zeros(8, np.float32))

    @script
    def unset(y: f32[8]):
        attr.cuda_block_dim = 1
        attr.cuda_dynamic_smem_bytes = 16
        tile = dynamic_shared(f32)
        y[0] = tile[1]

    with pytest.raises(Uninitialised, match="dynamic_shared"):
        launch(unset, np.zeros(8, np.float32))

    @script
    def crooked(y: f32[8]):
        attr.cuda_block_dim = 1
        store(y, 0, load_global(~y[1], 4))

    with pytest.raises(Misaligned, match="16 bytes at y"):
        launch(crooked, np.zeros(8, np.float32))

    @script
    def not_constant(y: f32[8]):
        attr.cuda_block_dim = 1
        y[1] = 2.0
        y[0] = load_global(~y[1], constant=True)

    with pytest.raises(Race, match=r"y\[1\] is read as constant, and this kernel wrote it"):
        launch(not_constant, np.zeros(8, np.float32))

    @script
    def elsewhere(y: f32[8]):
        attr.cuda_block_dim = 1
        tile = shared_tensor(f32, 4)
        store_global(~tile[0], 1.0)

    with pytest.raises(SimulationError, match="store_global is of global memory"):
        launch(elsewhere, np.zeros(8, np.float32))


@pytest.mark.parametrize(
    ("kind", "message", "use"),
    [
        (DtypeMismatch, "moves 1, 2, 4, 8 or 16 bytes, not 32", lambda at: load_global(at, 8)),
        (BadKernel, "not both", lambda at: load_global(at, cache="cg", l1="evict_first")),
        (BadKernel, "not 'lu'", lambda at: load_global(at, cache="lu", constant=True)),
        (BadScript, "takes the address of an element", lambda at: load_acquire(load_global(at))),
        (BadScript, "has not as many bits", lambda at: reinterpret(load_global(at), u16)),
    ],
)
def test_refused(kind, message, use):
    with pytest.raises(kind, match=message):

        @script
        def kernel(y: f32[32]):
            attr.cuda_block_dim = 1
            y[0] = use(~y[0])
