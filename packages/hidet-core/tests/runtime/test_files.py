import os

import pytest

from hidet.runtime.plans.files import AS_USUAL, write_whole


@pytest.fixture(params=[0o022, 0o077, 0o000])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_file_is_its_owners_unless_it_is_for_others_too(tmp_path, umask):
    write_whole(tmp_path / "kept", b"bytes")
    write_whole(tmp_path / "given", b"bytes", AS_USUAL)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "given").stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    write_whole(tmp_path / "file", b"old")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"
