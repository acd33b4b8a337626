"""A few lines of C++ where Python would take too long at each call: compiled once, and kept."""

from __future__ import annotations

import ctypes

from hidet.build.caching.cache import Cache, key_of
from hidet.errors import CompilerError, MissingCompiler
from hidet.runtime.devices.launchable import HostModule
from hidet.toolchain import compile_cpp, cpp_version


def native(source: str, title: str) -> ctypes.CDLL | None:
    """The library of a source whose functions have C linkage; None where nothing compiles it.

    `title` names its entry in the cache.
    """
    try:
        key = key_of(source=source, compiler=cpp_version())
        binary = Cache().made(key, lambda: compile_cpp(source), title)
    except (CompilerError, MissingCompiler):
        return None
    return HostModule(binary, title).library
