"""Inputs with gaps between their elements, copied without: kernels read rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.runtime.rows import in_rows


def packed(value: Any, threads: Callable[[], int]) -> Any | None:
    """A copy without gaps on the same device, by our own threads or by the value's library; None
    if there is no way to make one."""
    if isinstance(value, np.ndarray):
        return in_rows(value, threads)
    contiguous = getattr(value, "contiguous", None)
    if callable(contiguous):
        return contiguous()
    if getattr(value, "__dlpack_device__", lambda: (0, 0))()[0] == CPU:
        return in_rows(np.from_dlpack(value), threads)
    return None


CPU = 1
"""The host in DLPack's words."""
