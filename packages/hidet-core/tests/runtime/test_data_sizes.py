"""Plans that follow others once sizes were read: what a file may say, and what calls check."""

import ctypes
import json
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArchive, Capturing, ShapeMismatch
from hidet.runtime import Archive, Executor, Plan
from hidet.runtime.binding import data_sizes
from hidet.runtime.binding.data_sizes import read_sizes
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.plans.calls import MAX_STAGES, check_calls
from hidet.runtime.plans.plan import SizeBuffer, Then
from hidet.runtime.plans.plan_reader import read_plan
from hidet.runtime.plans.sizes import Relation
from hidet.sim import empty

from .conftest import buffer

SYMBOLS = {"n": (0, 0)}
X, COUNT = buffer("x", "input", "n"), buffer("count", "input", dtype="int64")
THEN = Then("main.then", (SizeBuffer("u0", 1, 0, 9),), (0,), (0,), 0)
MAIN = Plan("cpu", (X, COUNT), (), (0, 1), (), SYMBOLS, then=THEN)
NEXT = Plan("cpu", (X, buffer("output0", "output", "u0", "n")), (), (0,), (1,), given=("n", "u0"))
PLANS = {"main": MAIN, "main.then": NEXT}


def test_plans_that_follow_survive_json():
    read = {name: read_plan(json.loads(json.dumps(p.to_json()))) for name, p in PLANS.items()}
    assert read == PLANS
    check_calls(read)


def changed(**fields):
    return {**PLANS, "main": replace(MAIN, then=replace(THEN, **fields))}


def following(**fields):
    return {**PLANS, "main.then": replace(NEXT, **fields)}


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        (changed(plan="other"), "there is no plan 'other'"),
        (changed(plan="main"), "run by two steps"),
        ({"main": replace(MAIN, then=None), "main.then": NEXT}, "nothing runs the plans main.then"),
        (changed(data_sizes=(SizeBuffer("n", 1), *THEN.data_sizes)), "two sizes of one name"),
        (changed(data_sizes=(SizeBuffer("u0", 0),)), "decides by float32"),
        (changed(data_sizes=()), "which nobody tells it"),
        (changed(forwarded=()), "other tensors than that takes"),
        (changed(forwarded=(1,)), "other tensors than that takes"),
        (changed(results=(1,)), "have no places"),
        (changed(results=()), "have no places"),
        (changed(results=(-1,)), "have no places"),
        (changed(passed=1), "have no places"),
        (changed(passed=-1), "have no places"),
        (following(target="sim"), "sizes of its own"),
        (following(symbols={"m": (0, 0)}), "sizes of its own"),
        (following(given=("n", "u0", "v")), "which nobody tells it"),
        (following(then=replace(THEN, plan="main.then")), "run by two steps"),
        ({"main": replace(MAIN, then=None, given=("n",))}, "waits for sizes, which nobody tells"),
        ({**PLANS, "prepare": replace(MAIN, then=replace(THEN, plan="p")), "p": NEXT}, "follow"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(plans, message):
    with pytest.raises(BadArchive, match=message):
        check_calls(plans)


def test_plans_do_not_follow_each_other_without_end():
    buffers = (COUNT,)
    plans = {
        f"main{number or ''}": Plan(
            "cpu", buffers, (), (0,), (), then=Then(f"main{number + 1}", (), (0,), (), 0)
        )
        for number in range(MAX_STAGES + 1)
    }
    with pytest.raises(BadArchive, match=f"{MAX_STAGES} plans follow"):
        check_calls(plans)


def places(data, at=()):
    """Every position in nested JSON."""
    children = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in children:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


WHOLE = {name: json.loads(json.dumps(plan.to_json())) for name, plan in PLANS.items()}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 9), st.integers(2**40, 2**80), st.floats(),
    st.sampled_from(["n", "u0", "main", "main.then", "int64", "output", ""]),
    st.just([]), st.just({}), st.just([0, 0]),
)  # fmt: skip


@settings(max_examples=600)
@given(st.sampled_from([*places(WHOLE)]), VALUES)
def test_any_changed_field_is_refused_or_makes_plans_that_are_whole(place, value):
    data = deepcopy(WHOLE)
    spot = data
    for key in place[:-1]:
        spot = spot[key]
    spot[place[-1]] = value
    try:
        plans = {name: read_plan(each) for name, each in data.items()}
        check_calls(plans)
    except BadArchive:
        return
    archive = Archive(plans, {})
    assert len(archive.results) == sum(
        len(each.outputs) - (each.then.passed if each.then else 0)
        for each in archive.called.values()
    )


def executor(plans=PLANS):
    return Executor(Archive(plans, {}), "cpu")


def test_what_follows_is_bound_with_the_sizes_that_were_read():
    run = executor()
    for count in (0, 3, 9):
        x, number = empty((4,), "float32"), empty((), "int64")
        number[()] = count
        (made,) = run([to_device(x, "cpu"), to_device(number, "cpu")])
        assert array_of(made).shape == (count, 4)
    assert len(run.chain.programs) == 3


