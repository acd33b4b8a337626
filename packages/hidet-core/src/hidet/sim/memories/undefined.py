"""Arrays for kernels to write: what a kernel reads of one before it has written it is an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.sim.values import Array
from hidet.types import DType, dtype


class Undefined(np.ndarray):
    """An array that knows which of its bytes were ever written by a kernel.

    Slices and copies of it are ordinary arrays.
    """

    written: Array | None = None

    def note(self, written: Array, granule: int) -> None:
        """Remember what a launch has written, one entry for each granule of bytes."""
        if self.written is not None:
            bytes_written: Array = np.repeat(written, granule)
            self.written = bytes_written[: self.nbytes]

    def granules(self, granule: int) -> Array:
        """Of each granule of bytes, whether all of it was written."""
        assert self.written is not None
        whole: Array = np.ones(-(-self.nbytes // granule) * granule, np.bool_)
        whole[: self.nbytes] = self.written
        return np.asarray(whole.reshape(-1, granule).all(axis=1))


def empty(shape: tuple[int, ...] | int, of: DType | str | type | np.dtype[Any]) -> Undefined:
    """An array whose content is undefined, to pass to `launch` as a kernel's output.

    Its bytes are all ones until they are written: NaN for floats.
    """
    kind = dtype(of).numpy
    found = np.empty(shape, kind).view(Undefined)
    found.reshape(-1).view(np.uint8)[...] = 0xFF
    found.written = np.zeros(found.nbytes, np.bool_)
    return found


def is_undefined(value: Any) -> bool:
    """Whether it is an array of undefined content, and not only a part of one."""
    return isinstance(value, Undefined) and value.written is not None
