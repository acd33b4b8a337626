"""Warp-wide exchange, votes, matches and reductions in scripts."""

import numpy as np
import pytest

from hidet.errors import DtypeMismatch
from hidet.intrinsics.shuffle import SHUFFLED
from hidet.lang import (
    attr,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i32,
    i64,
    load,
    script,
    static,
    store,
    u8,
    u32,
    u64,
)  # fmt: skip
from hidet.lang.cuda import (
    activemask,
    all_sync,
    any_sync,
    ballot_sync,
    laneid,
    match_all_sync,
    match_any_sync,
    reduce_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncwarp,
    threadIdx,
    uni_sync,
)
from hidet.sim import InactiveLane, launch

ALL = 0xFFFFFFFF
LANES = np.arange(32)


def numbers(of, count=64, seed=0):
    return np.random.default_rng(seed).integers(0, 100, count).astype(of.numpy)


@pytest.mark.parametrize("of", [each for each in SHUFFLED if each.short != "tf32"], ids=str)
@pytest.mark.parametrize("width", [4, 32])
def test_shuffles(run, of, width):
    @script
    def kernel(x: of[64], y: of[4, 64]):
        attr.cuda_block_dim = 64
        t = threadIdx.x
        y[0, t] = shfl_sync(ALL, x[t], 3, width)
        y[1, t] = shfl_up_sync(ALL, x[t], 1, width)
        y[2, t] = shfl_down_sync(ALL, x[t], 2, width)
        y[3, t] = shfl_xor_sync(ALL, x[t], 1, width)

    x = numbers(of)
    _, y = run(kernel, x, np.zeros((4, 64), of.numpy))
    lane = np.arange(64)
    first = lane - lane % width
    up, down = lane - 1, lane + 2
    sources = [
        first + 3,
        np.where(up >= first, up, lane),
        np.where(down < first + width, down, lane),
        lane ^ 1,
    ]
    for found, source in zip(y, sources, strict=True):
        assert found.tolist() == x[source].tolist()


@pytest.mark.parametrize(("of", "lanes"), [(f16, 2), (bf16, 4), (f32, 2), (u8, 4)], ids=str)
def test_vectors_travel_whole(run, of, lanes):
    @script
    def kernel(x: of[32 * lanes], y: of[32 * lanes]):
        attr.cuda_block_dim = 32
        value = load(x, threadIdx.x * lanes, lanes=lanes)
        store(y, threadIdx.x * lanes, shfl_xor_sync(ALL, value, 5))

    x = numbers(of, 32 * lanes)
    _, y = run(kernel, x, np.zeros(32 * lanes, of.numpy))
    assert y.tolist() == x.reshape(32, lanes)[LANES ^ 5].reshape(-1).tolist()


def test_votes(run):
    @script
    def kernel(x: i32[96], ballots: u32[96], votes: boolean[3, 96]):
        attr.cuda_block_dim = 96
        t = threadIdx.x
        ballots[t] = ballot_sync(ALL, x[t] > 50)
        votes[0, t] = any_sync(ALL, x[t] > 50)
        votes[1, t] = all_sync(ALL, x[t] > 50)
        votes[2, t] = uni_sync(ALL, x[t] > 50)

    x = numbers(i32, 96)
    x[32:64], x[64:] = 0, 90
    _, ballots, votes = run(kernel, x, np.zeros(96, np.uint32), np.zeros((3, 96), np.bool_))
    holds = (x > 50).reshape(3, 32)
    assert ballots[::32].tolist() == [int((h * (1 << LANES)).sum()) for h in holds]
    assert votes[:, ::32].tolist() == [
        holds.any(1).tolist(),
        holds.all(1).tolist(),
        [False, True, True],
    ]


@pytest.mark.parametrize("of", [i32, u32, i64, u64, f32, f64], ids=str)
def test_matches(run, of):
    @script
    def kernel(x: of[64], some: u32[64], every: u32[64], same: boolean[64]):
        attr.cuda_block_dim = 64
        t = threadIdx.x
        some[t] = match_any_sync(ALL, x[t])
        lanes, alike = match_all_sync(ALL, x[t])
        every[t] = lanes
        same[t] = alike

    x = (numbers(of) % 5).astype(of.numpy)
    x[32:] = 7
    zeros = np.zeros(64, np.uint32)
    _, some, every, same = run(kernel, x, zeros, zeros, np.zeros(64, np.bool_))
    assert some[:32].tolist() == [int(((x[:32] == v) * (1 << LANES)).sum()) for v in x[:32]]
    assert every.tolist() == [0] * 32 + [ALL] * 32
    assert same.tolist() == [False] * 32 + [True] * 32


@pytest.mark.parametrize("of", [i32, u32], ids=str)
def test_reductions(run, of):
    hows = ["add", "min", "max"] + (["and", "or", "xor"] if of is u32 else [])

    @script
    def kernel(x: of[64], y: of[6, 64]):
        attr.cuda_block_dim = 64
        t = threadIdx.x
        for i, how in static(list(enumerate(hows))):
            y[i, t] = reduce_sync(ALL, x[t], how)

    x = (numbers(i64, seed=1) * 40_000_000 - (0 if of is u32 else 2**31)).astype(of.numpy)
    _, y = run(kernel, x, np.zeros((6, 64), of.numpy))
    meaning = [np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor]
    for found, function in zip(y[: len(hows)], meaning, strict=False):
        expected = function.reduce(x.reshape(2, 32), axis=1, dtype=of.numpy)
        assert found[::32].tolist() == expected.tolist()


def test_some_lanes_only(run):
    @script
    def kernel(x: i32[32], y: i32[32], active: u32[32]):
        attr.cuda_block_dim = 32
        if laneid < 8:
            y[laneid] = shfl_xor_sync(0xFF, x[laneid], 3)
            active[laneid] = activemask()
        else:
            y[laneid] = reduce_sync(0xFFFFFF00, x[laneid], "max")
            syncwarp(0xFFFFFF00)

    x = numbers(i32, 32)
    _, y, active = run(kernel, x, np.zeros(32, np.int32), np.zeros(32, np.uint32))
    assert y[:8].tolist() == x[LANES[:8] ^ 3].tolist()
    assert set(y[8:]) == {x[8:].max()}
    assert set(active[:8]) == {0xFF}


@pytest.mark.parametrize("mask", [0xFFFF, ALL])
def test_a_mask_names_those_who_call(mask):
    @script
    def kernel(y: i32[32]):
        attr.cuda_block_dim = 32
        if laneid < 15:
            y[laneid] = reduce_sync(mask, laneid)

    with pytest.raises(InactiveLane, match="names a lane in its mask that does not execute it"):
        launch(kernel, np.zeros(32, np.int32))


def test_what_has_no_instruction_is_refused():
    with pytest.raises(DtypeMismatch, match="takes vectors of 4 or 8 bytes, not f32x4"):

        @script
        def wide(y: f32[32]):
            attr.cuda_block_dim = 32
            shfl_xor_sync(ALL, load(y, 0, lanes=4), 1)

    with pytest.raises(DtypeMismatch, match="reduce_sync takes u32, not i32"):

        @script
        def bits(y: i32[32]):
            attr.cuda_block_dim = 32
            y[0] = reduce_sync(ALL, y[1], "xor")
