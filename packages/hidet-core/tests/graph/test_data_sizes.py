"""Data-dependent sizes, in graphs: found, named, ordered, kept, refused."""

import re
import time

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.compute.guards import assuming
from hidet.errors import BadArchive, BadArgument, InternalError, ShapeMismatch
from hidet.graph import FlowGraph, Tensor, evaluate, rewrite, symbol, tracing
from hidet.graph.body import Body
from hidet.graph.canonical import canonical
from hidet.graph.data_sizes import DataSize, require
from hidet.graph.guards import guarded
from hidet.ir.expr import Var
from hidet.types import TensorType, f32, i32


def selecting():
    """What is positive of rows, and the sum of it: two sizes, the second told by the first's."""
    x = hidet.symbol(("n", 5), name="x")
    kept = ops.take(ops.reshape(x, (x.size,)), [ops.nonzero(ops.relu(x))[:, 1]])
    large = ops.nonzero(ops.greater(kept, 0.5))
    return hidet.trace_from([kept, large, ops.sum(kept)], [x])


def test_a_trace_finds_what_tells_its_sizes_and_names_them_in_order():
    graph = selecting()
    assert [each.size.name for each in graph.data_sizes] == ["u0", "u1"]
    assert len(graph.results) == 3
    assert graph.outputs[3:] == tuple(graph.size_sources.values())
    assert [each.shape[0] for each in graph.results[:2]] == [each.size for each in graph.data_sizes]
    assert canonical(graph) == canonical(selecting())


def test_nodes_come_after_what_tells_their_sizes():
    text = str(selecting())
    for name in ("u0", "u1"):
        assert text.index(f"# {name} = ") < text.index(f"[{name}")
    assert re.search(r"return x_\d+, x_\d+, x_\d+\n", text)


def test_the_meaning_of_a_graph_reads_sizes():
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    kept, large, total = evaluate(selecting(), x)
    wanted = x.astype(np.float64).ravel()[np.argwhere(x > 0)[:, 1]]
    np.testing.assert_array_equal(kept, wanted)
    np.testing.assert_array_equal(large, np.argwhere(wanted > 0.5))
    np.testing.assert_allclose(total, wanted.sum())


def test_changes_keep_what_tells_sizes():
    graph = selecting()

    def change(node):
        if node.op.name != "relu":
            return None
        with tracing():
            return (ops.maximum(node.inputs[0], 0.0),)

    changed = rewrite(graph, change)
    assert changed.data_sizes == graph.data_sizes
    assert [each.type for each in changed.outputs] == [each.type for each in graph.outputs]


def test_files_keep_them_and_pictures_show_them(tmp_path):
    graph = selecting()
    graph.save(tmp_path / "graph")
    loaded = FlowGraph.load(tmp_path / "graph")
    assert str(loaded) == str(graph)
    assert [each.limits for each in loaded.data_sizes] == [each.limits for each in graph.data_sizes]
    assert "u1 =" in graph.show("svg")


def test_a_known_number_is_no_size_of_data():
    x = hidet.asarray(np.asarray([0, 3, 0, 1]))
    assert ops.size_from(ops.sum(x)) == 4
    assert ops.nonzero(x).shape == (2, 1)
    with tracing():
        assert ops.size_from(ops.size_value(7)) == 7
        assert ops.size_from(ops.sum(hidet.symbol((3,), "int64"))) is not None


def test_one_tensor_tells_one_size():
    x = hidet.symbol((4,), "int64")
    count = ops.cast(ops.sum(x), "int64")
    assert ops.size_from(count) is ops.size_from(count)


def test_a_size_told_by_what_has_it_is_refused():
    u = Var("u0", i32)
    x = hidet.symbol((3,))
    with tracing():
        wide = ops.expand(ops.reshape(x, (1, 3)), (u, 3))
        count = ops.cast(ops.sum(wide), "int64")
    with pytest.raises(BadArgument, match="told by a tensor of that size"):
        FlowGraph([x], [wide, count], data_sizes=[DataSize(u)])


def test_a_size_is_told_by_one_integer():
    u = Var("u0", i32)
    x = hidet.symbol((3,))
    with pytest.raises(BadArgument, match="not by one int64"):
        FlowGraph([x], [ops.exp(x)], data_sizes=[DataSize(u)])
    y = hidet.symbol(("u0",), "int64")
    with tracing(), pytest.raises(BadArgument, match="two sizes of one name"):
        FlowGraph([y], [ops.sum(y)], data_sizes=[DataSize(u)])


def test_bodies_have_sizes_of_their_own_data():
    x = hidet.symbol((4,), name="x")
    (last,), _, _ = ops.loop(
        lambda iteration, y: (None, [y + ops.sum(ops.nonzero(y))], []), [x], trips=3
    )
    graph = hidet.trace_from(last, x)
    assert not graph.data_sizes
    (body,) = [each.op.body for each in graph.nodes if each.op.name == "loop"]
    assert [each.size.name for each in body.graph.data_sizes] == ["body1.u0"]
    assert not body.symbols
    assert body == body.with_sizes(lambda size: size)
    with pytest.raises(InternalError, match="does not tell"):
        Body(FlowGraph(body.graph.inputs, [ops.nonzero(body.graph.inputs[1])], data_sizes=()))