def test_memory_of_another_size_than_a_plan_takes_is_refused():
    other = replace(NEXT, buffers=(buffer("x", "input", "u0"), NEXT.buffers[1]))
    run = executor({**PLANS, "main.then": other})
    number = empty((), "int64")
    number[()] = 3
    with pytest.raises(BadArchive, match=r"takes \[12\] bytes, where it is given \[16\]"):
        run([to_device(empty((4,), "float32"), "cpu"), to_device(number, "cpu")])


@pytest.mark.parametrize("number", [-1, 10, 2**40, -(2**63)])
def test_sizes_beyond_their_limits_are_refused(number):
    memory = ctypes.c_int64(number)
    with pytest.raises(ShapeMismatch, match=f"`u0` = {number}, a size that has to be at most 9"):
        read_sizes(THEN, {1: ctypes.addressof(memory)}, {}, "cpu", 0)


def test_a_size_that_has_to_be_another_one_is_checked():
    memory = ctypes.c_int64(6)
    then = replace(THEN, data_sizes=(SizeBuffer("u0", 1, equals=["*", "n", 2]),))
    at = {1: ctypes.addressof(memory)}
    assert read_sizes(then, at, {"n": 3}, "cpu", 0) == {"n": 3, "u0": 6}
    with pytest.raises(ShapeMismatch, match=r"`u0` = 6, which has to be \(n \* 2\) = 8"):
        read_sizes(then, at, {"n": 4}, "cpu", 0)


def test_a_size_may_have_to_be_one_that_is_told_with_it():
    memory = (ctypes.c_int64 * 2)(6, 3)
    sizes = (SizeBuffer("u0", 1, equals=["*", "u1", 2]), SizeBuffer("u1", 1))
    then = replace(THEN, data_sizes=sizes)
    assert read_plan(json.loads(json.dumps(replace(MAIN, then=then).to_json()))).then == then
    then = replace(then, data_sizes=(sizes[0], replace(sizes[1], buffer=2)))
    at = {1: ctypes.addressof(memory), 2: ctypes.addressof(memory) + 8}
    assert read_sizes(then, at, {"n": 3}, "cpu", 0) == {"n": 3, "u0": 6, "u1": 3}
    memory[1] = 4
    with pytest.raises(ShapeMismatch, match=r"`u0` = 6, which has to be \(u1 \* 2\) = 8"):
        read_sizes(then, at, {}, "cpu", 0)


def test_relations_of_sizes_are_checked():
    memory = (ctypes.c_int64 * 2)(6, 3)
    holds = (Relation("u1", "<=", "u0"), Relation(["%", "u0", 3], "==", 0))
    then = replace(THEN, data_sizes=(SizeBuffer("u0", 1, holds=holds), SizeBuffer("u1", 1)))
    assert read_plan(json.loads(json.dumps(replace(MAIN, then=then).to_json()))).then == then
    then = replace(then, data_sizes=(then.data_sizes[0], replace(then.data_sizes[1], buffer=2)))
    at = {1: ctypes.addressof(memory), 2: ctypes.addressof(memory) + 8}
    assert read_sizes(then, at, {}, "cpu", 0) == {"u0": 6, "u1": 3}
    memory[1] = 7
    with pytest.raises(ShapeMismatch, match="u1 = 7 and u0 = 6, where u1 <= u0 has to hold"):
        read_sizes(then, at, {}, "cpu", 0)
    memory[:] = 4, 3
    with pytest.raises(ShapeMismatch, match=r"\(u0 % 3\) = 1 and 0 = 0, where .* == 0 has"):
        read_sizes(then, at, {}, "cpu", 0)
    bad = replace(
        MAIN, then=replace(THEN, data_sizes=(SizeBuffer("u0", 1, holds=(Relation("u0", "<", 1),)),))
    )
    with pytest.raises(BadArchive, match="has a relation <"):
        read_plan(json.loads(json.dumps(bad.to_json())))


def test_nobody_reads_sizes_while_a_cuda_graph_is_captured(monkeypatch):
    monkeypatch.setattr(data_sizes, "is_capturing", lambda stream: True)
    with pytest.raises(Capturing, match="cannot be captured into a CUDA graph"):
        read_sizes(THEN, {1: 0}, {}, "cuda:0", 7)


def test_a_gpu_copies_all_sizes_and_waits_once(monkeypatch):
    calls, memory = [], (ctypes.c_int64 * 2)(5, 7)

    def call(name, *args):
        calls.append(name)
        if name == "cuMemcpyDtoHAsync":
            target, source, nbytes, stream = args
            assert stream == 3
            ctypes.memmove(target, source, nbytes)

    monkeypatch.setattr(data_sizes, "is_capturing", lambda stream: False)
    monkeypatch.setattr(data_sizes, "call", call)
    then = replace(THEN, data_sizes=(SizeBuffer("u0", 1), SizeBuffer("u1", 2)))
    at = {1: ctypes.addressof(memory), 2: ctypes.addressof(memory) + 8}
    assert read_sizes(then, at, {"n": 2}, "cuda:0", 3) == {"n": 2, "u0": 5, "u1": 7}
    assert calls == ["cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize"]
