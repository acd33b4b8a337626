"""Constants that are made alike: told from prepare plans, one memory while anybody reads them."""

import gc
from dataclasses import replace

import numpy as np
import pytest

from hidet.runtime import Plan
from hidet.runtime.binding.memory import view_of
from hidet.runtime.plans.derived import Origin, derivations, shared

from .conftest import buffer, launch


def prepare(order=(0, 1, 2, 3), function="pack", size=8):
    """Two weights packed into one, by way of a buffer; buffers numbered in some order."""
    roles = {0: ("a", "weight"), 1: ("b", "weight"), 2: ("t", "workspace"), 3: ("out", "output")}
    buffers = [None] * 4
    for each, place in enumerate(order):
        buffers[place] = buffer(*roles[each], size)
    a, b, t, out = order
    steps = (launch(function, [a], [t]), launch("join", [t, b], [out], size))
    return Plan("cpu", tuple(buffers), steps, (), (out,))


def how(plan):
    (found,) = derivations(plan)
    return found.how


def test_numbers_of_buffers_and_binaries_do_not_matter():
    plan = prepare()
    other = replace(plan, steps=tuple(replace(each, binary="another") for each in plan.steps))
    assert how(prepare((2, 0, 3, 1))) == how(other) == how(plan)
    assert derivations(plan)[0].weights == ("a", "b")


@pytest.mark.parametrize("other", [prepare(function="turn"), prepare(size=16)])
def test_other_kernels_and_sizes_do(other):
    assert how(other) != how(prepare())


def test_the_weights_are_told_in_the_order_of_their_use():
    plan = prepare()
    first, last = plan.steps
    swapped = replace(plan, steps=(launch("pack", [1], [2]), launch("join", [2, 0], [3], 8)))
    assert derivations(swapped)[0].weights == ("b", "a")
    assert how(swapped) == how(plan)
    assert how(replace(plan, steps=(last,))) != how(plan)
    assert first.reads == (0,)


class Source:
    """Something that holds values."""


def made():
    return view_of(np.zeros(4, np.float32))


def test_what_is_alike_is_there_once():
    a, b = Source(), Source()
    one = shared("how", "cpu", [Origin(a, "rows"), Origin(b, "rows")], made)
    assert shared("how", "cpu", [Origin(a, "rows"), Origin(b, "rows")], made) is one
    for how_, device, origins in (
        ("other", "cpu", [Origin(a, "rows"), Origin(b, "rows")]),
        ("how", "cuda:0", [Origin(a, "rows"), Origin(b, "rows")]),
        ("how", "cpu", [Origin(b, "rows"), Origin(a, "rows")]),
        ("how", "cpu", [Origin(a, "turned"), Origin(b, "rows")]),
    ):
        assert shared(how_, device, origins, made) is not one


def test_a_source_that_is_gone_is_not_taken_for_another():
    a = Source()
    one = shared("gone", "cpu", [Origin(a, "")], made)
    assert one.is_of([a])
    del a
    gc.collect()
    assert not one.is_of([Source()])


def parted(second="b"):
    """Two weights side by side in one buffer, which is then packed."""
    buffers = [
        *(buffer("a", "weight", 4), buffer("b", "weight", 4), buffer("both", "workspace", 8)),
        *(replace(buffer(name, "part", 4), within=2) for name in ("p", "q")),
        buffer("out", "output", 8),
    ]
    steps = [launch("left", [0], [3]), launch("right", ["ab".index(second)], [4])]
    steps.append(launch("pack", [2], [5]))
    return Plan("cpu", tuple(buffers), tuple(steps), (), (5,))


def test_who_writes_parts_counts():
    (found,) = derivations(parted())
    assert found.weights == ("a", "b")
    assert how(parted("a")) != how(parted())
    fewer = replace(parted(), steps=parted().steps[1:])
    assert how(fewer) != how(parted())


def test_what_is_empty_is_told_by_its_type_and_shape():
    """Nothing writes it, and it has no weights: it was another graph's of another shape."""
    kinds = [("float32", (0, 3)), ("float32", (1, 0)), ("int64", (0, 3))]
    buffers = [replace(buffer("out", "output"), dtype=of, shape=shape) for of, shape in kinds]
    names = {how(Plan("cpu", (each,), (), (), (0,))) for each in buffers}
    assert len(names) == len(kinds)
