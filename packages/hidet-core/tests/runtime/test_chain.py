"""Plans that follow bodies: what a file may say of them, and what calls check."""

import json
from dataclasses import replace

import pytest

from hidet.errors import BadArchive, ShapeMismatch
from hidet.runtime import Archive, Executor, Plan
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.plans.calls import check_calls
from hidet.runtime.plans.plan import Branch, SizeBuffer, Then
from hidet.runtime.plans.plan_reader import read_plan
from hidet.sim import empty

from .conftest import buffer

FLAG, COUNT, ARENA = buffer("f", "input", dtype="bool"), buffer("count", "input", dtype="int64"), \
    buffer("w", "workspace", 0, dtype="uint8")  # fmt: skip
CHOICE = Branch(0, (1,), (2,), ("then", "else"), 3)
MAIN = Plan("cpu", (FLAG, COUNT, buffer("y", "output", 4), ARENA), (CHOICE,), (0, 1), (2,))
BODY = Plan("cpu", (COUNT,), (), (0,), (),
            then=Then("then.then", (SizeBuffer("u0", 0, 0, 9),), (0,), (0,), 0))  # fmt: skip
LAST = Plan("cpu", (COUNT, buffer("y", "output", "u0")), (), (0,), (1,), given=("u0",))
OTHER = Plan("cpu", (COUNT, buffer("y", "output", 4)), (), (0,), (1,))
PLANS = {"main": MAIN, "then": BODY, "then.then": LAST, "else": OTHER}


def test_bodies_with_plans_that_follow_survive_json():
    read = {name: read_plan(json.loads(json.dumps(p.to_json()))) for name, p in PLANS.items()}
    assert read == PLANS
    check_calls(read)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"then": replace(BODY, then=replace(BODY.then, plan="other"))}, "there is no plan"),
        ({"then": replace(BODY, then=replace(BODY.then, results=(1,)))}, "have no places"),
        ({"then": replace(BODY, then=replace(BODY.then, results=()))}, "have no places"),
        ({"then": replace(BODY, then=replace(BODY.then, plan="else"))}, "run by two steps"),
        ({"then": replace(BODY, then=replace(BODY.then, data_sizes=()))}, "which nobody tells it"),
        (
            {"then.then": replace(LAST, buffers=(COUNT, buffer("y", "output", 5, dtype="int32")))},
            "other tensors",
        ),
        ({"then.then": replace(LAST, outputs=())}, "have no places"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(BadArchive, match=message):
        check_calls({**PLANS, **changes})


def call(number, flag=True, plans=PLANS):
    flags, count = empty((), "bool"), empty((), "int64")
    flags[()], count[()] = flag, number
    run = Executor(Archive(plans, {}), "cpu")
    (made,) = run([to_device(flags, "cpu"), to_device(count, "cpu")])
    return array_of(made)


def test_a_body_that_gives_other_bytes_than_there_is_place_for_is_refused():
    assert call(4).shape == call(5, flag=False).shape == (4,)
    with pytest.raises(BadArchive, match=r"gives \[20\] bytes, where .* place for \[16\]"):
        call(5)
    with pytest.raises(ShapeMismatch, match="at most 9"):
        call(10)


def test_of_two_branches_only_the_one_that_runs_has_to_give_what_there_is_place_for():
    larger = replace(OTHER, buffers=(COUNT, buffer("y", "output", 5)))
    plans = {**PLANS, "else": larger}
    check_calls(plans)
    assert call(4, plans=plans).shape == (4,)
    with pytest.raises(BadArchive, match=r"gives \[20\] bytes, where .* place for \[16\]"):
        call(4, flag=False, plans=plans)
