import os
from dataclasses import replace

import pytest

from hidet.build.target import target_of_device
from hidet.errors import BadArgument
from hidet.target import Target
from hidet.target.measured import H200, MMA_SYNC

NAMES = [
    *("sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"),
    *("sm_120a", "cpu", "cpu+avx2", "cpu+avx512", "cpu+avx512+vnni", "cpu+avx512+vnni+bf16+amx"),
]


@pytest.mark.parametrize("name", NAMES)
def test_text_round_trips(name):
    target = Target.parse(name)
    assert str(target) == name
    assert Target.parse(str(target)) == target
    assert hash(Target.parse(name)) == hash(target)
    assert target.peak_flops("float32") > 0
    assert target.memory_bandwidth > 0


def test_a_device_compiles_for_its_own_instructions():
    assert str(Target.for_capability(9, 0)) == "sm_90a"
    assert str(Target.for_capability(8, 6)) == "sm_86"
    assert str(Target.for_capability(10, 0)) == "sm_100a"


@pytest.mark.parametrize(
    ("name", "block", "sm", "threads"),
    [
        ("sm_80", 163, 164, 2048),
        ("sm_86", 99, 100, 1536),
        ("sm_89", 99, 100, 1536),
        ("sm_90", 227, 228, 2048),
        ("sm_100", 227, 228, 2048),
        ("sm_120", 99, 100, 1536),
    ],
)
def test_limits_of_the_programming_guide(name, block, sm, threads):
    target = Target.parse(name)
    assert target.max_shared_bytes_per_block == block * 1024
    assert target.shared_bytes_per_sm == sm * 1024
    assert (target.max_threads_per_sm, target.max_threads_per_block) == (threads, 1024)
    assert (target.registers_per_sm, target.max_registers_per_thread) == (65536, 255)


@pytest.mark.parametrize("cores", [1, 3, 64])
def test_a_cpu_is_the_same_however_many_cores_there_are(cores, monkeypatch):
    """Else kernels, and what they round, would differ from machine to machine."""
    here = target_of_device("cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setenv("OMP_NUM_THREADS", str(cores))
    assert target_of_device("cpu") == here
    assert target_of_device("cpu") == Target.parse(str(here))
    assert here.cores == 8


def test_features():
    hopper = Target.parse("sm_90a")
    assert all(hopper.has_feature(f) for f in ("wgmma", "tma", "cp_async", "bf16", "fp8"))
    assert not Target.parse("sm_90").has_feature("wgmma")
    assert not Target.parse("sm_86").has_feature("fp8")
    amx = Target.parse("cpu+avx512+amx")
    assert amx.has_feature("amx")
    assert amx.has_feature("avx2")
    assert not amx.has_feature("vnni")
    with pytest.raises(BadArgument, match="wgmma"):
        hopper.has_feature("warp_drive")


def test_peaks_by_type_and_unit():
    hopper = Target.parse("sm_90a")
    assert hopper.peak_flops("bfloat16", tensor_core=True) == pytest.approx(989.4e12)
    assert hopper.peak_flops("float8_e4m3", tensor_core=True) == pytest.approx(1978.9e12)
    with pytest.raises(BadArgument, match="matrix units for float32"):
        hopper.peak_flops("float32", tensor_core=True)


def test_resident_blocks_by_each_limit():
    hopper = Target.parse("sm_90a")
    assert hopper.resident_blocks(32) == 32
    assert hopper.resident_blocks(1024) == 2
    assert hopper.resident_blocks(128, shared_bytes=100 * 1024) == 2
    assert hopper.resident_blocks(256, registers=128) == 2
    assert hopper.resident_blocks(128, shared_bytes=228 * 1024) == 0
    assert hopper.resident_blocks(2048) == 0


@pytest.mark.parametrize(
    "text",
    ["", "sm_70", "sm_86a", "sm_90+avx2", "gpu", "cpu+mmx", "cpu+avx2+avx512", "cpu+vnni"],
)
def test_unknown_text_is_refused_and_the_known_are_named(text):
    with pytest.raises(BadArgument) as caught:
        Target.parse(text)
    assert "avx512" in str(caught.value)


def test_clusters_reach_the_cores_that_were_measured():
    hopper = Target.parse("sm_90a")
    assert [hopper.cores_in_clusters(each) for each in (1, 2, 3, 4, 8)] == [132, 132, 117, 120, 120]
    half = replace(hopper, cores=66)
    assert half.cores_in_clusters(8) == 60


def test_what_nobody_measured_counts_as_an_h200():
    assert Target.parse("sm_80").measured.name == Target.parse("sm_90").measured.name == "H200"


@pytest.mark.parametrize(
    ("name", "capability", "runs"),
    [
        ("sm_90a", (9, 0), True),
        ("sm_80", (8, 6), True),
        ("sm_86", (8, 0), False),
        ("sm_80", (9, 0), False),
        ("sm_100a", (10, 3), False),
        ("cpu", (8, 0), False),
    ],
)
def test_which_gpus_run_code(name, capability, runs):
    assert Target.parse(name).runs_on(capability) is runs


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_120"])
def test_mma_sync_reaches_most_of_a_rate_that_is_its_own(arch):
    # What is published of Hopper is the rate of wgmma, of which mma.sync reaches a half.
    measured = Target.parse(arch).measured
    assert measured.mma_efficiency == MMA_SYNC > H200.mma_efficiency
    assert measured.l2_bandwidth == H200.l2_bandwidth


def test_a_gpu_that_was_measured_has_its_own_figures():
    assert Target.parse("sm_90a").measured is Target.parse("sm_90").measured is H200
    assert Target.parse("sm_100").measured.mma_efficiency < H200.mma_efficiency
