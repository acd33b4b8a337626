"""The compile cache on disk: binaries by the hash of everything that affects them.

An entry is one file: a line of JSON (hash and length of what follows, notes for people), then the
binary. Files appear whole or not at all, are checked when read, and only their owner can touch the
folder. What is wrong with the cache never stops a compilation; it is said once.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_dir

from hidet import options
from hidet.__about__ import __version__
from hidet.errors.warning import warn
from hidet.runtime.plans.files import write_whole

SWEEP_EVERY = 64
"""How many entries are written between looks at the size of the cache."""


PASSING = (".lock", ".part")
"""Files that are no entries: locks, and what is being written."""

_written = itertools.count()
_said: set[tuple[str, str]] = set()


ELSEWHERE = "HIDET_CACHE_DIR=FOLDER names another one, `hidet cache clear` makes room"
"""What to do about a cache that cannot be used."""


class CacheWarning(UserWarning):
    """The cache could not be used; the result was computed all the same."""


def key_of(**parts: object) -> str:
    """The key of an entry: a hash of everything that affects its content, our version included."""
    text = json.dumps({"hidet": compiler_identity(), **parts}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def compiler_identity() -> str:
    """Our version, and a digest of our own sources: who works on hidet never sees stale code."""
    return f"{__version__} {digest_of_sources(str(Path(options.__file__).parent))}"


def digest_of_sources(folder: str) -> str:
    """A digest that changes when a source below a folder does."""
    text = "\n".join(sorted(each.removeprefix(folder) for each in sources(folder)))
    return hashlib.sha256(text.encode()).hexdigest()


def sources(folder: str) -> Iterator[str]:
    """The sources below a folder: name, size and time of each; pathlib takes ten times as long."""
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                yield from sources(each.path)
            elif each.name.endswith(".py"):
                state = each.stat()
                yield f"{each.path} {state.st_size} {state.st_mtime_ns}"


class Cache:
    """A folder of entries, shared by processes."""

    def __init__(self, root: Path | None = None) -> None:
        given = options.cache_dir.get()
        self.root = root or Path(given or user_cache_dir("hidet")) / "kernels"
        self.folder_is_ready = False

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.root / key[:2] / key

    def made(self, key: str, make: Callable[[], bytes], note: str = "") -> bytes:
        """The content of an entry, made now if it is not there; of two processes, one makes it."""
        found = self.get(key, note)
        if found is not None:
            return found
        with self.lock(key):
            found = self.get(key, note)  # another process may have been faster
            if found is None:
                found = make()
                self.put(key, found, note)
        return found

    def get(self, key: str, note: str = "") -> bytes | None:
        """The content of an entry; None if there is none, or a damaged one, which is removed.

        A warning of a damaged one says what it is: its `note`.
        """
        path = self.path(key)
        try:
            self.trust()
            whole = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.complain(f"it is not used: {error.strerror or error}; {ELSEWHERE}")
            return None
        head, _, body = whole.partition(b"\n")
        if not intact(head, body):
            what = f"what was compiled of {note}" if note else "an entry"
            self.complain(f"{what} was damaged; it is compiled again")
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return body

    def put(self, key: str, body: bytes, note: str = "") -> None:
        """Keep the content of an entry; one that cannot be kept is only complained about."""
        head = {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body), "note": note}
        path = self.path(key)
        try:
            self.prepare(path.parent)
            write_whole(path, json.dumps(head).encode() + b"\n" + body)
        except OSError as error:
            self.complain(f"it is not used: {error.strerror or error}; {ELSEWHERE}")
            return
        if next(_written) % SWEEP_EVERY == 0:
            self.sweep()

    def prepare(self, folder: Path) -> None:
        """Make a folder that only its owner can use."""
        if not self.folder_is_ready:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=0o700, exist_ok=True)
            self.folder_is_ready = True
        self.trust()
        folder.mkdir(mode=0o700, exist_ok=True)

    def trust(self) -> None:
        """Refuse a folder that others own or may write: what is in it is run."""
        state = self.root.stat()
        if state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"others may write to {self.root}, so it is not trusted")

    def complain(self, message: str) -> None:
        """Say what is wrong with the cache, each thing (up to a colon) once in a process."""
        said = str(self.root), message.partition(": ")[0]
        if said not in _said:
            _said.add(said)
            warn(CacheWarning(f"compile cache {self.root}: {message}"))

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold an entry while it is compiled, so that two processes do not do the same work.

        A lock that cannot be had (a read-only folder, another process at work for ten minutes)
        costs only that protection.
        """
        path = self.path(key).with_suffix(".lock")
        lock = FileLock(path, timeout=600)
        try:
            self.prepare(path.parent)
            lock.acquire()
        except (OSError, Timeout) as error:
            self.complain(f"it is not used: {error.strerror or error}; {ELSEWHERE}")
            yield
            return
        try:
            yield
        finally:
            lock.release()  # the file stays: who waits for it must see the same one

    def files(self) -> list[tuple[float, int, Path]]:
        """All files as (time of last use, bytes, file), the longest unused first."""
        found = []
        for path in self.root.glob("??/*"):
            with suppress(OSError):
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        return sorted(found)

    def entries(self) -> list[tuple[float, int, Path]]:
        """Those of the files that are entries, neither locks nor leftovers of killed processes."""
        return [each for each in self.files() if each[2].suffix not in PASSING]

    def sweep(self) -> None:
        """Remove what was not used for longest until the cache is as small as it should be."""
        files = self.files()
        total = sum(size for _, size, _ in files)
        limit = options.cache_bytes.get()
        stale = time.time() - 3600
        for used, size, path in files:
            passing = path.suffix in PASSING
            if (total <= limit and not passing) or (passing and used > stale):
                continue
            with suppress(OSError):
                path.unlink()
                total -= size

    def clear(self) -> int:
        """Remove every entry; returns how many bytes that freed."""
        freed = 0
        for _, size, path in self.entries():
            path.unlink(missing_ok=True)
            freed += size
        return freed


def intact(head: bytes, body: bytes) -> bool:
    """Whether an entry's content is what was written."""
    try:
        facts = json.loads(head)
        return bool(
            facts["bytes"] == len(body) and facts["sha256"] == hashlib.sha256(body).hexdigest()
        )
    except (ValueError, KeyError, TypeError):
        return False
