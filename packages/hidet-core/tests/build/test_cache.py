"""The compile cache: what is kept, what is refused, and what goes when it grows too large."""

import errno
import os
import time
import warnings
from contextlib import contextmanager

import pytest

from hidet import options
from hidet.build import cache as cache_module
from hidet.build.cache import Cache, CacheWarning, key_of


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels")


@contextmanager
def silence():
    """Warnings of this block are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_what_was_put_is_there(cache):
    cache.put("ab12", b"binary\nwith lines\0")
    assert cache.get("ab12") == b"binary\nwith lines\0"
    assert cache.get("ab13") is None


def test_keys_tell_everything_apart_and_orders_not():
    assert key_of(a=1, b="x") == key_of(b="x", a=1)
    assert len({key_of(a=1), key_of(a="1"), key_of(a=2), key_of(b=1)}) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        lambda content: b"[]" + content,
        lambda content: content + b"more",
    ],
    ids=["shorter", "head only", "empty", "one bit", "another head", "longer"],
)
def test_a_damaged_entry_is_made_again_with_one_warning(cache, damage):
    made = []
    make = lambda: made.append(1) or b"binary"
    assert cache.made("ab12", make) == b"binary"
    path = cache.path("ab12")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(CacheWarning, match="damaged") as seen:
        assert cache.made("ab12", make) == b"binary"
    assert len(seen) == 1
    assert cache.made("ab12", make) == b"binary"
    assert len(made) == 2


def test_files_are_of_their_owner_only_whatever_the_umask(tmp_path):
    before = os.umask(0o002)
    try:
        cache = Cache(tmp_path / "new" / "kernels")
        cache.put("ab12", b"x")
    finally:
        os.umask(before)
    assert cache.get("ab12") == b"x"
    assert cache.root.stat().st_mode & 0o777 == 0o700
    assert cache.path("ab12").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_not_used(cache, mode):
    cache.put("ab12", b"binary")
    cache.root.chmod(mode)
    with pytest.warns(CacheWarning, match="others may write to .* not trusted"):
        assert cache.get("ab12") is None
    with silence():  # it has been said
        assert cache.made("ab12", lambda: b"own") == b"own"
    cache.root.chmod(0o700)
    assert cache.get("ab12") == b"binary"


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_costs_only_time(cache, kind, monkeypatch):
    def fail(path, content):
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(cache_module, "write_whole", fail)
    with pytest.warns(CacheWarning, match=os.strerror(kind)):
        assert cache.made("ab12", lambda: b"one") == b"one"
    with silence():  # it has been said
        assert cache.made("ab13", lambda: b"two") == b"two"
    assert cache.get("ab12") is None


def test_a_disk_that_fills_up_while_writing_leaves_nothing(cache, monkeypatch):
    def fail(handle, mode):
        os.close(handle)
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.prepare(cache.root / "ab")
    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.warns(CacheWarning, match="No space left"):
        cache.put("ab12", b"x" * 100)
    assert [path for path in cache.root.rglob("*") if path.is_file()] == []


def test_no_folder_at_all(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "kernels")
    with pytest.warns(CacheWarning, match="not used") as seen:
        assert cache.made("ab12", lambda: b"x") == b"x"
    assert len(seen) <= 2  # it can neither be read nor be made


def test_the_longest_unused_goes_first(cache):
    now = time.time()
    for number, key in enumerate(("aa1", "bb2", "cc3", "dd4")):
        cache.put(key, bytes(1000))
        os.utime(cache.path(key), (now - 100 + number, now - 100 + number))
    assert cache.get("aa1") is not None  # used now: the last to go
    with options.options(cache_bytes=2500):
        cache.sweep()
    assert [key for key in ("aa1", "bb2", "cc3", "dd4") if cache.get(key)] == ["aa1", "dd4"]


def test_leftovers_of_killed_processes_are_swept_others_are_not(cache):
    cache.put("aa1", b"x")
    old, young = cache.root / "aa" / "tmp1.part", cache.root / "aa" / "tmp2.part"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    cache.sweep()
    assert not old.exists()
    assert young.exists()
    assert cache.get("aa1") == b"x"


def test_clearing_frees_everything(cache):
    cache.put("aa1", bytes(1000))
    assert cache.clear() > 1000
    assert cache.entries() == []
    assert cache.get("aa1") is None


def test_a_good_cache_says_nothing(cache):
    with silence():
        for _ in range(2):
            assert cache.made("ab12", lambda: b"x") == b"x"
