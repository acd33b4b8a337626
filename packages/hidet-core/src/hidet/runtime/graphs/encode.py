"""Tensor maps in the driver's own form: 128 bytes each, at multiples of 64.

The driver's functions are called at their address: they write where the map shall lie, and the
bindings' own objects do not lie at multiples of 64 bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from hidet.errors import BadArgument, NoDevice
from hidet.runtime.devices.driver import call, cu, failure
from hidet.runtime.plans.maps import Map
from hidet.types import Im2col
from hidet.types.tensor_map import ALIGNMENT, Tile

NBYTES = 128
PLACE = 64
SINCE = 12000  # the version of CUDA that brought tensor maps
TYPES = {
    "float64": "FLOAT64", "float32": "FLOAT32", "tfloat32": "FLOAT32", "float16": "FLOAT16",
    "bfloat16": "BFLOAT16", "float8_e4m3": "UINT8", "float8_e5m2": "UINT8", "int8": "UINT8",
    "uint8": "UINT8", "int16": "UINT16", "uint16": "UINT16", "int32": "INT32", "uint32": "UINT32",
    "int64": "INT64", "uint64": "UINT64",
}  # fmt: skip
"""The driver's element types; bits are moved as they are."""


class Maps:
    """The tensor maps of one launch, where its kernel's parameters are read from."""

    def __init__(self, maps: Iterable[Map]) -> None:
        self.maps = tuple(maps)
        self.memory = np.zeros(NBYTES * len(self.maps) + PLACE, np.uint8)
        base: int = self.memory.__array_interface__["data"][0]
        first = -(-base // PLACE) * PLACE
        self.addresses = [first + NBYTES * number for number in range(len(self.maps))]
        self.tensors: list[int | None] = [None] * len(self.maps)

    def point(self, number: int, tensor: int) -> None:
        """Let a map be of the tensor at an address: made the first time, then only moved."""
        if tensor == self.tensors[number]:
            return
        if tensor % ALIGNMENT or not tensor:
            raise BadArgument(
                f"a tensor map is of memory that starts at a multiple of {ALIGNMENT} bytes, not "
                f"at {tensor:#x}",
                help="pass a copy of the tensor",
            )
        if self.tensors[number] is not None:
            driver("cuTensorMapReplaceAddress", self.addresses[number], tensor)
        else:
            encode(self.maps[number], tensor, self.addresses[number])
        self.tensors[number] = tensor


def encode(map: Map, tensor: int, at: int) -> None:
    """Write the map of the tensor at an address; the driver counts axes from the last."""
    shape, strides = map.numbers
    common = (
        enum("CUtensorMapDataType", f"CU_TENSOR_MAP_DATA_TYPE_{TYPES[map.dtype]}"),
        len(shape),
        tensor,
        array(ctypes.c_uint64, shape),
        array(ctypes.c_uint64, strides),
    )
    swizzle = map.swizzle.upper()
    fill = "NONE" if map.fill == "zeros" else "NAN_REQUEST_ZERO_FMA"
    promotion = "NONE" if map.promotion == "none" else f"L2_{map.promotion}"
    form = (
        enum("CUtensorMapInterleave", "CU_TENSOR_MAP_INTERLEAVE_NONE"),
        enum("CUtensorMapSwizzle", f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        enum("CUtensorMapL2promotion", f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
        enum("CUtensorMapFloatOOBfill", f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
    )
    if isinstance(map.box, Tile):
        driver("cuTensorMapEncodeTiled", at, *common, *tile(map.box), *form)
    else:
        driver("cuTensorMapEncodeIm2col", at, *common, *columns(map.box), *form)


def tile(box: Tile) -> tuple[Any, ...]:
    """The driver's numbers of a tile: what the box spans, and its steps."""
    spans = [size * step for size, step in zip(box.sizes, box.steps, strict=True)]
    return array(ctypes.c_uint32, spans), array(ctypes.c_uint32, box.steps)


def columns(box: Im2col) -> tuple[Any, ...]:
    """The driver's numbers of rows of pixels."""
    corners = array(ctypes.c_int, box.lower), array(ctypes.c_int, box.upper)
    steps = array(ctypes.c_uint32, (1, *box.steps, 1))
    return *corners, box.channels, box.pixels, steps


def array(kind: Any, values: Iterable[int]) -> Any:
    """Numbers as the driver reads them, innermost axis first."""
    found = tuple(values)[::-1]
    return (kind * max(len(found), 1))(*found)


def enum(kind: str, name: str) -> int:
    """A number of the driver's interface."""
    return int(getattr(getattr(cu, kind), name))


NUMBER, POINTER = ctypes.c_uint32, ctypes.c_void_p
FORM = [ctypes.c_int] * 4
COMMON = [POINTER, ctypes.c_int, NUMBER, POINTER, POINTER, POINTER]
SIGNATURES: dict[str, list[Any]] = {
    "cuTensorMapEncodeTiled": [*COMMON, POINTER, POINTER, *FORM],
    "cuTensorMapEncodeIm2col": [*COMMON, POINTER, POINTER, NUMBER, NUMBER, POINTER, *FORM],
    "cuTensorMapReplaceAddress": [POINTER, POINTER],
}


@lru_cache
def function(name: str) -> Any:
    """A function of the driver; NoDevice if it is too old to have it."""
    address, _ = call("cuGetProcAddress", name.encode(), SINCE, 0)
    if not address:
        raise NoDevice(
            f"the CUDA driver has no {name}", help="install a driver for CUDA 12 or later"
        )
    return ctypes.CFUNCTYPE(ctypes.c_int, *SIGNATURES[name])(address)


def driver(name: str, *args: Any) -> None:
    """Call a function of the driver; CudaError if it fails."""
    status = cu.CUresult(function(name)(*args))
    if status != cu.CUresult.CUDA_SUCCESS:
        raise failure(name, status)
