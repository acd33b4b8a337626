"""Kernels of the catalogue launched on the GPU, as compute-sanitizer watches: by `ci.sanitize`.

    python -m ci.sanitized NAME... [--right]

Each argument has an allocation of its own, of exactly its size: what lies beyond is nobody's.
Results that begin undefined are left so. With `--right` the values are compared, too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from catalogue import CASES, Case

from hidet.build.module import build_module
from hidet.errors import HidetError
from hidet.runtime.devices.device import make_current
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.view import View
from hidet.types import dtype

DEVICE = "cuda:0"
TARGET = "sm_90a"


def main(arguments: Sequence[str]) -> int:
    """Launch the kernels; 1 if a corrected twin gave wrong values."""
    right = "--right" in arguments
    names = {name for name in arguments if not name.startswith("--")}
    wrong = [case.name for case in CASES if case.name in names and not run(case, right)]
    for name in wrong:
        print(f"{name}: wrong values")
    return int(bool(wrong))


def run(case: Case, right: bool) -> bool:
    """Launch one kernel; whether the corrected twin's values are as they should be."""
    arrays = case.arrays()
    make_current(DEVICE)
    views = [allocated(array) for array in arrays]
    for array, view in zip(arrays, views, strict=True):
        if array is not arrays[-1] or case.start is not None:
            call("cuMemcpyHtoD", view.pointer, address(array), array.nbytes)
    try:
        build_module(case.module(right), TARGET)(*views)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH", address(arrays[-1]), views[-1].pointer, arrays[-1].nbytes)
    except HidetError as error:  # refused by the compiler or the driver, or stopped by the device
        print(f"{case.name}: {error}")
        return not right
    if not right:
        return True
    try:
        case.check(arrays[-1])
    except AssertionError:
        return False
    return True


def allocated(array: np.ndarray[Any, Any]) -> View:
    """Memory on the device for an array."""
    pointer = int(call("cuMemAlloc", array.nbytes))
    return View(pointer, array.shape, dtype(array.dtype).name, DEVICE, None)


def address(array: np.ndarray[Any, Any]) -> int:
    """Where an array's values lie."""
    return int(array.__array_interface__["data"][0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
