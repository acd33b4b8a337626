"""Plans that run others, as a hostile file may have them: refused before anything runs."""

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArchive
from hidet.runtime import Plan
from hidet.runtime.plans.calls import MAX_DEPTH, check_calls
from hidet.runtime.plans.plan import Branch, Repeat
from hidet.runtime.plans.plan_reader import read_plan

from .conftest import buffer


def scalar(name, role, dtype):
    return buffer(name, role, dtype=dtype)


X, Y = buffer("x", "input", 4), buffer("output0", "output", 4)
FLAG = scalar("flag", "input", "bool")
ARENA = buffer("arena", "workspace", 0, dtype="uint8")
LEAF = Plan("cpu", (X, Y), (), (0,), (1,))
CHOICE = Branch(0, (1,), (2,), ("a", "b"), 3)
CHOOSING = Plan("cpu", (FLAG, X, Y, ARENA), (CHOICE,), (0, 1), (2,))
BRANCHES = {"main": CHOOSING, "a": LEAF, "b": LEAF}

ITERATION = scalar("turn", "input", "int64")
AGAIN = scalar("output0", "output", "bool")
BODY = Plan("cpu", (ITERATION, X, AGAIN, replace(Y, name="output1")), (), (0, 1), (2, 3))
TURNING = Plan(
    "cpu",
    (
        FLAG, X, Y, buffer("twin", "workspace", 4), scalar("turns", "output", "int64"),
        scalar("turn", "workspace", "int64"), scalar("again", "workspace", "bool"), ARENA,
    ),
    (Repeat("body", 0, None, 9, (1,), (), (2,), (3,), 4, 5, 6, 7),),
    (0, 1),
    (2, 4),
)  # fmt: skip
LOOP = {"main": TURNING, "body": BODY}


def branch(**fields):
    return {**BRANCHES, "main": replace(CHOOSING, steps=(replace(CHOICE, **fields),))}


def iterations(**fields):
    (step,) = TURNING.steps
    return {**LOOP, "main": replace(TURNING, steps=(replace(step, **fields),))}


def resized(plans, name, position, *shape, dtype="float32"):
    """The plans with a buffer of another type in one of them."""
    buffers = list(plans[name].buffers)
    buffers[position] = replace(buffers[position], shape=shape, dtype=dtype)
    return {**plans, name: replace(plans[name], buffers=tuple(buffers))}


@pytest.mark.parametrize("plans", [BRANCHES, LOOP])
def test_plans_that_run_others_survive_json(plans):
    read = {name: read_plan(json.loads(json.dumps(p.to_json()))) for name, p in plans.items()}
    assert read == plans
    check_calls(read)


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        (branch(plans=("a", "a")), "run by two steps"),
        (branch(plans=("a", "main")), "run by two steps"),
        (branch(plans=("a", "c")), "there is no plan 'c'"),
        ({**BRANCHES, "c": LEAF}, "nothing runs the plans c"),
        (branch(condition=1), "decides by float32"),
        (branch(operands=()), "other tensors than that takes"),
        (branch(operands=(0,)), "other tensors than that takes"),
        (branch(results=(1,)), "writes a buffer twice, or one that it reads"),
        (branch(arena=2), "no workspace"),
        (resized(BRANCHES, "a", 0, 5), "of another size"),
        (resized(BRANCHES, "b", 0, 4, dtype="int32"), "other tensors"),
        ({**BRANCHES, "a": replace(LEAF, target="sim")}, "sizes of its own"),
        ({**BRANCHES, "a": replace(LEAF, given=("n",))}, "which it does not know"),
        (iterations(plan="main"), "run by two steps"),
        (iterations(go_on=None, again=None, count=None), "other tensors|has no end"),
        (iterations(go_on=None), "a condition once"),
        (iterations(carried=(0,)), "other tensors"),
        (iterations(twins=(2,)), "no workspace|twice"),
        (iterations(iteration=6, again=5), "other tensors"),
        (iterations(iterations=3), "decides by|twice"),
        (iterations(trips=1), "decides by float32"),
        (resized(LOOP, "main", 3, 5), "of another type"),
        (resized(LOOP, "body", 3, 5), "of another size"),
    ],
)
def test_what_does_not_fit_together_is_refused(plans, message):
    with pytest.raises(BadArchive, match=message):
        check_calls(plans)


def nested(depth):
    """Branches within branches, so many levels down."""
    leaf, plans, name = Plan("cpu", (FLAG, X, Y), (), (0, 1), (2,)), {}, "main"
    for _ in range(depth):
        inner = f"{name}.a", f"{name}.b"
        choice = replace(CHOICE, operands=(0, 1), plans=inner)
        plans |= {name: replace(CHOOSING, steps=(choice,)), inner[1]: leaf}
        name = inner[0]
    return {**plans, name: leaf}


def test_levels_have_a_limit():
    check_calls(nested(MAX_DEPTH))
    with pytest.raises(BadArchive, match=f"more than {MAX_DEPTH} levels deep"):
        check_calls(nested(MAX_DEPTH + 1))
    with pytest.raises(BadArchive, match="levels deep"):
        check_calls(nested(600))


def spots(data, at=()):
    """Every position in nested JSON."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from spots(value, (*at, key))


WHOLE = {name: json.loads(json.dumps(plan.to_json())) for name, plan in LOOP.items()}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.integers(2**40, 2**80),
    st.sampled_from(["body", "main", "n", "bool", "float32", "workspace", ""]),
    st.lists(st.integers(-1, 8), max_size=3),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(spots(WHOLE))), VALUES)
def test_any_changed_field_is_refused_or_makes_plans_that_fit_together(spot, value):
    data = deepcopy(WHOLE)
    into = data
    for key in spot[:-1]:
        into = into[key]
    into[spot[-1]] = value
    with suppress(BadArchive):
        check_calls({name: read_plan(each) for name, each in data.items()})
