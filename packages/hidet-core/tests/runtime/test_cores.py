"""Cores that a process may use, as the system's files tell it."""

import os

import pytest

from hidet.runtime import cores as module
from hidet.runtime.cores import cores


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Files as the system has them: `system(path, text)`; there are 64 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(module, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(module, "OWN", tmp_path / "own")

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    return write


@pytest.mark.parametrize(
    ("given", "count"),
    [("1600000 100000", 16), ("150000 100000", 2), ("1000 100000", 1), ("max 100000", 64)],
)
def test_a_container_gets_its_quota(system, given, count):
    system("own", "0::/\n")
    system("cgroup/cpu.max", f"{given}\n")
    assert cores() == count


def test_the_least_of_all_groups_around_counts(system):
    system("own", "0::/a/b\n")
    system("cgroup/a/cpu.max", "400000 100000\n")
    system("cgroup/a/b/cpu.max", "max 100000\n")
    assert cores() == 4


def test_older_systems_have_other_files(system):
    system("own", "5:memory:/x\n4:cpu,cpuacct:/x\n")
    system("cgroup/cpu/x/cpu.cfs_quota_us", "300000\n")
    system("cgroup/cpu/x/cpu.cfs_period_us", "100000\n")
    assert cores() == 3
    system("cgroup/cpu/x/cpu.cfs_quota_us", "-1\n")
    assert cores() == 64


@pytest.mark.parametrize("text", [None, "", "nonsense\n", "0::/\n"])
def test_where_nothing_is_told_affinity_counts(system, text):
    if text is not None:
        system("own", text)
    assert cores() == 64


def test_what_makes_no_sense_is_not_believed(system):
    system("own", "0::/\n")
    system("cgroup/cpu.max", "many few\n")
    assert cores() == 64
