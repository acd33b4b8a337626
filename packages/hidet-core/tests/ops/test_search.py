"""Positions within sorted values: one kernel, whatever the length."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.graph import symbol, trace_from
from hidet.target import Target
from hidet.testing.fused import groups_of, simulated

GPU, CPU = Target.parse("sm_90a"), Target.parse("cpu")


@pytest.mark.parametrize("target", [GPU, CPU], ids=str)
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("rows", "size"), [((), 300), ((3,), 4097)])
def test_places_are_numpys_and_found_by_one_kernel(rows, size, right, target):
    random = np.random.default_rng(0)
    ordered = np.sort(random.integers(-99, 99, (*rows, size)).astype(np.float32), -1)
    values = random.integers(-120, 120, (*rows, 65)).astype(np.float32)
    values[..., 7] = np.nan
    x, v = symbol(ordered.shape), symbol(values.shape)
    graph = trace_from([ops.searchsorted(x, v, right=right)], [x, v])
    assert len(groups_of(graph, target)) == 1
    (found,) = simulated(graph, [ordered, values], target)
    side = "right" if right else "left"
    pairs = zip(
        ordered.reshape(-1, size), values.reshape(-1, 65), found.reshape(-1, 65), strict=True
    )
    for edges, given, places in pairs:
        np.testing.assert_array_equal(places, np.searchsorted(edges, given, side))


def test_rows_are_those_of_the_values():
    with pytest.raises(ShapeMismatch, match="sorted apart"):
        ops.searchsorted(symbol((2, 300)), symbol((3, 5)))