def test_a_body_is_told_what_is_assumed_of_its_sizes():
    x, y = hidet.symbol(("n",), name="x"), hidet.symbol((4,), name="y")
    with assuming() as guards:
        kept = ops.nonzero(x)[:, 0]
        (last,), _, _ = ops.loop(
            lambda iteration, z: (None, [z + ops.take(z, [ops.nonzero(z)[:, 0]])], []), [y], trips=2
        )
        graph = guarded(FlowGraph([x, y], [last, kept]), guards)
    (body,) = [each.op.body for each in graph.nodes if each.op.name == "loop"]
    assert [each.equals for each in body.graph.data_sizes] == [4]
    compiled = graph.build()
    found = compiled.run([np.ones(3, np.float32), np.ones(4, np.float32)])
    np.testing.assert_array_equal(found[0].numpy(), [4, 4, 4, 4])
    with pytest.raises(ShapeMismatch, match=r"`body1\.u0` = 0, which has to be 4$"):
        compiled.run([np.ones(3, np.float32), np.zeros(4, np.float32)])


def test_bodies_read_sizes_that_are_told_around_them():
    x = hidet.symbol((6,), name="x")
    kept = ops.take(x, [ops.nonzero(ops.relu(x))[:, 0]])
    (doubled,), _, _ = ops.loop(lambda iteration, y: (None, [y * 2.0], []), [kept], trips=3)
    graph = hidet.trace_from([doubled], [x])
    given = np.asarray([1, -1, 2, 0, 3, -4], np.float32)
    np.testing.assert_array_equal(evaluate(graph, given)[0], [8, 16, 24])
    assert all(isinstance(each.op.body, Body) for each in graph.nodes if each.op.name == "loop")
    (result,) = (graph.build().run([hidet.asarray(given)]),)
    np.testing.assert_array_equal(result[0].numpy(), [8, 16, 24])


def test_what_is_required_of_sizes_goes_along_with_them(tmp_path):
    x = hidet.symbol(("n",), name="x")
    first = ops.nonzero(ops.relu(x))
    second = ops.nonzero(ops.greater(ops.take(x, [first[:, 0]]), 0.5))
    require(second.shape[0] + 1, "<=", first.shape[0])
    require(first.shape[0], "<=", 3)
    require(x.shape[0], "<=", 1)  # of sizes that no data tell nothing is checked
    graph = hidet.trace_from([first, second], [x])
    graph.save(tmp_path / "graph")
    loaded = FlowGraph.load(tmp_path / "graph")
    assert canonical(loaded) == canonical(graph)
    for compiled in (graph.build(), loaded.build()):
        found = compiled.run([np.asarray([0.1, 1, -1], np.float32)])
        assert [each.shape for each in found] == [(2, 1), (1, 1)]
        with pytest.raises(ShapeMismatch, match=r"where \(u1 \+ 1\) <= u0 has to hold"):
            compiled.run([np.asarray([1, 1, -1], np.float32)])
        with pytest.raises(ShapeMismatch, match="u0 <= 3 has to hold"):
            compiled.run([np.ones(4, np.float32)])


def test_a_file_whose_sizes_nobody_can_tell_is_refused(tmp_path):
    x = Tensor(TensorType(f32, (2,)), name="x")
    with tracing():
        count = ops.cast(ops.sum(x), "int64")
    graph = FlowGraph([x], [count], data_sizes=[DataSize(Var("u0", i32), (0, 3))])
    graph.save(tmp_path / "graph")
    assert FlowGraph.load(tmp_path / "graph").data_sizes[0].limits == (0, 3)
    graph.data_sizes = (DataSize(Var("u0", i32), (5, 3)),)
    graph.save(tmp_path / "graph")
    with pytest.raises(BadArchive, match="of 5 to 3"):
        FlowGraph.load(tmp_path / "graph")
    graph.data_sizes = (DataSize(Var("u0", i32)), DataSize(Var("u1", i32)))
    graph.save(tmp_path / "graph")
    with pytest.raises(BadArchive, match="1 outputs tell 2 sizes"):
        FlowGraph.load(tmp_path / "graph")


def test_bodies_deep_within_each_other_are_looked_into_once():
    """However many sizes data have told in this process."""
    ops.nonzero(symbol((3,)))

    def nested(x, levels):
        if not levels:
            return x + 1.0
        return ops.if_(ops.sum(x) > 0, lambda: nested(x, levels - 1), lambda: x)

    start = time.process_time()
    nested(symbol((2,)), 24)
    assert time.process_time() - start < 30
