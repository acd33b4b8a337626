"""An element of a spread register tensor has a number among its owner's."""

import pytest

from hidet.errors import NotYet
from hidet.ir.algebra import simplify_expression
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import wrap
from hidet.mapping import col_repeat, predicated, project, repeat, spatial
from hidet.passes.addresses.ownership import local_offset


@pytest.mark.parametrize(
    "mapping",
    [
        repeat(3, 4),
        col_repeat(3, 4),
        spatial(3, 4),
        spatial(2, 4) * repeat(3, 2),
        repeat(2, 2) * spatial(2, 4) * repeat(1, 2),
        repeat(2, 3) * spatial(2, 2) * col_repeat(3, 2),
    ],
    ids=str,
)
def test_tasks_are_numbered_in_order(mapping):
    for worker in range(mapping.workers):
        for number, task in enumerate(mapping.tasks(worker)):
            assert evaluate(local_offset(mapping, [wrap(k) for k in task])) == number


def test_projected_dimensions_share_an_element():
    mapping = project(spatial(2, 2) * repeat(2, 3), {1: 0})
    found = {int(evaluate(local_offset(mapping, [wrap(k), wrap(0)]))) for k in range(4)}
    assert found == {0, 3}
    assert max(found) < mapping.tasks_per_worker


def test_predicated_mappings_are_refused():
    with pytest.raises(NotYet, match="cannot be spread"):
        local_offset(predicated(spatial(4), workers=8), [wrap(0)])


def test_constant_indices_fold():
    assert str(simplify_expression(local_offset(repeat(2, 4), [wrap(1), wrap(2)]))) == "6"
