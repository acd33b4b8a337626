"""Binaries made ready to run: shared objects and cubins, and the functions in them."""

from __future__ import annotations

import ctypes
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from hidet.errors import BadArchive
from hidet.runtime.device import attribute, make_current
from hidet.runtime.driver import call, cu

_lock = Lock()
STATIC_SHARED = 48 * 1024


class HostModule:
    """A shared object, loaded from a private file that is gone again at once."""

    def __init__(self, binary: bytes, name: str = "unit") -> None:
        handle, path = tempfile.mkstemp(prefix=f"hidet-{name}-", suffix=".so")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(binary)
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise BadArchive(f"binary {name} cannot be loaded: {error}") from error
        finally:
            Path(path).unlink(missing_ok=True)

    def function(self, name: str) -> Any:
        """A function that takes pointers and numbers and returns nothing."""
        try:
            found = self.library[name]
        except AttributeError:
            raise BadArchive(f"the binary has no function {name!r}") from None
        found.restype = None
        return found


class CudaModule:
    """A cubin on one device."""

    def __init__(self, binary: bytes, device: str, name: str = "unit") -> None:
        make_current(device)
        self.device = device
        self.name = name
        self.module = call("cuModuleLoadData", binary)

    @lru_cache(maxsize=None)  # noqa: B019  (modules live as long as their archive)
    def function(self, name: str, shared_bytes: int = 0) -> Any:
        """A kernel that may use `shared_bytes` of dynamic shared memory."""
        make_current(self.device)
        found = call("cuModuleGetFunction", self.module, name.encode())
        if shared_bytes > STATIC_SHARED:
            limit = attribute(self.device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
            if shared_bytes > limit:
                raise BadArchive(f"{name} needs {shared_bytes} bytes of {limit} shared memory")
            kind = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", found, kind, shared_bytes)
        return found
