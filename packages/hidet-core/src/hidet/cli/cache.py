"""`hidet cache`: where compiled kernels are kept, and how much room they take."""

from __future__ import annotations

from hidet import options
from hidet.build.caching.cache import Cache
from hidet.errors import BadArgument


def status() -> int:
    """Print the folder, and how many entries of how many bytes it holds."""
    cache = Cache()
    entries = cache.entries()
    total = sum(size for _, size, _ in entries)
    print(f"folder   {cache.root}")
    print(f"entries  {len(entries)}")
    print(f"size     {spelled(total)} of at most {spelled(options.cache_bytes.get())}")
    try:
        cache.trust()
    except FileNotFoundError:
        pass  # nothing has been kept yet
    except OSError as error:
        print(f"not used: {error}")
        return 1
    return 0


def clear() -> int:
    """Remove every entry."""
    cache = Cache()
    try:
        freed = cache.clear()
    except OSError as error:
        raise BadArgument(f"the cache cannot be cleared: {error}") from error
    print(f"{spelled(freed)} freed in {cache.root}")
    return 0


def spelled(nbytes: int) -> str:
    """A number of bytes for people."""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
