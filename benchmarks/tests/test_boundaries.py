import math
from types import SimpleNamespace

import pytest

from benchmarks.measure.boundaries import EMPTY, BoundaryRow, boundary_table, longest_path
from hidet.toolchain import compile_cuda


@pytest.mark.parametrize(
    ("waits", "length"),
    [((), 0), (((),), 1), (((), (0,), (1,)), 3), (((), (0,), (0,), (1, 2)), 3), (((), ()), 1)],
)
def test_the_longest_path_is_counted_in_nodes(waits, length):
    assert longest_path(SimpleNamespace(waits=[frozenset(each) for each in waits])) == length


@pytest.mark.parametrize(("arch", "cluster"), [("sm_90a", (2, 1, 1)), ("sm_90a", (1, 1, 1))])
def test_empty_kernels_compile_for_any_cluster(arch, cluster):
    made = compile_cuda(EMPTY.format(*cluster), arch=arch, name="empty")
    assert list(made.usage) == ["empty_{}_{}_{}".format(*cluster)]


def test_times_are_shown_for_each_node_on_the_path():
    row = BoundaryRow("mlp", 1, "float16", 4, 2, 1, 4.0, 2.5, 0.012, 0.011)
    lines = boundary_table([row, BoundaryRow("mlp", 1, "float16", failure="no GPU")]).splitlines()
    assert "| 2.00 " in lines[2]
    assert "| 1.25 " in lines[2]
    assert "no GPU" in lines[3]
    assert math.isnan(BoundaryRow("mlp", 1, "float16").full_us)
