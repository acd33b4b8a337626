"""What a record counts for."""

import json

from hidet.build.measured.tuning_facts import (
    Subject,
    device_name,
    facts_of,
    network_facts,
    subject_of,
)
from hidet.build.planning.kernels import Shape
from hidet.fusion.group import Group
from hidet.graph import randn, symbol, trace_from
from hidet.ops.products.matmul import Matmul
from hidet.options import options
from hidet.target import Target
from hidet.types import f32

CPU = Target.parse("cpu")


def subject(rows, constants=()):
    types = f32[rows, 64], f32[64, 64]
    return Subject(Shape(0, ((Matmul(*types), (0, 1)),), types), constants)


def test_facts_are_data_and_differ_by_what_matters():
    facts = facts_of(subject(1000), CPU)
    assert json.loads(json.dumps(facts)) == facts
    assert facts == facts_of(subject(1016), CPU)
    assert facts != facts_of(subject(1001), CPU)
    assert facts != facts_of(subject(1000), Target.parse("cpu+avx2"))
    assert facts != facts_of(subject(1000, (1,)), CPU)
    with options(tf32=True):
        assert facts != facts_of(subject(1000), CPU)


def test_facts_of_whole_calls_differ_by_their_groups_and_how_many_are_alike():
    facts = network_facts({subject(1000): 2, subject(64): 1}, CPU)
    assert json.loads(json.dumps(facts)) == facts
    assert facts == network_facts({subject(1016): 2, subject(64): 1}, CPU)
    others = [
        network_facts({subject(1000): 1, subject(64): 1}, CPU),
        network_facts({subject(64): 1, subject(1000): 2}, CPU),
        network_facts({subject(1000, (1,)): 2, subject(64): 1}, CPU),
        network_facts({subject(1000): 2, subject(64): 1}, Target.parse("cpu+avx2")),
    ]
    assert all(each != facts for each in others)


def test_weights_and_what_comes_of_them_are_constants():
    x, w, made = symbol([8, 8]), randn([8, 8]), symbol([8])
    graph = trace_from(x @ w + made, inputs=[x, made])
    group = Group(graph.nodes, graph.nodes[0])
    at = {tensor: number for number, tensor in enumerate(group.inputs)}
    assert subject_of(group).constants == (at[w],)
    assert set(subject_of(group, {made}).constants) == {at[w], at[made]}


def test_naming_the_target_by_option_changes_nothing():
    with options(target="cpu"):
        named = facts_of(subject(64), CPU)
    assert named == facts_of(subject(64), CPU)


def test_a_cpu_is_named_with_its_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert device_name("cpu").endswith(", 3 threads")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert device_name("cpu").endswith(" threads")
