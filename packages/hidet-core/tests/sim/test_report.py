"""What a launch tells of its accesses: sectors, bank conflicts, lines."""

import numpy as np
import pytest

from hidet.lang import attr, f16, f32, f64, i32, script, shared_tensor
from hidet.lang import load as load_lanes
from hidet.lang.cuda import atomic_add, laneid, syncthreads, threadIdx
from hidet.sim import launch


def strided(of, stride, lanes=1):
    count = 64 * stride * lanes

    @script
    def kernel(x: of[count], y: of[64]):
        attr.cuda_block_dim = 64
        value = load_lanes(x, threadIdx.x * stride * lanes, lanes=lanes)
        y[threadIdx.x] = value[0] if lanes > 1 else value

    report = launch(kernel, np.zeros(count, of.numpy), np.zeros(64, of.numpy))
    return {each.verb: each for each in report.accesses}["load"]


@pytest.mark.parametrize(
    ("of", "stride", "lanes", "sectors", "least"),
    [
        (f32, 1, 1, 8, 8),
        (f32, 2, 1, 16, 8),
        (f32, 8, 1, 64, 8),
        (f32, 100, 1, 64, 8),
        (f16, 1, 1, 4, 4),
        (f64, 1, 1, 16, 16),
        (f32, 1, 4, 32, 32),
        (f32, 2, 4, 64, 32),
    ],
    ids=str,
)
def test_sectors_of_global_memory(of, stride, lanes, sectors, least):
    found = strided(of, stride, lanes)
    assert (found.sectors, found.least, found.conflicts) == (sectors, least, 0)
    assert found.warps == 2
    assert found.threads == 64
    assert found.nbytes == 64 * lanes * of.nbytes


def test_one_address_for_all_is_one_sector():
    @script
    def kernel(x: f32[8], y: f32[64]):
        attr.cuda_block_dim = 64
        y[threadIdx.x] = x[3]

    report = launch(kernel, np.zeros(8, np.float32), np.zeros(64, np.float32))
    assert [(each.name, each.sectors) for each in report.accesses] == [("x", 2), ("y", 8)]
    assert report.sectors == 10


def banks(of, index, lanes=1, threads=32):
    """Wavefronts beyond the fewest of loads from shared memory."""

    @script
    def kernel(y: f32[1]):
        attr.cuda_block_dim = threads
        tile = shared_tensor(of, 4096)
        for i in range(4096 // threads):
            tile[i * threads + threadIdx.x] = 0
        syncthreads()
        value = load_lanes(tile, index(laneid), lanes=lanes)
        if threadIdx.x == 0:
            y[0] = f32(value[0] if lanes > 1 else value)

    report = launch(kernel, np.zeros(1, np.float32))
    stores, loads = (
        next(each for each in report.accesses if (each.verb, each.scope) == (verb, "shared"))
        for verb in ("store", "load")
    )
    assert stores.conflicts == 0
    return loads.conflicts


@pytest.mark.parametrize(
    ("of", "lanes", "index", "conflicts"),
    [
        (f32, 1, lambda t: t, 0),
        (f32, 1, lambda t: t * 2, 1),
        (f32, 1, lambda t: t * 32, 31),
        (f32, 1, lambda t: t * 33, 0),
        (f32, 1, lambda t: t % 2 * 32, 1),
        (f32, 1, lambda t: t * 0 + 5, 0),
        (f16, 1, lambda t: t, 0),
        (f16, 1, lambda t: t * 64, 31),
        (f64, 1, lambda t: t, 0),
        (f64, 1, lambda t: t * 16, 2 * 15),
        (f32, 4, lambda t: t * 4, 0),
        (f32, 4, lambda t: t * 32, 4 * 7),
        (f16, 8, lambda t: (t * 64) % 2048 + (t % 8) * 8, 0),
    ],
)
def test_conflicts_between_banks(of, lanes, index, conflicts):
    assert banks(of, index, lanes) == conflicts
    assert banks(of, index, lanes, threads=64) == 2 * conflicts


def test_the_table_names_lines():
    @script
    def kernel(x: f32[64], y: f32[64], count: i32[1]):
        attr.cuda_block_dim = 64
        tile = shared_tensor(f32, (32, 32))
        if threadIdx.x < 32:
            tile[threadIdx.x, 0] = x[threadIdx.x]
        syncthreads()
        if threadIdx.x < 32:
            y[threadIdx.x] = tile[threadIdx.x, 0]
        atomic_add(~count[0], 1)

    zeros = np.zeros(64, np.float32)
    report = launch(kernel, zeros, zeros.copy(), np.zeros(1, np.int32))
    assert report.barriers == 1
    assert report.shared_bytes == 4096
    assert 16 <= report.registers["kernel"] <= 32
    assert report.executed["syncthreads"] == 64
    assert report.executed["update global"] == 64
    text = str(report)
    first = kernel.kernel.place.line + 4
    rows = [line.split() for line in text.splitlines() if "test_report.py" in line]
    assert [row[:4] for row in rows] == [
        ["load", "global", "x", f"test_report.py:{first}"],
        ["store", "shared", "tile", f"test_report.py:{first}"],
        ["load", "shared", "tile", f"test_report.py:{first + 3}"],
        ["store", "global", "y", f"test_report.py:{first + 3}"],
        ["update", "global", "count", f"test_report.py:{first + 4}"],
    ]
    assert rows[1][-1] == rows[2][-1] == "31"
    assert "4096 bytes of shared memory, kernel: about" in text


def test_without_measuring():
    @script
    def kernel(y: f32[32]):
        attr.cuda_block_dim = 32
        y[threadIdx.x] = 1

    report = launch(kernel, np.zeros(32, np.float32), measure=False)
    assert report.accesses == []
    assert report.executed["store global"] == 32
