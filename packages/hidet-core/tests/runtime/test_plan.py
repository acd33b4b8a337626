import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArchive
from hidet.runtime.plans.plan import is_range
from hidet.runtime.plans.plan_reader import read_plan

from .conftest import diamond, hosted, joined, weighted

PLANS = [diamond(), hosted(), joined(), *weighted().values()]


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_survives_json(plan):
    assert read_plan(json.loads(json.dumps(plan.to_json()))) == plan


def places(data, at=()):
    """Every position in nested JSON."""
    yield at
    children = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in children:
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))
        else:
            yield (*at, key)


WHOLE = json.loads(json.dumps(diamond().to_json()))
PLACES = list(places(WHOLE))[1:]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 9),
    st.integers(2**40, 2**80),
    st.floats(),
    st.sampled_from(["n", "m", "Launch", "Host", "input", "float32", ""]),
    st.just([]),
    st.just({}),
    st.just(["+", "n", 1]),
)


@settings(max_examples=600)
@given(st.sampled_from(PLACES), VALUES)
def test_any_changed_field_is_refused_or_makes_a_plan_that_is_whole(place, value):
    data = copy.deepcopy(WHOLE)
    spot = data
    for key in place[:-1]:
        spot = spot[key]
    spot[place[-1]] = value
    try:
        plan = read_plan(data)
    except BadArchive:
        return
    assert json.loads(json.dumps(read_plan(plan.to_json()).to_json())) == json.loads(
        json.dumps(plan.to_json())
    )
    count = len(plan.buffers)
    for step in plan.steps:
        assert all(0 <= each < count for each in (*step.reads, *step.writes))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["steps"][0]["reads"].append(9), "step 0 names a buffer"),
        (lambda d: d["steps"][3].update(reads=[2]), r"neither reads nor writes"),
        (lambda d: d["steps"][1].update(block=[1, 1]), "step 1"),
        (lambda d: d["steps"][1].update(ahead=[9]), "step 1 names a buffer"),
        (lambda d: d["steps"][1].update(ahead=[4]), r"step 1 reads \(4,\) ahead"),
        (lambda d: d["steps"][1].update(block=[2000, 1, 1]), "step 1 launches blocks"),
        (lambda d: d["steps"][1].update(shared_bytes=-1), "step 1 launches blocks"),
        (lambda d: d["steps"][2]["args"][2].update(dtype="float32"), "step 2 takes a size as"),
        (lambda d: d["buffers"][1].update(role="stuff"), "buffer 1 has role 'stuff'"),
        (lambda d: d["buffers"][1].update(dtype="float33"), "buffer 1"),
        (lambda d: d["buffers"][1].update(shape=[-1]), "buffer 1 has a negative size"),
        (lambda d: d["buffers"][0].update(order=[0, 0]), r"buffer 0, an input of 1 axes, lies in"),
        (lambda d: d["buffers"][0].update(order=[1]), r"the order \(1,\)"),
        (lambda d: d["buffers"][0].update(order=[False]), "whole numbers belong"),
        (lambda d: d["buffers"][4].update(order=[0]), "buffer 4, an output of 1 axes"),
        (lambda d: d["symbols"].update(m=[0, 1]), "symbol 'm'"),
        (lambda d: d["symbols"].update(m=[3, 0]), "symbol 'm'"),
        (lambda d: d.update(outputs=[3]), "the outputs"),
        (lambda d: d.update(outputs=[4, 4]), "the outputs"),
        (lambda d: d.update(inputs=[]), "symbol 'n'"),
        (lambda d: d.pop("buffers"), "the plan has no list of buffers"),
    ],
)
def test_the_error_names_the_field(change, message):
    data = copy.deepcopy(WHOLE)
    change(data)
    with pytest.raises(BadArchive, match=message):
        read_plan(data)


def test_a_plan_is_a_mapping():
    with pytest.raises(BadArchive, match="no mapping"):
        read_plan([1, 2])


@pytest.mark.parametrize(
    ("buffer", "field", "value", "problem"),
    [
        (2, "within", None, "buffer 2 is a part of no output or workspace"),
        (2, "within", 0, "buffer 2 is a part of no output or workspace"),
        (2, "within", 3, "buffer 2 is a part of no output or workspace"),
        (2, "within", 9, "names a buffer that is not there"),
        (2, "within", [1], "where whole numbers belong"),
        (2, "dtype", "float16", "buffer 2 is a part of one of another type"),
        (4, "within", 1, "a buffer with memory of its own lies within another one"),
        (2, "role", "workspace", "a buffer with memory of its own lies within another one"),
    ],
)
def test_parts_lie_within_what_steps_write(buffer, field, value, problem):
    data = json.loads(json.dumps(joined().to_json()))
    data["buffers"][buffer][field] = value
    with pytest.raises(BadArchive, match=problem.replace("[", r"\[")):
        read_plan(data)


def test_no_part_is_larger_than_the_whole():
    data = json.loads(json.dumps(joined().to_json()))
    data["buffers"][1]["shape"], data["buffers"][2]["shape"] = [2, 4], [8]
    read_plan(data)  # the whole may be under another shape
    data["buffers"][3]["shape"] = [3, 3]
    with pytest.raises(BadArchive, match="buffer 3 is a part of a smaller one"):
        read_plan(data)


def test_no_step_reads_a_part_by_itself():
    data = json.loads(json.dumps(joined().to_json()))
    data["steps"][2]["reads"] = [1, 3]
    with pytest.raises(BadArchive, match="a step reads a part of a buffer by itself"):
        read_plan(data)


@pytest.mark.parametrize(
    ("low", "high", "some"),
    [(0, None, True), (2, 2, True), (3, 2, False), (-1, 2, False), (-1, None, False)],
)
def test_limits_that_some_size_keeps(low, high, some):
    assert is_range(low, high) is some
