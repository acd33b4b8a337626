"""Tensor maps in plans: JSON both ways, sizes bound to numbers, every field checked."""

import contextlib
import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.errors import BadArchive, BadTensorMap
from hidet.runtime import Archive, Map, Plan
from hidet.runtime.binding.bound import bind
from hidet.runtime.binding.memory import view_of
from hidet.runtime.plans.plan import Launch, Pointer, Scalar
from hidet.runtime.plans.plan_reader import read_plan
from hidet.types import Im2col, TensorMapType, Tile, f16, f32

from .conftest import buffer

SIZES = ("m", ["*", "n", 2]), (["*", "n", 2],)


def tiles(**changes):
    given = {"swizzle": "64B", "promotion": "256B", "fill": "nan"} | changes
    return Map(0, "float32", Tile((4, 16), (2, 1)), **given, shape=SIZES[0], strides=SIZES[1])


def images():
    box = Im2col(8, 16, (-1,), (1,), (2,))
    return Map(1, "float32", box, "none", "128B", "zeros", (3, "m", "n"), (["*", "m", "n"], "n"))


def plan(*maps, target="sm_90a", grid=("m", 1, 1)):
    args = (Pointer(0), Pointer(1), Scalar("int32", "m"), *maps)
    return Plan(
        target,
        (buffer("x", "input", "m", ["*", "n", 2]), buffer("y", "output", 3, "m", "n")),
        (Launch("unit", "f", args, (0,), (1,), grid, (32, 1, 1)),),
        (0,),
        (1,),
        {"m": (0, 0), "n": (0, 1)},
    )


def given_plan(rows, columns, *maps, **more):
    made = plan(*maps, **more)
    x = view_of(np.zeros((rows, columns), np.float32))
    symbols = {"n": (0, 1)}
    shape = ("m", "n")
    made = Plan(
        made.target, (buffer("x", "input", *shape), made.buffers[1]), made.steps, (0,), (1,),
        {"m": (0, 0)} | symbols,
    )  # fmt: skip
    return bind(made, [x])


def test_a_plan_with_maps_survives_json():
    made = plan(tiles(), images())
    again = read_plan(json.loads(json.dumps(made.to_json())))
    assert again == made
    assert again.steps[0].args[3].of == TensorMapType(
        f32, Tile((4, 16), (2, 1)), "64B", "256B", "nan"
    )


def test_an_archive_with_maps_is_of_the_newest_format():
    archive = Archive({"main": plan(tiles(), images())}, {"unit": b"code"})
    content = archive.to_bytes()
    assert b'"format": 3' in content


def test_sizes_of_maps_become_numbers():
    map = Map(0, "float32", Tile((4, 16), (1, 1)), "none", "128B", "zeros", ("m", "n"), ("n",))
    (step,) = given_plan(5, 36, map).steps
    bound = step.args[-1]
    assert (bound.shape, bound.strides) == ((5, 36), (36,))
    assert bound.numbers == ((5, 36), (144,))


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [(5, 37, "multiples of 16 below"), (5, 0, "sizes from 1 to"), (5, 36, "x has 720")],
)
def test_a_buffer_that_has_no_such_map(rows, columns, message):
    wide = ("m", ["+", "n", 4]) if columns == 36 else ("m", "n")
    map = Map(0, "float32", Tile((4, 16), (1, 1)), "none", "128B", "zeros", wide, wide[1:])
    with pytest.raises(BadTensorMap, match=message):
        given_plan(rows, columns, map)


def test_nothing_is_launched_so_nothing_is_mapped():
    map = Map(0, "float32", Tile((4, 16), (1, 1)), "none", "128B", "zeros", ("m", "n"), ("n",))
    assert given_plan(0, 36, map).steps == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": None}, "without a box"),
        ({"box": {"sizes": [4, 16]}}, "without a box"),
        ({"box": {"sizes": [4, "16"], "steps": [1, 1]}}, "sizes of a box"),
        ({"box": {"sizes": [4] * 9, "steps": [1] * 9}}, "sizes of a box"),
        ({"box": {"sizes": [400, 16], "steps": [1, 1]}}, "impossible tensor map"),
        ({"dtype": "float31"}, "no element type"),
        ({"dtype": ","}, "no element type"),
        ({"dtype": "bool"}, "impossible tensor map"),
        ({"swizzle": "65B"}, "impossible tensor map"),
        ({"swizzle": 64}, "text belongs"),
        ({"fill": "x" * 100}, "text belongs"),
        ({"shape": ["k", 16]}, "is no size"),
        ({"shape": [16]}, "with other sizes"),
        ({"strides": []}, "with other sizes"),
        ({"strides": 16}, "sizes of a tensor map"),
        ({"buffer": 7}, "a buffer that is not there"),
    ],
)
def test_a_damaged_map_is_refused(change, message):
    data = json.loads(json.dumps(plan(tiles()).to_json()))
    data["steps"][0]["args"][3].update(change)
    with pytest.raises(BadArchive, match=message):
        read_plan(data)


def test_only_gpus_have_maps():
    with pytest.raises(BadArchive, match="only GPUs have"):
        read_plan(plan(tiles(), target="cpu").to_json())


@settings(max_examples=200)
@given(
    st.sampled_from(["box", "dtype", "swizzle", "promotion", "fill", "shape", "strides"]),
    st.one_of(
        st.none(), st.integers(-5, 5), st.text(max_size=4), st.lists(st.integers(), max_size=6),
        st.fixed_dictionaries({"sizes": st.lists(st.integers()), "steps": st.lists(st.integers())}),
    ),
)  # fmt: skip
def test_any_value_is_read_or_refused(name, value):
    data = copy.deepcopy(plan(tiles(), images()).to_json())
    data["steps"][0]["args"][4][name] = value
    with contextlib.suppress(BadArchive):
        read_plan(data)


def test_a_map_knows_its_type():
    assert tiles().of.dtype is f32
    assert Map(0, "float16", Tile((8,), (1,)), "none", "none", "zeros", (8,), ()).of.dtype is f16
