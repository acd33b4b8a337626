import json

import pytest

from hidet.errors import BadArchive
from hidet.runtime.plans.sizes import checked_size, evaluate


def test_expressions_are_arithmetic_on_symbols():
    size = ["//", ["+", ["*", "n", 3], 7], 4]
    assert evaluate(size, {"n": 5}) == 5
    assert evaluate(["max", ["-", "n", 9], ["%", "n", 3]], {"n": 5}) == 2
    assert evaluate(["min", "n", "m"], {"n": 5, "m": 4}) == 4


def test_a_size_survives_json():
    size = ["//", ["-", "n", 1], 2]
    assert checked_size(json.loads(json.dumps(size)), {"n": 0}, "here") == size


@pytest.mark.parametrize(
    "data", [True, 1.5, "m", None, [], ["+", 1], ["**", 1, 2], ["+", 1, "m"], 2**63, {"n": 1}]
)
def test_what_is_no_size_is_refused_with_its_place(data):
    with pytest.raises(BadArchive, match="step 3 is no size"):
        checked_size(data, {"n": 0}, "step 3")


def test_endless_nesting_is_refused():
    size = "n"
    for _ in range(100):
        size = ["+", size, 1]
    with pytest.raises(BadArchive):
        checked_size(size, {"n": 0}, "here")


def test_a_scaled_size_is_computed_in_float32():
    factor = (0.699999988079071).hex()  # 0.7 in float32; 10 times that is below 7
    assert evaluate(checked_size(["scale", "n", factor], {"n": 0}, "here"), {"n": 10}) == 7
    assert evaluate(["scale", ["+", "n", 1], (2.5).hex()], {"n": 2}) == 7


@pytest.mark.parametrize("factor", [2, None, "nan", "-0x1p0", "0x1p99", "0x1p9999", "n"])
def test_a_size_is_scaled_by_a_float_that_is_not_negative(factor):
    with pytest.raises(BadArchive, match="step 3 is scaled by"):
        checked_size(["scale", "n", factor], {"n": 0}, "step 3")
