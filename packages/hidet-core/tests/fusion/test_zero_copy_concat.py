"""Which concatenations take no kernel, and why others stay."""

import pytest

from hidet import ops
from hidet.build.choosing.grouping import grouped
from hidet.fusion import partition, zero_copy_concat
from hidet.fusion.zero_copy_concat import join
from hidet.graph import symbol, trace_from
from hidet.ops.products.matmul import Matmul
from hidet.options import options
from hidet.target import Target

X, V, W = symbol((6, 16)), symbol((16, 8)), symbol((16, 24))


def product(v=V):
    return ops.relu(ops.matmul(X, v))


def groups(*outputs):
    """The groups before and after, and the notes of those that hold a concatenation."""
    given = [X, V, W]
    graph = trace_from(list(outputs), given)
    anchored = lambda op: isinstance(op, Matmul)
    before = partition(graph, anchored)
    names = [group.name for group in before]
    after = join(before, graph, anchored, lambda group, tensor: None)
    made = set(graph.inputs)
    for group in after:  # in an order in which they can run
        assert group.is_concat or set(group.inputs) <= made
        made |= set(group.results)
        assert not (
            group.is_free and group.output_views
        )  # what is written somewhere else is computed
    return names, [described(group) for group in after], notes(after)


def described(group):
    """A group: its operators, how often its result is written, and whether anything runs."""
    if group.is_concat:
        return "joined"
    places = [str(each.tensor.type.layout) for each in group.output_views]
    return " ".join([group.name, *(["and"] if group.stored and places else []), *places])


def notes(found):
    return [note.text for group in found for note in group.notes if "taken apart" in note.text]


def test_operands_that_others_make_are_written_where_the_result_lies():
    before, after, _ = groups(ops.concat([product(), product(W)], 1))
    assert before == ["matmul_relu", "matmul_relu", "concat"]
    assert after == ["matmul_relu (0, 0) in (6, 32)", "matmul_relu (0, 8) in (6, 32)", "joined"]


@pytest.mark.parametrize("axis", [0, -2])
def test_the_axis_may_be_any(axis):
    _, after, _ = groups(ops.concat([product(), ops.softmax(product(V * 2.0), 1)], axis))
    assert after[0] == "matmul_relu (0, 0) in (12, 8)"
    assert after[-2:] == ["softmax (6, 0) in (12, 8)", "joined"]


def test_what_else_is_read_has_memory_of_its_own():
    a = product()
    _, after, _ = groups(ops.concat([a, product(W)], 1), a)
    assert after[0] == "matmul_relu and (0, 0) in (6, 32)"
    _, after, _ = groups(ops.concat([a, product(W)], 1), ops.softmax(a, 1))
    assert "matmul_relu and (0, 0) in (6, 32)" in after


def test_an_operand_that_is_there_twice_is_written_twice():
    a = product()
    _, after, _ = groups(ops.concat([a, a, product(W)], 1))
    assert after[0] == "matmul_relu (0, 0) in (6, 40) (0, 8) in (6, 40)"


def test_a_slice_is_written_beside_the_whole():
    a = product(W)
    _, after, _ = groups(ops.concat([ops.slice(a, 1, 5, 12), product()], 1), ops.softmax(a, 1))
    assert "matmul_relu and (0, 0) in (6, 15)" in after
    _, after, _ = groups(ops.concat([ops.slice(a, 1, 5, 12), product()], 1))
    assert "matmul_relu (0, 0) in (6, 15)" in after


def test_what_is_given_or_computed_there_gets_a_kernel():
    result = ops.concat([product(), ops.exp(X), product(W)], 1)
    _, after, _ = groups(result)
    assert "exp (0, 8) in (6, 48)" in after
    assert "joined" in after
    _, after, _ = groups(ops.concat([X, product()], 1))
    assert after == ["matmul_relu (0, 16) in (6, 24)", "reshape (0, 0) in (6, 24)", "joined"]
    parts = ops.reshape(X, (6, 2, 8)), ops.reshape(product(), (6, 1, 8))
    _, after, _ = groups(ops.concat(parts, 1))
    assert "reshape (0, 0, 0) in (6, 3, 8)" in after


