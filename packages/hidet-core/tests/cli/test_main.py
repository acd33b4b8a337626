"""The command `hidet`."""

import pytest

from hidet.build.caching.cache import Cache
from hidet.cli.cache import spelled
from hidet.cli.main import main
from hidet.errors import FrontendMissing
from hidet.frontend import Frontend


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))


def test_doctor_says_what_works(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for name in ("C++ compiler", "NVRTC", "GPU", "frontends", "cache", "options"):
        assert name in out
    assert "HIDET_CACHE_DIR" in out


def test_doctor_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent")
    main(["doctor"])
    out = capsys.readouterr().out
    assert "--  C++ compiler  there is no C++ compiler '/nonexistent'" in out
    assert "help: install one" in out


def test_doctor_tells_a_busy_machine_and_threads(capsys, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    main(["doctor"])
    out = capsys.readouterr().out
    assert "--  load          the machine is busy: 99.0 processes run on 2 cores" in out
    assert "OMP_NUM_THREADS=1" in out
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    main(["doctor"])
    assert "ok  load " in capsys.readouterr().out


def test_doctor_does_not_call_a_frontend_ok_whose_framework_is_absent(capsys, monkeypatch):
    def absent(manifest):
        raise FrontendMissing(f"{manifest.framework} is not installed", help="pip install jax")

    found = {"jax": Frontend("jax", 2, "hidet_jax", "jax", requires="jax>=0.4")}
    monkeypatch.setattr("hidet.cli.doctor.installed", lambda: found)
    monkeypatch.setattr("hidet.cli.doctor.require_framework", absent)
    main(["doctor"])
    out = capsys.readouterr().out
    assert "--  frameworks    jax is not installed\n                  help: pip install jax" in out
    assert "jax (" not in out


def test_doctor_does_not_call_an_unfinished_frontend_ok(capsys, monkeypatch):
    announced = Frontend("jax", 2, "hidet_jax", "jax", usable=False)
    monkeypatch.setattr("hidet.cli.doctor.installed", lambda: {"jax": announced})
    main(["doctor"])
    out = capsys.readouterr().out
    assert "--  unfinished    frontend jax cannot compile models yet" in out
    assert "ok  unfinished" not in out


def test_doctor_finds_what_is_no_option_but_looks_like_one(capsys, monkeypatch):
    monkeypatch.setenv("HIDET_COMMIT", "abc")  # somebody else's
    monkeypatch.setenv("HIDET_SERCH_SPACE", "1")
    main(["doctor"])
    out = capsys.readouterr().out
    assert "--  options       HIDET_SERCH_SPACE is no option" in out
    assert "did you mean HIDET_SEARCH_SPACE?" in out
    assert "COMMIT" not in out


def test_the_cache_is_shown_and_cleared(capsys):
    assert main(["cache", "status"]) == 0
    assert "entries  0" in capsys.readouterr().out
    Cache().put("ab12", bytes(5000))
    main(["cache", "status"])
    out = capsys.readouterr().out
    assert "entries  1" in out
    assert "5.0 KiB of at most 4.0 GiB" in out
    assert main(["cache", "clear"]) == 0
    assert "freed" in capsys.readouterr().out
    assert Cache().get("ab12") is None


def test_a_cache_of_others_is_said(capsys):
    Cache().put("ab12", b"x")
    Cache().root.chmod(0o777)
    assert main(["cache", "status"]) == 1
    assert "not used: others may write" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_folder_is_told(command, capsys, tmp_path):
    assert main([command, str(tmp_path)]) == 1
    assert f"{tmp_path} is a folder" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_told(capsys):
    assert main(["run", "nothing.hidet"]) == 1
    assert "nothing.hidet: No such file" in capsys.readouterr().err


def test_bytes_are_spelled():
    assert [spelled(n) for n in (0, 1023, 1024, 3 << 20, 5 << 30)] == [
        "0 B", "1023 B", "1.0 KiB", "3.0 MiB", "5.0 GiB",
    ]  # fmt: skip
