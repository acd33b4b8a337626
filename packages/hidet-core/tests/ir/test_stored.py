"""Lowered kernels as text and back."""

import json
from contextlib import suppress

import numpy as np
import pytest

from hidet.errors import BadArchive, InternalError
from hidet.ir.stored import restored, stored
from hidet.lang import attr, f16, f32, i32, script, shared_tensor
from hidet.lang.cuda import blockIdx, shfl_xor_sync, syncthreads, threadIdx
from hidet.mapping import row_spatial
from hidet.passes.pipeline import lower
from hidet.sim import launch


@script
def kernel(x: f32[3, 64], y: f16[3, 64]):
    attr.cuda_grid_dim = 3
    attr.cuda_block_dim = 64
    tile = shared_tensor(f32, (2, 32))
    value = x[blockIdx.x, threadIdx.x]
    for i in range(3):
        value += shfl_xor_sync(0xFFFFFFFF, value, 1) * 0.1 * i
    tile[threadIdx.x // 32, threadIdx.x % 32] = value + 1e-45
    syncthreads()
    if value > 0 and threadIdx.x != 5:
        y[blockIdx.x, threadIdx.x] = f16(tile[1 - threadIdx.x // 32, 0])


def test_the_same_kernel_comes_back():
    before = lower(kernel.kernel)
    text = stored([before])
    (after,) = restored(text)
    assert str(after) == str(before)
    assert stored([after]) == text
    assert after.body[0].place == before.body[0].place
    results = []
    for each in (before, after):
        x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
        y = np.zeros((3, 64), np.float16)
        launch(each, x, y)
        results.append(y.tobytes())
    assert results[0] == results[1]


def test_several_kernels_share_one_table():
    both = [lower(kernel.kernel)] * 2
    first, second = restored(stored(both))
    assert first is second


def test_only_lowered_kernels_are_stored():
    @script
    def tasks(y: i32[64]):
        attr.cuda_block_dim = 32
        for i in row_spatial(32).on(threadIdx.x):
            y[i] = 1

    with pytest.raises(InternalError, match="in a kernel that is to be stored"):
        stored([tasks.kernel])


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_noticed(seed):
    """Whatever is changed, the text is refused or is still a program."""
    data = json.loads(stored([lower(kernel.kernel)]))
    random = np.random.default_rng(seed)
    node = data["nodes"][int(random.integers(len(data["nodes"])))]
    change = [
        lambda: node.pop(),
        lambda: node.append(7),
        lambda: node.__setitem__(0, "Nothing"),
        lambda: data["kernels"].append(0),
        lambda: node.__setitem__(len(node) - 1, ["node", 10**6]),
        lambda: data.pop("nodes"),
    ][seed % 6]
    change()
    text = json.dumps(data)
    if seed % 6 in (0, 4):  # fields with defaults may be left out, forward references be unused
        with suppress(BadArchive):
            assert restored(text)
        return
    with pytest.raises(BadArchive, match="simulated program"):
        restored(text)


def test_no_text_at_all():
    with pytest.raises(BadArchive, match="cannot be read"):
        restored(b"\x7fELF")
