"""Where elements of an operand go in a result."""

import pytest

from hidet import ops
from hidet.compute import Definition
from hidet.fusion.compose import compose, operands
from hidet.fusion.moves import Landing, landing
from hidet.graph import symbol, trace_from
from hidet.graph.dims import size_symbol

X = symbol((4, 6))
CASES = {
    "elementwise": (lambda x: ops.relu(x), (0, 1)),
    "transpose": (lambda x: ops.transpose(x), (1, 0)),
    "new axis": (lambda x: ops.unsqueeze(x, 1), (0, None, 1)),
    "repeated": (lambda x: ops.expand(ops.unsqueeze(x, 0), (2, 4, 6)), None),
    "cut": (lambda x: ops.slice(x, 0, 0, 2), None),
    "reversed": (lambda x: ops.flip(x, 0), None),
    "regrouped": (lambda x: ops.reshape(x, (6, 4)), None),
    "padded": (lambda x: ops.pad(x, [(1, 0), (0, 0)]), None),
    "summed": (lambda x: ops.sum(x, 1), None),
    "broadcast": (lambda x: ops.add(x, symbol((3, 4, 6))), None),
}


@pytest.mark.parametrize("name", CASES)
def test_landing(name):
    function, expected = CASES[name]
    node = function(X).trace[0]
    definition = node.op.definition()
    operand = definition.inputs[0]
    found = landing(definition, operand)
    assert (None if found is None else found.axes) == expected


def test_an_axis_of_size_1_may_vanish():
    x = symbol((1, 6))
    definition = ops.reshape(x, (6,)).trace[0].op.definition()
    assert landing(definition, definition.inputs[0]) == Landing((1,))


def test_an_operand_read_at_two_places_lands_nowhere():
    x = symbol((6, 6))
    (grid,) = (definition := ops.matmul(x, x).trace[0].op.definition()).outputs
    assert grid.shape == (6, 6)
    assert landing(definition, definition.inputs[0]) is None


def test_one_element_that_is_read_everywhere_lands_nowhere():
    definition = ops.expand(symbol(()), (3,)).trace[0].op.definition()
    assert landing(definition, definition.inputs[0]) is None


def test_neighbours_in_rows_of_their_own_are_no_pairs():
    x = symbol((4, 4, 6))
    y = ops.slice(x, -1, 0, None, 2) + ops.slice(ops.transpose(x, 0, 1), -1, 1, None, 2)
    inputs = operands([x])
    grids = compose(trace_from([y], [x]).nodes, inputs)
    assert landing(Definition((inputs[x],), (grids[y],)), inputs[x]) is None


def test_a_size_that_is_written_in_two_ways_is_one_size():
    rows = size_symbol("s")
    x = symbol((rows, 6))
    definition = ops.where(symbol((2 * rows - rows, 1), "bool"), x, 0.0).trace[0].op.definition()
    assert landing(definition, definition.inputs[1]) == Landing((0, 1))


def test_rows_that_stay_rows():
    assert Landing((0, 1)).keeps_rows((4, 6))
    assert Landing((1, 0, 2)).keeps_rows((4, 5, 6))
    assert Landing((1, 0)).keeps_rows((1, 6))
    assert Landing((None,)).keeps_rows((1,))
    assert not Landing((1, 0)).keeps_rows((4, 6))
    assert not Landing((0, 2, 1)).keeps_rows((4, 5, 6))
    assert Landing((1, 0)).keeps_rows((4, 1)), "columns of one element lie in a row"
