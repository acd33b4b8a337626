import pytest

from hidet.compute import Input, Kind, classify, grid, scan, scatter, select
from hidet.compute.classify import accesses, has_reduction, inputs
from hidet.compute.functions import exp
from hidet.types import f32

x, row = Input("x", f32[4, 5]), Input("row", f32[5])


@pytest.mark.parametrize(
    ("defined", "kind"),
    [
        (exp(x) + 1.0, Kind.ELEMENTWISE),
        (x * row, Kind.ELEMENTWISE),
        (x, Kind.ELEMENTWISE),
        (grid((5, 4), lambda i, j: x[j, i]), Kind.INJECTIVE),
        (x[0, 0] + row, Kind.INJECTIVE),
        (grid((4, 5), lambda i, j: select(j >= i, x[i, j], 0.0)), Kind.INJECTIVE),
        (grid((5,), lambda i: i), Kind.INJECTIVE),
        (x.sum((1,)), Kind.REDUCTION),
        (exp(x) / exp(x).sum((1,)), Kind.REDUCTION),
        (scan(x, 1, "sum") + 1.0, Kind.OPAQUE),
        (scatter(x, (3,), lambda u: (u, 0), lambda u: row[u], "add"), Kind.OPAQUE),
    ],
)
def test_kinds(defined, kind):
    assert classify(defined) is kind


def test_a_broadcast_operand_of_size_one_is_read_at_zero():
    column = Input("column", f32[4, 1])
    assert classify(x + column) is Kind.ELEMENTWISE


def test_what_a_definition_reads():
    centred = x - x.mean((1,))
    assert inputs(centred) == [x]
    assert len(list(accesses(centred))) == 2
    assert [at.grid for at in accesses(centred, x)] == [x]
    assert not has_reduction(centred.value)
