"""Named ranges of NVTX, which Nsight Systems and Nsight Compute show above the kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from hidet.errors import BadArgument

Range: TypeAlias = Callable[[str], AbstractContextManager[object]]
"""Opens a range of this name for a block, such as `torch.profiler.record_function`."""
FILES = ("libnvtx3interop.so.1", "libnvToolsExt.so.1")
"""The library of NVTX 3 in NVIDIA's wheels, and that of CUDA toolkits before 12.9."""


@contextmanager
def nvtx_range(name: str) -> Iterator[None]:
    """A range of NVTX in this thread; BadArgument where its library is not installed."""
    nvtx = library()
    nvtx.nvtxRangePushA(name.encode())
    try:
        yield
    finally:
        nvtx.nvtxRangePop()


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """NVTX, of NVIDIA's wheels or of the system."""
    for name in candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise BadArgument(
        f"NVTX is not installed: there is neither {' nor '.join(FILES)}",
        help="pip install nvidia-nvtx, which PyTorch for CUDA brings too",
    )


def candidates() -> list[str]:
    """Where the library may be: in wheels first, then wherever the system looks for libraries."""
    spec = find_spec("nvidia")
    roots = [] if spec is None else [Path(each) for each in spec.submodule_search_locations or ()]
    return [*(str(path) for root in roots for path in root.glob(f"*/lib/{FILES[0]}")), *FILES]
