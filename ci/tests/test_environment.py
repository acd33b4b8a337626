import sys

from ci.environment import needs, present, runs

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
PROJECTS = {
    "hidet-core": {"dependencies": ["numpy>=1.26"]},
    "hidet-torch": {"dependencies": ["hidet-core>=0.1,<0.2"]},
}


def test_dependencies_of_the_repository_come_first():
    assert needs("hidet-torch", PROJECTS) == ["hidet-core", "hidet-torch"]
    assert needs("hidet-core", PROJECTS) == ["hidet-core"]


def test_a_python_is_present_if_it_runs_as_what_it_is_called(tmp_path, monkeypatch):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not runs("python3.99")
    assert not runs("python3.98")
    assert present(("3.98", "3.99")) == [OWN]


def test_a_python_of_another_version_does_not_count(tmp_path, monkeypatch):
    (tmp_path / "python3.99").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not runs("python3.99")