def test_it_stays_where_more_kernels_would_take_its_place():
    before, after, found = groups(ops.concat([X, product(), ops.exp(X)], 1))
    assert before == after
    (note,) = found
    assert note.startswith("concat is not taken apart: 2 kernels would take its place; ")
    assert "it is given" in note
    assert "its own kernel computes it" in note


def test_more_kernels_pay_where_much_is_spared(monkeypatch):
    monkeypatch.setattr(zero_copy_concat, "LAUNCH_BYTES", 100)
    _, after, _ = groups(ops.concat([X, product(), ops.exp(X)], 1))
    assert after.count("joined") == 1


def test_it_stays_where_nobody_else_makes_an_operand():
    before, after, found = groups(ops.concat([X, ops.exp(X)], 1))
    assert before == after
    assert "nobody else can write its operands" in found[0]


def test_a_concatenation_of_one():
    inner = ops.concat([product(), product(W)], 1)
    _, after, _ = groups(ops.concat([inner, ops.softmax(inner, 1)], 0))
    assert after[0] == "matmul_relu and (0, 0) in (12, 32)"
    assert after[-2:] == ["concat_softmax (6, 0) in (12, 32)", "joined"]
    _, after, _ = groups(ops.concat([inner, product(V * 2.0)], 1))
    assert "matmul_relu (0, 8) in (6, 40)" in after
    assert after.count("joined") == 1


def test_a_concatenation_of_one_that_others_read_too():
    inner = ops.concat([product(), product(W)], 1)
    u = symbol((32, 4))
    graph = trace_from(
        [ops.concat([inner, product(V * 2.0)], 1), ops.matmul(inner, u)], [X, V, W, u]
    )
    anchored = lambda op: isinstance(op, Matmul)
    found = join(partition(graph, anchored), graph, anchored, lambda group, tensor: None)
    names = [described(each) for each in found]
    assert "matmul_relu (0, 8) in (6, 32) (0, 8) in (6, 40)" in names
    assert names.count("joined") == 2


def test_nothing_takes_the_place_of_what_is_empty():
    nothing = ops.slice(X, 1, 3, 3)
    _, after, _ = groups(ops.concat([nothing, product(), product(W)], 1))
    assert sorted(after) == [
        "joined",
        "matmul_relu (0, 0) in (6, 32)",
        "matmul_relu (0, 8) in (6, 32)",
    ]


def test_a_sum_that_stored_it_reads_it():
    both = ops.concat([product(), product(W)], 1)
    before, after, _ = groups(ops.softmax(both, 1), both)
    assert before[-1] == "concat_softmax"
    assert after[-2:] == ["joined", "softmax"]


@pytest.mark.parametrize("gain", [zero_copy_concat.KERNEL, zero_copy_concat.FASTER, None])
def test_what_a_product_had_better_read_from_memory_is_written_there_by_others(gain):
    u = symbol((32, 4))
    both = ops.concat([product(), product(W)], 1)
    graph = trace_from([ops.matmul(both, u)], [X, V, W, u])
    anchored = lambda op: isinstance(op, Matmul)
    asked = lambda group, tensor: gain if tensor is both else None
    found = join(partition(graph, anchored), graph, anchored, asked)
    names = [described(each) for each in found][2:]
    assert names == (["joined", "matmul"] if gain else ["concat_matmul"])


def test_a_product_reads_two_tensors_but_not_five():
    target = Target.parse("sm_90a")
    x, w = symbol((1600, 128), "float16"), symbol((64, 128), "float16")
    for count, joined in ((2, False), (5, True)):
        u = symbol((128, 64 * count), "float16")
        parts = [ops.softmax(ops.linear(x, w * float(n)), 1) for n in range(count)]
        graph = trace_from(ops.linear(ops.concat(parts, 1), u), [x, w, u])
        assert any(each.is_concat for each in grouped(graph, target)) == joined


def test_a_kernel_writes_to_few_places():
    a = product()
    before, after, found = groups(ops.concat([a] * 5 + [X], 1))
    assert before == after
    assert "it is written to many places already" in found[0]


def test_nothing_is_joined_without_fusion():
    graph = trace_from(ops.concat([product(), product(W)], 1), [X, V, W])
    with options(fusion=False):
        assert not any(each.is_concat for each in grouped(graph, Target.parse("sm_90a")))
    assert any(each.is_concat for each in grouped(graph, Target.parse("sm_90a")))
