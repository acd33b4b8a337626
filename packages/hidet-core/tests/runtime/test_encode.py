"""What the driver is asked for a tensor map; on a GPU, tests/intrinsics/test_tma_gpu.py runs it."""

import ctypes

import pytest

from hidet.errors import BadArgument, CudaError
from hidet.runtime import Map
from hidet.runtime.devices.driver import cu
from hidet.runtime.graphs import encode
from hidet.types import Im2col, Tile

TILES = Map(3, "float16", Tile((8, 64), (2, 1)), "128B", "256B", "nan", (129, 72), (80,))
IMAGES = Map(
    4, "int16", Im2col(32, 16, (-1, -2), (1, 2), (2, 1)), "none", "none", "zeros",
    (5, 7, 9, 16), (1008, 144, 16),
)  # fmt: skip

pytestmark = pytest.mark.skipif(cu is None, reason="there are no bindings of the driver")


@pytest.fixture
def calls(monkeypatch):
    """The calls of the driver, arrays as lists."""
    found = []

    def function(name):
        def run(*args):
            found.append((name, [list(a) if isinstance(a, ctypes.Array) else a for a in args]))
            return 0

        return run

    monkeypatch.setattr(encode, "function", function)
    return found


def test_axes_are_counted_from_the_last(calls):
    maps = encode.Maps([TILES, IMAGES])
    assert all(address % 64 == 0 for address in maps.addresses)
    maps.point(0, 4096)
    maps.point(1, 8192)
    (tiled, first), (columns, second) = calls
    assert (tiled, columns) == ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col")
    f16, i16 = (
        int(getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}"))
        for name in ("FLOAT16", "UINT16")
    )
    assert first == [
        maps.addresses[0], f16, 2, 4096, [72, 129], [160], [64, 16], [1, 2], 0, 3, 3, 1,
    ]  # fmt: skip
    assert second == [
        maps.addresses[1], i16, 4, 8192, [16, 9, 7, 5], [32, 288, 2016], [-2, -1], [2, 1],
        16, 32, [1, 1, 2, 1], 0, 0, 0, 0,
    ]  # fmt: skip


def test_a_tensor_that_moved_only_changes_the_address(calls):
    maps = encode.Maps([TILES])
    for tensor in (4096, 4096, 8192):
        maps.point(0, tensor)
    assert [name for name, _ in calls] == ["cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress"]
    assert calls[1][1] == [maps.addresses[0], 8192]


@pytest.mark.parametrize("tensor", [0, 8, 4097])
def test_an_address_is_a_multiple_of_16(calls, tensor):
    with pytest.raises(BadArgument, match="multiple of 16 bytes"):
        encode.Maps([TILES]).point(0, tensor)
    assert not calls


def test_the_driver_may_refuse(monkeypatch):
    monkeypatch.setattr(encode, "function", lambda name: lambda *args: 1)
    with pytest.raises(CudaError, match="cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE"):
        encode.Maps([TILES]).point(0, 4096)


def test_signatures_are_those_of_the_header():
    assert len(encode.SIGNATURES["cuTensorMapEncodeTiled"]) == 12
    assert len(encode.SIGNATURES["cuTensorMapEncodeIm2col"]) == 15
