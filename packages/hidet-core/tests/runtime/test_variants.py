"""Launches of which a call runs one or another."""

from dataclasses import replace

import pytest

from hidet.build.planning.hoist import hoist
from hidet.errors import BadArchive
from hidet.runtime.binding.bound import bind
from hidet.runtime.binding.written_over import written_over
from hidet.runtime.devices.view import View
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Plan
from hidet.runtime.plans.plan_reader import read_plan
from hidet.runtime.plans.sizes import Relation
from hidet.runtime.plans.variants import exclude

from .conftest import buffer, launch

FEW, MANY = (Relation("n", "<=", 7),), (Relation(8, "<=", "n"),)


def either(first=(), second=()):
    """y = f(x), by `few` in two steps with a workspace, by `many` in one."""
    return Plan(
        "cpu",
        (buffer("x", "input", "n"), buffer("t", "workspace", "n"), buffer("y", "output", "n")),
        (
            replace(launch("share", [0], [1], "n"), when=FEW),
            replace(launch("few", [1], [2], "n"), when=FEW, in_place=first),
            replace(launch("many", [0], [2], "n"), when=MANY, in_place=second),
        ),
        (0,),
        (2,),
        {"n": (0, 0)},
    )


@pytest.mark.parametrize(
    ("size", "names"), [(1, ["share", "few"]), (7, ["share", "few"]), (8, ["many"]), (99, ["many"])]
)
def test_a_bound_plan_has_the_launches_of_its_call_and_their_memory_alone(size, names):
    bound = bind(either(), [View(0, (size,), "float32", "cpu")])
    assert [step.function for step in bound.steps] == names
    assert bool(bound.arena.nbytes) == ("share" in names)


def test_conditions_survive_json_and_are_left_out_where_there_are_none():
    data = either().to_json()
    assert read_plan(data) == either()
    always = replace(either(), steps=(launch("many", [0], [2], "n"),))
    assert "when" not in always.to_json()["steps"][0]


@pytest.mark.parametrize(
    "when",
    [7, [{"left": "m", "sign": "<=", "right": 7}], [{"left": "n", "sign": "<", "right": 7}]],
    ids=["no list", "a size that is not there", "a sign that is not there"],
)
def test_conditions_that_are_none_are_refused(when):
    data = either().to_json()
    data["steps"][0]["when"] = when
    with pytest.raises(BadArchive):
        read_plan(data)


def test_archives_with_conditions_have_a_format_that_older_versions_refuse(cpp):
    always = replace(either(), steps=(launch("many", [0], [2], "n"),))
    formats = [Archive({"main": each}, {"unit": cpp}).format for each in (always, either())]
    assert formats == [3, 6]


def test_launches_under_other_conditions_that_write_the_same_exclude_each_other():
    share, few, many = either().steps
    assert exclude(few, many)
    assert not exclude(share, few)
    assert not exclude(share, many)
    assert not exclude(few, replace(many, when=()))


def test_an_output_is_written_over_an_input_only_where_every_variant_can():
    pair = ((2, 0),)
    over = [written_over(either(second=second), {0: 0})[1] for second in ((), pair)]
    assert over == [frozenset(), frozenset({0})]


def test_what_is_prepared_is_there_for_all_calls():
    """Both variants read the weight as the same kernel packs it, which runs once."""
    buffers = [buffer("input0", "input", "n"), buffer("weight0", "weight", 4)]
    buffers += [buffer(f"t{number}", "workspace", 4) for number in (2, 3)]
    steps = [
        step
        for when, packed, name in ((FEW, 2, "few"), (MANY, 3, "many"))
        for step in (
            replace(launch("pack", [1], [packed], 4), when=when),
            replace(launch(name, [0, packed], [4], "n"), when=when),
        )
    ]
    outputs = buffer("y", "output", "n")
    plan = Plan("cpu", (*buffers, outputs), tuple(steps), (0,), (4,), {"n": (0, 0)})
    plans = hoist({"main": plan})
    (packing,) = plans["prepare"].steps
    assert (packing.function, packing.when) == ("pack", ())
    assert [(step.function, step.when) for step in plans["main"].steps] == [
        ("few", FEW),
        ("many", MANY),
    ]
