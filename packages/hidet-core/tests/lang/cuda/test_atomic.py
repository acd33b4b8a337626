"""Atomics: every operation at every type it has, in global and shared memory, in every order."""

import numpy as np
import pytest

from hidet.codegen.cuda import emit
from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.synchronization.atomic import ALLOWED, NUMBERS, VECTORS
from hidet.lang import attr, f32, i32, script, shared_tensor, u32
from hidet.lang import load as load_lanes
from hidet.lang.cuda import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_dec,
    atomic_exchange,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    blockIdx,
    load_relaxed,
    store_relaxed,
    syncthreads,
    threadIdx,
)
from hidet.passes.pipeline import lower
from hidet.sim import launch
from hidet.toolchain import compile_cuda

THREADS = 96
UPDATES = {
    "atomic_add": (atomic_add, lambda start, values: start + values.sum()),
    "atomic_sub": (atomic_sub, lambda start, values: start - values.sum()),
    "atomic_min": (atomic_min, lambda start, values: min(start, values.min())),
    "atomic_max": (atomic_max, lambda start, values: max(start, values.max())),
    "atomic_and": (atomic_and, lambda start, values: np.bitwise_and.reduce([start, *values])),
    "atomic_or": (atomic_or, lambda start, values: np.bitwise_or.reduce([start, *values])),
    "atomic_xor": (atomic_xor, lambda start, values: np.bitwise_xor.reduce([start, *values])),
}
CASES = [(name, of) for name in UPDATES for of in ALLOWED.get(name, NUMBERS) if of.name != "unused"]


def small(of, seed=0):
    """Numbers whose sums are exact in every type."""
    return np.random.default_rng(seed).integers(0, 2, THREADS).astype(of.numpy)


def in_global(update, of, options):
    @script
    def kernel(x: of[THREADS], y: of[1]):
        attr.cuda_block_dim = THREADS
        update(~y[0], x[threadIdx.x], **options)

    return kernel


def in_shared(update, of, options):
    @script
    def kernel(x: of[THREADS], y: of[1]):
        attr.cuda_block_dim = THREADS
        tile = shared_tensor(of, 4)
        if threadIdx.x == 0:
            tile[3] = y[0]
        syncthreads()
        update(~tile[3], x[threadIdx.x], **options)
        syncthreads()
        if threadIdx.x == 0:
            y[0] = tile[3]

    return kernel


@pytest.mark.parametrize("make", [in_global, in_shared])
@pytest.mark.parametrize(("name", "of"), CASES, ids=str)
def test_updates_are_not_lost(run, name, of, make):
    update, meaning = UPDATES[name]
    x, start = small(of), np.array([64 if name == "atomic_sub" else 3], of.numpy)
    _, y = run(make(update, of, {}), x, start)
    assert y[0] == np.asarray(meaning(start[0], x)).astype(of.numpy)


@pytest.mark.parametrize("scope", ["block", "cluster", "gpu", "sys"])
@pytest.mark.parametrize("order", ["relaxed", "acquire", "release", "acq_rel"])
def test_orders_and_scopes(run, order, scope):
    options = {"order": order, "scope": scope}
    for of in NUMBERS:
        x = small(of)
        _, y = run(in_global(atomic_add, of, options), x, np.zeros(1, of.numpy))
        assert y[0] == x.sum()
    _, y = run(in_shared(atomic_xor, u32, options), small(u32), np.zeros(1, np.uint32))
    assert y[0] == small(u32).sum() % 2


@pytest.mark.parametrize("of", NUMBERS, ids=str)
def test_compare_and_swap_and_exchange(run, of):
    @script
    def kernel(y: of[2], old: of[THREADS], last: of[THREADS]):
        attr.cuda_block_dim = THREADS
        mine = of(threadIdx.x + 1)
        old[threadIdx.x] = atomic_cas(~y[0], 0, mine, order="acq_rel")
        last[threadIdx.x] = atomic_exchange(~y[1], mine)

    def facts(y, old, last):
        winner = int(np.argmin(old == 0))  # noqa: F841
        chain = sorted([*last.astype(np.float64), float(y[1])])
        return np.count_nonzero(old == 0), np.unique(old[old != 0]) == y[0], np.array(chain)

    given = np.zeros(2, of.numpy), np.zeros(THREADS, of.numpy), np.zeros(THREADS, of.numpy)
    winners, same, chain = run(kernel, *given, compare=facts)
    assert winners == 1
    assert same.all()
    assert chain.tolist() == list(range(THREADS + 1))


def test_counting_up_and_down_wraps(run):
    @script
    def kernel(y: u32[2], up: u32[THREADS], down: u32[THREADS]):
        attr.cuda_block_dim = THREADS
        up[threadIdx.x] = atomic_inc(~y[0], 6)
        down[threadIdx.x] = atomic_dec(~y[1], 6, scope="block")

    def facts(y, up, down):
        return y, np.sort(up), np.sort(down)

    y = np.array([0, 3], np.uint32)
    zeros = np.zeros(THREADS, np.uint32)
    y, up, down = run(kernel, y, zeros, zeros, compare=facts)
    assert y[0] == THREADS % 7
    assert y[1] == (3 - THREADS) % 7
    assert set(up) == set(down) == set(range(7))


