"""Casts that saturate, and exponents by their rounding, against neighbouring powers of two."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import BadArgument
from hidet.types import f4e2m1, f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, i8

INPUTS = np.array(
    [0, -0.0, 1, -1, 1.5, 0.75, 3, 447, 449, 465, 500, -1e9, 1e9, np.inf, -np.inf, np.nan,
     2.0**-140, 2.0**-127, 2.0**-127 * 1.5, 2.0**-126 * 1.5, 2.0**127, 2.0**127 * 1.4,
     2.0**127 * 1.6],
    np.float32,
)  # fmt: skip


@pytest.mark.parametrize("of", [f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1], ids=str)
def test_what_is_too_large_becomes_the_largest_number(of):
    found = ops.saturating_cast(hidet.asarray(INPUTS), of).numpy()
    low, high = of.limits
    wanted = np.clip(INPUTS, low, high).astype(of.numpy)
    assert (found.view(np.uint8) == wanted.view(np.uint8))[~np.isnan(INPUTS)].all()
    assert np.isnan(found[np.isnan(INPUTS)]).all() or of is f4e2m1


def test_integers_saturate_too():
    found = ops.saturating_cast(hidet.asarray(np.array([-70_000, 3, 1000])), f8e4m3)
    assert found.numpy().astype(np.float32).tolist() == [-448, 3, 448]
    with pytest.raises(BadArgument, match="int8 is no float type"):
        ops.saturating_cast(found, i8)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
def test_exponents_are_those_of_neighbouring_powers(rounding, saturate):
    found = ops.exponent_cast(hidet.asarray(INPUTS), rounding=rounding, saturate=saturate).numpy()
    powers = np.arange(255, dtype=np.uint8).view(f8e8m0.numpy).astype(np.float64)
    for x, code in zip(np.abs(INPUTS.astype(np.float64)), found.view(np.uint8), strict=True):
        if not np.isfinite(x):
            assert code == 255
            continue
        below = max(int(np.searchsorted(powers, x, "right")) - 1, 0)
        inexact, tie_or_more = x > powers[below], x >= powers[below] * 1.5
        if below == 0:  # what is subnormal rounds up, to the nearest if above 2^-127
            inexact, tie_or_more = x > 0, x > powers[0]
        step = {"up": inexact, "down": False, "nearest": tie_or_more}[rounding]
        assert code == min(below + step, 254 if saturate else 255), x


def test_other_roundings_are_refused():
    with pytest.raises(BadArgument, match="rounding is 'odd'"):
        ops.exponent_cast(hidet.asarray(INPUTS), rounding="odd")
