import errno
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import pytest

from hidet.build.caching import cache as cache_module
from hidet.build.caching.cache import Cache, CacheWarning, key_of
from hidet.options import options

KEY = key_of(source="int x;")


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels")


def test_what_was_put_is_found(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, b"binary\nwith lines", note="a kernel")
    assert cache.get(KEY) == b"binary\nwith lines"
    assert Cache(cache.root).get(KEY) == b"binary\nwith lines"


def test_an_empty_binary_is_one(cache):
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""


def test_keys_differ_where_anything_does():
    keys = {key_of(source="a"), key_of(source="b"), key_of(source="a", arch="sm_90a")}
    assert len(keys) == 3
    assert key_of(a=1, b=2) == key_of(b=2, a=1)


def test_sources_are_known_by_name_size_and_time(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "note.txt").write_text("no source")
    source = tmp_path / "part" / "code.py"
    source.write_text("one = 1\n")
    (first,) = cache_module.sources(str(tmp_path))
    assert first.startswith(f"{source} 8 ")
    os.utime(source, ns=(0, 1))
    assert list(cache_module.sources(str(tmp_path))) == [f"{source} 8 1"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole + b"x",
        lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
        lambda whole: b"",
        lambda whole: b"\n" + whole,
        lambda whole: b"[]" + whole[whole.index(b"\n") :],
        lambda whole: bytes([whole[0] ^ 128]) + whole[1:],
    ],
)
def test_a_damaged_entry_is_said_removed_and_written_again(cache, damage):
    cache.put(KEY, b"binary")
    path = cache.path(KEY)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(CacheWarning, match="was damaged"):
        assert cache.get(KEY) is None
    assert not path.exists()
    cache.put(KEY, b"binary")
    assert cache.get(KEY) == b"binary"


def test_a_warning_says_what_was_damaged_not_under_which_digest(cache):
    cache.made(KEY, lambda: b"binary", "graph net, model.py:12")
    cache.path(KEY).write_bytes(b"")
    with pytest.warns(CacheWarning, match=r"of graph net, model\.py:12 was damaged") as seen:
        cache.made(KEY, lambda: b"binary", "graph net, model.py:12")
    assert KEY not in str(seen[0].message)
    assert seen[0].filename == __file__


def test_any_changed_byte_is_noticed(cache):
    cache.put(KEY, b"binary", note="n")
    path = cache.path(KEY)
    whole = path.read_bytes()
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1
        path.write_bytes(bytes(changed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            assert cache.get(KEY) in (None, b"binary")


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_only_the_owner_can_use_the_folder_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        cache = Cache(tmp_path / "new" / "kernels")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cache.put(KEY, b"binary")
            assert cache.get(KEY) == b"binary"
    finally:
        os.umask(before)
    for folder in (cache.root, cache.path(KEY).parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert cache.path(KEY).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_cache_still_serves(cache):
    cache.put(KEY, b"binary")
    cache.path(KEY).parent.chmod(0o500)
    try:
        assert cache.get(KEY) == b"binary"
        with pytest.warns(CacheWarning, match="not used"):
            cache.put(KEY, b"other")
    finally:
        cache.path(KEY).parent.chmod(0o700)


def test_a_lock_lets_one_work_at_a_time(cache):
    at_once, most = 0, 0

    def work():
        nonlocal at_once, most
        with cache.lock(KEY):
            at_once += 1
            most = max(most, at_once)
            time.sleep(0.02)
            at_once -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_an_error_under_the_lock_is_the_callers(cache):
    with pytest.raises(OSError, match="mine"), cache.lock(KEY):
        raise OSError("mine")
    with cache.lock(KEY):
        pass


def test_the_longest_unused_entries_go_first(cache):
    for i in range(6):
        cache.put(key_of(i=i), bytes(1000))
        os.utime(cache.path(key_of(i=i)), (i, i))
    cache.get(key_of(i=0))
    with options(cache_bytes=3500):
        cache.sweep()
    kept = [i for i in range(6) if cache.path(key_of(i=i)).exists()]
    assert kept == [0, 4, 5]


def test_leftovers_of_the_killed_are_swept_after_an_hour(cache):
    cache.put(KEY, b"binary")
    folder = cache.path(KEY).parent
    old, new = folder / "old.part", folder / "new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))
    cache.sweep()
    assert not old.exists()
    assert new.exists()
    assert cache.get(KEY) == b"binary"


def test_clearing_removes_everything(cache):
    for i in range(3):
        cache.put(key_of(i=i), bytes(100))
    assert cache.clear() > 300
    assert cache.entries() == []


WRITER = """
import sys
from pathlib import Path
from hidet.build.caching.cache import Cache, key_of
cache = Cache(Path(sys.argv[1]))
for iteration in range(60):
    key = key_of(i=iteration % 5)
    cache.put(key, bytes([iteration % 5]) * 20000)
    for i in range(5):
        found = cache.get(key_of(i=i))
        assert found in (None, bytes([i]) * 20000), "another process saw half an entry"
"""


def test_processes_share_a_cache_and_see_whole_entries(cache):
    command = [sys.executable, "-W", "error", "-c", WRITER, str(cache.root)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        _, told = process.communicate()
        assert process.returncode == 0, told.decode()
    assert [path for path in cache.root.glob("??/*") if path.suffix] == []


INTERRUPTED = """
import sys, time
from pathlib import Path
from hidet.build.caching.cache import Cache
cache = Cache(Path(sys.argv[1]))
with cache.lock(sys.argv[2]):
    Path(sys.argv[3]).touch()
    time.sleep(300)
"""


def test_an_interrupt_lets_go_of_the_lock_and_leaves_nothing(cache, tmp_path, eventually):
    held = tmp_path / "held"
    command = [sys.executable, "-c", INTERRUPTED, str(cache.root), KEY, str(held)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    eventually(held.exists)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    with silence(), cache.lock(KEY):
        pass
    assert cache.entries() == []


@contextmanager
def silence():
    """Warnings of this block are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


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
    assert len(seen) == 1  # it can neither be read nor be made


def test_a_good_cache_says_nothing(cache):
    with silence():
        for _ in range(2):
            assert cache.made("ab12", lambda: b"x") == b"x"
