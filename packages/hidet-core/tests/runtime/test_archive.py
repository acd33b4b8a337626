import hashlib
import io
import json
import os
import zipfile
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArchive
from hidet.runtime import Archive
from hidet.runtime.plans.archive import read

from .conftest import diamond, weighted

WEIGHTS = {
    "half": np.arange(6, dtype=np.float16).reshape(2, 3),
    "brain": np.arange(5).astype(ml_dtypes.bfloat16),
    "tiny": np.arange(4).astype(ml_dtypes.float8_e4m3fn),
    "e8m0": np.arange(1, 4).astype(ml_dtypes.float8_e8m0fnu),
    "four": np.arange(-4, 4).astype(ml_dtypes.int4),
    "scalar": np.array(7, np.int64),
    "nothing": np.zeros((0, 3), np.float32),
    "truth": np.array([True, False]),
}
SMALL = Archive({"main": diamond()}, {"unit": b"not really code"}, WEIGHTS, {"name": "small"})
BYTES = SMALL.to_bytes()


def same(a, b):
    return (
        a.plans == b.plans
        and a.binaries == b.binaries
        and a.meta == b.meta
        and a.weights.keys() == b.weights.keys()
        and all(
            w.dtype == b.weights[n].dtype
            and w.shape == b.weights[n].shape
            and w.tobytes() == b.weights[n].tobytes()
            for n, w in a.weights.items()
        )
    )


def test_an_archive_survives_the_file(tmp_path):
    SMALL.save(tmp_path / "model.hidet")
    assert same(Archive.load(tmp_path / "model.hidet"), SMALL)
    assert [each.name for each in tmp_path.iterdir()] == ["model.hidet"]


def test_two_plans_survive():
    archive = Archive(weighted(), {"unit": b"x"}, {"w": np.ones(4, np.float32)})
    assert same(read(archive.to_bytes(), "here"), archive)


def test_an_archive_has_the_oldest_format_that_says_it_all():
    plan = diamond()
    lies = replace(plan.buffers[0], shape=("n", 3), order=(1, 0))
    turned = replace(plan, buffers=(lies, *plan.buffers[1:]))
    found = read(Archive({"main": turned}, {"unit": b"x"}).to_bytes(), "here")
    assert (SMALL.orders, SMALL.format) == ({}, 3)
    assert (found.orders, found.format) == ({0: (1, 0)}, 7)


def test_equal_archives_are_equal_bytes():
    assert SMALL.to_bytes() == BYTES


@settings(max_examples=400)
@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed_or_without_effect(position, change):
    content = bytearray(BYTES)
    content[position] ^= change
    try:
        found = read(bytes(content), "model.hidet")
    except BadArchive:
        return
    assert same(found, SMALL)


@settings(max_examples=60)
@given(st.integers(0, len(BYTES) - 1))
def test_a_truncated_file_is_refused(length):
    with pytest.raises(BadArchive, match=r"model\.hidet"):
        read(BYTES[:length], "model.hidet")


def rewritten(change):
    """The archive with its manifest changed and all hashes made right again."""
    with zipfile.ZipFile(io.BytesIO(BYTES)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(members["manifest.json"].partition(b"\n")[2])
    change(manifest, members)
    text = json.dumps(manifest).encode()
    members["manifest.json"] = hashlib.sha256(text).hexdigest().encode() + b"\n" + text
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, body in members.items():
            file.writestr(name, body)
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, f: m.update(format=99), "has format 99; this hidet reads"),
        (lambda m, f: f.update({"binaries/unit": b"other"}), "binaries/unit is missing or was"),
        (lambda m, f: f.pop("binaries/unit"), "binaries/unit is missing or was"),
        (lambda m, f: f.pop("weights.safetensors"), "weights.safetensors is missing"),
        (lambda m, f: m["sha256"].pop("binaries/unit"), "lacks the binaries unit"),
        (lambda m, f: m["sha256"].pop("weights.safetensors"), "weights.safetensors is missing or"),
        (lambda m, f: m["plans"].pop("main"), "has no main plan"),
        (lambda m, f: m.update(meta=[1]), r"says of itself \[1\], which is no mapping"),
        (lambda m, f: m["plans"]["main"]["steps"][0].update(reads=[77]), "step 0 names a buffer"),
        (lambda m, f: m["weights"].update(more=["float32", [2]]), "damaged"),
        (lambda m, f: m["weights"].update(half=["float32", [9]]), "damaged"),
        (lambda m, f: m["weights"].update(half=7), "damaged"),
        (lambda m, f: m.update(plans=[1]), "damaged"),
        (lambda m, f: m.update(sha256=None), "damaged"),
    ],
)
def test_a_forged_manifest_is_refused_with_what_is_wrong(change, message):
    with pytest.raises(BadArchive, match=message):
        read(rewritten(change), "model.hidet")


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_would_grow_when_it_is_read_is_refused(how):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(BYTES)) as file, zipfile.ZipFile(out, "w", how) as grown:
        for name in file.namelist():
            grown.writestr(name, file.read(name))
        grown.writestr("more", bytes(1 << 24))
    assert len(out.getvalue()) < 1 << 17
    with pytest.raises(BadArchive, match="is compressed, which no archive of hidet is"):
        read(out.getvalue(), "model.hidet")


def test_other_files_are_no_archives(tmp_path):
    (tmp_path / "model.hidet").write_text("hello")
    with pytest.raises(BadArchive, match="is no archive of hidet"):
        Archive.load(tmp_path / "model.hidet")


def test_a_folder_is_no_archive(tmp_path):
    with pytest.raises(
        BadArchive, match="is a folder, and an archive of hidet is one file"
    ) as found:
        Archive.load(tmp_path)
    assert "hidet compile" in found.value.help


def test_others_may_read_what_was_saved(tmp_path):
    before = os.umask(0o022)
    try:
        SMALL.save(tmp_path / "model.hidet")
    finally:
        os.umask(before)
    assert (tmp_path / "model.hidet").stat().st_mode & 0o777 == 0o644


def test_a_failed_save_leaves_the_old_file(tmp_path):
    SMALL.save(tmp_path / "model.hidet")
    broken = replace(SMALL, meta={"unwritable": object()})
    with pytest.raises(TypeError):
        broken.save(tmp_path / "model.hidet")
    assert same(Archive.load(tmp_path / "model.hidet"), SMALL)
    assert len(list(tmp_path.iterdir())) == 1
