"""Binaries made ready to run: shared objects and cubins, and the functions in them."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from hidet.errors import BadArchive, CudaError
from hidet.runtime.devices.device import attribute, on
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.team import TEAM, join, offer

_lock = Lock()


class HostModule:
    """A shared object, loaded from a private file that is gone again at once."""

    def __init__(self, binary: bytes, name: str = "unit") -> None:
        handle, path = tempfile.mkstemp(prefix=f"hidet-{name}-", suffix=".so")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(binary)
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise BadArchive(
                f"binary {name} cannot be loaded: {error}",
                help="compile the model again, with this version and for this machine",
            ) from error
        finally:
            Path(path).unlink(missing_ok=True)
        self.has_loops = join(self.library)
        """Whether there are loops in it that the team of threads runs."""

    def function(self, name: str) -> Any:
        """A function that takes pointers and numbers and returns nothing."""
        try:
            found = self.library[name]
        except AttributeError:
            raise BadArchive(f"the binary has no function {name!r}") from None
        found.restype = None
        return found


def host_modules(binaries: Mapping[str, bytes]) -> dict[str, HostModule]:
    """The binaries of kernels, loaded; the team of threads, if one is among them, before all."""
    if TEAM in binaries:
        offer(lambda: HostModule(binaries[TEAM], TEAM).library)
    return {name: HostModule(each, name) for name, each in binaries.items() if name != TEAM}


class CudaModule:
    """A cubin on one device; it stays loaded, since work that uses it may still be under way."""

    def __init__(self, binary: bytes, device: str, name: str = "unit") -> None:
        self.device = device
        self.name = name
        with on(device):
            self.module = call("cuModuleLoadData", binary)

    def function(self, name: str, shared_bytes: int = 0) -> Any:
        """A kernel that may use `shared_bytes` of dynamic shared memory."""
        with on(self.device):
            try:
                found = call("cuModuleGetFunction", self.module, name.encode())
            except CudaError as error:
                raise BadArchive(f"binary {self.name} has no kernel {name!r}") from error
            if shared_bytes:
                with _lock:
                    self.allow(found, name, shared_bytes)
            return found

    def allow(self, function: Any, name: str, shared_bytes: int) -> None:
        """Raise the kernel's limit of dynamic shared memory, never lower it.

        The limit that every kernel has without asking counts its static shared memory too.
        """
        facts = cu.CUfunction_attribute
        dynamic = facts.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if shared_bytes <= call("cuFuncGetAttribute", dynamic, function):
            return
        fixed = call("cuFuncGetAttribute", facts.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function)
        limit = attribute(self.device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if fixed + shared_bytes > limit:
            raise BadArchive(
                f"{name} needs {fixed + shared_bytes} bytes of shared memory; a block has {limit}"
            )
        call("cuFuncSetAttribute", function, dynamic, shared_bytes)