@pytest.mark.parametrize(
    ("of", "lanes"), [(of, n) for of, counts in VECTORS.items() for n in counts], ids=str
)
@pytest.mark.parametrize("order", ["relaxed", "release"])
def test_neighbours_are_added_together(run, of, lanes, order):
    count = THREADS * lanes

    @script
    def kernel(x: of[count], y: of[3 * lanes], old: of[count]):
        attr.cuda_block_dim = THREADS
        value = load_lanes(x, threadIdx.x * lanes, lanes=lanes)
        seen = atomic_add(~y[threadIdx.x % 2 * lanes], value, order=order)
        for lane in range(lanes):
            old[threadIdx.x * lanes + lane] = 1
        atomic_add(~y[2 * lanes], seen - seen)

    x = np.tile(small(of), lanes)
    _, y, _ = run(kernel, x, np.zeros(3 * lanes, of.numpy), np.zeros(count, of.numpy))
    rows = x.astype(np.float64).reshape(-1, 2, lanes).sum(0)
    assert y.astype(np.float64).tolist() == [*rows.reshape(-1), *[0.0] * lanes]


@pytest.mark.parametrize(
    ("of", "lanes"), [(of, n) for of, counts in VECTORS.items() for n in counts], ids=str
)
def test_older_devices_add_one_element_after_the_other(of, lanes):
    @script
    def kernel(x: of[64], y: of[8]):
        attr.cuda_block_dim = 32
        atomic_add(~y[0], load_lanes(x, 0, lanes=lanes), order="acq_rel")

    compile_cuda(emit([lower(kernel.kernel)]), arch="sm_80", name="kernel")


def test_a_vector_in_shared_memory_takes_one_addition_for_each_element(run):
    @script
    def kernel(x: f32[64], y: f32[2]):
        attr.cuda_block_dim = 32
        tile = shared_tensor(f32, 2)
        if threadIdx.x < 2:
            tile[threadIdx.x] = 0
        syncthreads()
        atomic_add(~tile[0], load_lanes(x, threadIdx.x * 2, lanes=2))
        syncthreads()
        if threadIdx.x < 2:
            y[threadIdx.x] = tile[threadIdx.x]

    x = np.arange(64, dtype=np.float32)
    _, y = run(kernel, x, np.zeros(2, np.float32))
    assert y.tolist() == [x[::2].sum(), x[1::2].sum()]


def test_additions_of_f32_in_global_memory_flush_denormals(run):
    @script
    def kernel(y: f32[4], shared: f32[1]):
        attr.cuda_block_dim = 1
        tile = shared_tensor(f32, 1)
        tile[0] = 1e-40
        atomic_add(~y[0], 1e-40)
        atomic_add(~y[1], -1e-40)
        atomic_add(~y[2], 1.5e-38)
        atomic_add(~tile[0], 1e-40)
        shared[0] = tile[0]

    y = np.array([0, -0.0, -1.18e-38, 1], np.float32)
    y, shared = run(kernel, y, np.zeros(1, np.float32))
    assert shared[0] == np.float32(1e-40) + np.float32(1e-40) != 0
    assert y[:3].tolist() == [0, 0, 0]


def test_release_and_acquire_hand_data_from_block_to_block(run):
    @script
    def kernel(data: i32[64], flag: i32[1], out: i32[64]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 64
        if blockIdx.x == 0:
            data[threadIdx.x] = threadIdx.x * 3
            syncthreads()
            if threadIdx.x == 0:
                atomic_exchange(~flag[0], 1, order="release")
        else:
            if threadIdx.x == 0:
                while atomic_add(~flag[0], 0, order="acquire") == 0:
                    pass
            syncthreads()
            out[threadIdx.x] = data[threadIdx.x]

    zeros = np.zeros(64, np.int32)
    _, _, out = run(kernel, zeros, np.zeros(1, np.int32), zeros)
    assert out.tolist() == [3 * t for t in range(64)]


def test_refused():
    with pytest.raises(DtypeMismatch, match="atomic_inc takes u32, not i32"):

        @script
        def signed(y: i32[1]):
            attr.cuda_block_dim = 32
            atomic_inc(~y[0], 1)

    with pytest.raises(DtypeMismatch, match="there is no atomic_max of f32x2"):

        @script
        def vector(y: f32[2]):
            attr.cuda_block_dim = 32
            atomic_max(~y[0], load_lanes(y, 0, lanes=2))

    with pytest.raises(BadKernel, match="not 'sequential'"):

        @script
        def order(y: f32[2]):
            attr.cuda_block_dim = 32
            atomic_add(~y[0], 1, order="sequential")


def test_plain_and_atomic_accesses_race_but_atomic_ones_do_not():
    @script
    def kernel(y: i32[1], out: i32[64]):
        attr.cuda_block_dim = 64
        if threadIdx.x == 0:
            store_relaxed(~y[0], 7)
        out[threadIdx.x] = load_relaxed(~y[0])

    out = np.zeros(64, np.int32)
    launch(kernel, np.zeros(1, np.int32), out)
    assert set(out.tolist()) <= {0, 7}
