"""What the automatic schedule computes into memory, and what where it is used."""

from hidet import ops
from hidet.compute import Definition, Input, Reduce
from hidet.fusion.compose import compose, operands
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Get
from hidet.ir.walk import find, variables
from hidet.schedules.automatic.plan import (
    MapStage,
    ScanStage,
    ScatterStage,
    plan,
    reductions,
    topological,
)
from hidet.types import i64


def planned(outputs, inputs):
    """The plan of a graph's operators as one definition."""
    graph = trace_from(outputs, inputs)
    known = operands(graph.inputs)
    grids = compose(graph.nodes, known)
    return plan(list(known.values()), [grids[each] for each in graph.outputs])


X = symbol((4, 64))


def test_elementwise_operators_are_one_stage():
    found = planned([ops.relu(ops.tanh(X) + 1.0)], [X])
    (stage,) = found.stages
    assert isinstance(stage, MapStage)
    assert not found.workspaces
    assert stage.shape == (4, 64)
    assert [read.tensor for read in find(stage.value, Get)] == found.inputs


def test_a_reduction_that_each_row_computes_once_is_not_materialised():
    found = planned([ops.softmax(X)], [X])
    (stage,) = found.stages
    assert len(list(reductions(stage.value))) == 2  # the maximum, shared, and the sum
    assert not found.workspaces


def test_dear_elements_that_a_reduction_repeats_are_materialised():
    x, w = symbol((4, 8)), symbol((8, 5))
    found = planned([ops.matmul(ops.tanh(x), w)], [x, w])
    assert [type(each) for each in found.stages] == [MapStage, MapStage]
    (workspace,) = found.workspaces
    assert workspace.of.shape == (4, 8)
    assert found.stages[0].out is workspace


def test_cheap_elements_are_computed_again():
    x, w = symbol((4, 8)), symbol((8, 5))
    found = planned([ops.matmul(x + 1.0, w)], [x, w])
    assert len(found.stages) == 1
    assert not found.workspaces


def test_a_reduction_that_others_read_across_rows_is_materialised():
    x, w = symbol((4, 8)), symbol((8, 4))
    found = planned([ops.softmax(ops.matmul(x, w))], [x, w])
    assert len(found.stages) == 2
    assert found.workspaces[0].of.shape == (4, 4)


def test_a_reduction_does_not_hold_others_that_differ_from_turn_to_turn():
    """What a cast makes of a softmax has one reader, a mean along another axis."""
    x = symbol((4, 4, 2, 3), "float16")
    y = ops.softmax(x, 0)
    assert not nested(planned([y - ops.mean(y, 3, keepdims=True)], [x]))


def test_a_reduction_over_one_element_is_none():
    x = symbol((1, 2))
    y = ops.layer_norm(x)
    found = planned([y - ops.mean(y, 0, keepdims=True)], [x])
    assert not nested(found)
    assert all(each.extents == (2,) for stage in found.stages for each in find(stage.value, Reduce))


def nested(found):
    """Reductions that depend on the turn of another one."""
    return [
        inner
        for stage in found.stages
        for outer in find(stage.value, Reduce)
        for inner in find(outer.value, Reduce)
        if set(outer.vars) & set(variables(inner))
    ]


def test_the_source_of_a_running_sum_is_computed_where_it_is_combined():
    found = planned([ops.cumsum(ops.relu(X), 1)], [X])
    (stage,) = found.stages
    assert isinstance(stage, ScanStage)
    assert [read.tensor for read in find(stage.value, Get)] == found.inputs
    assert stage.out is found.outputs[0]


def test_the_source_of_a_running_sum_lies_in_memory_if_it_is_a_function_or_a_reduction():
    for source in (ops.tanh(X), ops.softmax(X, 1)):
        found = planned([ops.cumsum(source, 1)], [X])
        assert [type(each) for each in found.stages] == [MapStage, ScanStage]
        (read,) = find(found.stages[1].value, Get)
        assert read.tensor is found.workspaces[0]
        assert found.stages[1].out is found.outputs[0]


def test_a_scatter_first_copies_its_base():
    index, source = symbol((2, 64), i64), symbol((2, 64))
    found = planned([ops.scatter(X, 0, index, source)], [X, index, source])
    assert [type(each) for each in found.stages] == [MapStage, ScatterStage]
    assert {each.out for each in found.stages} == {found.outputs[0]}


def test_an_output_that_another_one_reads_is_its_own_tensor():
    y = ops.sum(X, 1, keepdims=True)
    found = planned([y, ops.relu(X - y)], [X])
    assert {each.out for each in found.stages} == set(found.outputs)


def test_an_output_that_is_an_operand_is_copied():
    x = Input("x", X.type)
    found = plan([x], [x])
    (stage,) = found.stages
    assert stage.out is found.outputs[0]
    assert Definition((x,), (x,)).inputs == (x,)


def test_grids_come_after_what_they_read():
    graph = trace_from([ops.softmax(ops.matmul(X, ops.transpose(X)))], [X])
    known = operands(graph.inputs)
    grids = compose(graph.nodes, known)
    order = topological([grids[graph.outputs[0]]])
    assert order[0] is known[X]
    assert order[-1] is grids[graph.outputs[0]]
    assert len(set(order)) == len(order)
