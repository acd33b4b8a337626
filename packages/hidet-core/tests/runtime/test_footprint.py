"""What calls need of memory, told from plans."""

from dataclasses import replace

import pytest

from hidet.errors import BadArgument
from hidet.runtime import Plan
from hidet.runtime.binding.footprint import Footprint, footprint

from .conftest import buffer, launch


def plan(size="n"):
    """Two buffers of which only one is needed at a time, a derived constant, an output."""
    roles = ("input", "derived", "workspace", "workspace", "output")
    buffers = [buffer(f"b{i}", role, size) for i, role in enumerate(roles)]
    steps = (launch("f", [0, 1], [2]), launch("g", [2], [3]), launch("h", [3], [4]))
    return Plan("cpu", tuple(buffers), steps, (0,), (4,), {"n": (0, 0)} if size == "n" else {})


def test_parts_are_counted_in_bytes():
    found = footprint({"main": plan()}, {"n": 64})
    assert found == Footprint(derived=256, arena=512, live=512, outputs=256)
    assert found.peak == 1024
    assert found.packing == 1.0


def test_sizes_that_vary_have_to_be_given():
    with pytest.raises(BadArgument, match="the memory of a call depends on n"):
        footprint({"main": plan()})


def test_in_place_both_are_one():
    given = plan(64)
    first, second, last = given.steps
    steps = (first, replace(second, in_place=((3, 2),)), last)
    found = footprint({"main": replace(given, steps=steps)})
    assert (found.arena, found.live) == (256, 256)


def test_graphs_of_one_stream_take_iterations_in_the_arena():
    both = Footprint(100, 30, 20, 5).beside(Footprint(1, 40, 10, 2))
    assert both == Footprint(101, 40, 20, 7)
    assert Footprint().packing == 1.0


def test_it_prints_in_mebibytes():
    text = str(Footprint(1 << 20, 1 << 19, 1 << 18, 0))
    assert text == (
        "1.50 MiB beside the weights: 1.00 derived from them, an arena of 0.50 (at least 0.25), "
        "0.00 of outputs"
    )
