"""What a record counts for."""

import json

from hidet.build.kernels import Shape
from hidet.build.tuning_facts import device_name, facts_of
from hidet.ops.matmul import Matmul
from hidet.options import options
from hidet.target import Target
from hidet.types import f32

CPU = Target.parse("cpu")


def shape(rows):
    types = f32[rows, 64], f32[64, 64]
    return Shape(0, ((Matmul(*types), (0, 1)),), types)


def test_facts_are_data_and_differ_by_what_matters():
    facts = facts_of(shape(1000), CPU)
    assert json.loads(json.dumps(facts)) == facts
    assert facts == facts_of(shape(1016), CPU)
    assert facts != facts_of(shape(1001), CPU)
    assert facts != facts_of(shape(1000), Target.parse("cpu+avx2"))
    with options(tf32=True):
        assert facts != facts_of(shape(1000), CPU)


def test_naming_the_target_by_option_changes_nothing():
    with options(target="cpu"):
        named = facts_of(shape(64), CPU)
    assert named == facts_of(shape(64), CPU)


def test_a_cpu_is_named_with_its_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert device_name("cpu").endswith(", 3 threads")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert device_name("cpu").endswith(" threads")
