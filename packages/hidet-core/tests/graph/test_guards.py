"""Sizes taken to be equal: put into the graph, refused in a call where they are not."""

from __future__ import annotations

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.compute.sizes import agree, tidy
from hidet.errors import BadArgument, Place, ShapeMismatch
from hidet.graph import FlowGraph, Tensor, assuming, from_numpy, guarded, placed, symbol, tracing
from hidet.graph.dims import size_symbol
from hidet.ir.expr import Maximum, Minimum, wrap
from hidet.options import options

PLACE = Place("model.onnx", 0, node="node `/add` (Add)")
RANDOM = np.random.default_rng(5)


def cached() -> FlowGraph:
    """Attention over two caches, whose lengths the exporter called differently."""
    keys = Tensor(hidet.types.TensorType(hidet.types.f32, (1, size_symbol("s2"), 4)), name="keys")
    values = Tensor(hidet.types.TensorType(hidet.types.f32, (1, size_symbol("s74"), 4)),
                    name="values")  # fmt: skip
    with tracing(), assuming() as guards:
        more_keys = ops.concat([keys, keys * 2], 1)
        more_values = ops.concat([values, values + 1], 1)
        with placed(PLACE):
            both = more_keys * more_values
        flat = ops.reshape(both, (-1, 2)) + ops.reshape(more_values, (-1, 2))
        graph = FlowGraph([keys, values], [both, flat], limits={"s74": (1, 50), "s2": (0, 60)})
    return guarded(graph, guards)


def arrays(first: int, second: int) -> list[np.ndarray]:
    """A cache of each length."""
    return [RANDOM.standard_normal((1, n, 4)).astype(np.float32) for n in (first, second)]


def wanted(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the model computes."""
    more = np.concatenate([values, values + 1], 1)
    both = np.concatenate([keys, keys * 2], 1) * more
    return both, both.reshape(-1, 2) + more.reshape(-1, 2)


def test_one_symbol_stands_for_the_other():
    graph = cached()
    assert graph.symbols == ("s2",)
    assert graph.limits == {"s2": (1, 50)}
    assert "# s74 = s2 at model.onnx: node `/add` (Add)" in str(graph)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("length", [1, 7])
def test_equal_sizes_run(target, length):
    given = arrays(length, length)
    with options(target=target):
        found = cached()(*map(from_numpy, given))
    for a, b in zip(found, wanted(*given), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_unequal_sizes_are_refused_with_the_place(target, tmp_path):
    with options(target=target):
        compiled = cached().build()
        with pytest.raises(ShapeMismatch) as caught:
            compiled.run([*map(from_numpy, arrays(7, 5))])
        assert "`s74` of the model has to be 7: model.onnx: node `/add` (Add)" in str(caught.value)
        with pytest.raises(ShapeMismatch, match="at most 50"):
            compiled.run([*map(from_numpy, arrays(51, 51))])


def test_archives_and_saved_graphs_keep_guards(tmp_path):
    cached().build("cpu").save(tmp_path / "model.hidet")
    cached().save(tmp_path / "graph")
    again = FlowGraph.load(tmp_path / "graph")
    assert [(g.axis, g.symbol, g.place) for g in again.guards] == [(1, "s74", PLACE)]
    for model in (hidet.load(tmp_path / "model.hidet").run, again.build().run):
        with pytest.raises(ShapeMismatch, match="`s74` of the model has to be 2"):
            model([*map(from_numpy, arrays(2, 129))])


def test_sizes_are_solved_for_a_symbol():
    a, b, c = map(size_symbol, "abc")
    with assuming() as guards:
        assert agree(a * 64, b * 32)
        assert agree(c, b + 1)
        assert not agree(a, a * 2)  # only of size 0
        assert not agree(a * a, a * 3)
        assert agree(b, a * 2)
        assert str(tidy(c)) == "((a * 2) + 1)"
    assert set(guards) == {b, c}


def test_nothing_is_assumed_elsewhere():
    x, y = symbol(["n"]), symbol(["m"])
    with pytest.raises(ShapeMismatch):
        ops.add(x, y)


def test_a_limit_that_cannot_hold_is_refused():
    x, y = symbol(["n"]), symbol([7])
    with assuming() as guards:
        graph = FlowGraph([x, y], [x + y], limits={"n": (9, None)})
    with pytest.raises(BadArgument, match="not 7"):
        guarded(graph, guards)


def sliced_table() -> FlowGraph:
    """A model that adds the first rows of a table, one for each token there is."""
    length = size_symbol("length")
    x = Tensor(hidet.types.TensorType(hidet.types.f32, (length, 3)), name="x")
    with tracing(), assuming() as guards:
        table = ops.cast(ops.reshape(ops.iota(15), (5, 3)), hidet.types.f32)
        graph = FlowGraph([x], [x + ops.slice(table, 0, 0, length)])
    return guarded(graph, guards)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_lengths_that_a_table_bounds(target):
    """A slice of a table is as long as is asked for, up to the table's own length: no more is
    taken."""
    graph = sliced_table()
    assert graph.limits == {"length": (0, 5)}
    assert "min" not in str(graph)
    x = RANDOM.standard_normal((3, 3)).astype(np.float32)
    with options(target=target):
        compiled = graph.build()
        table = np.arange(15, dtype=np.float32).reshape(5, 3)
        np.testing.assert_allclose(compiled(from_numpy(x)).numpy(), x + table[:3])
        with pytest.raises(ShapeMismatch, match="at most 5"):
            compiled(from_numpy(np.zeros((6, 3), np.float32)))


def selected_beside(other: int) -> FlowGraph:
    """What is positive of x, times `other` tensors that nobody says to be as long."""
    x = symbol(("n",), name="x")
    inputs = [symbol((f"m{number}",), name=f"y{number}") for number in range(other)]
    with tracing(), assuming() as guards:
        made = ops.take(x, [ops.nonzero(ops.relu(x))[:, 0]])
        for each in inputs:
            made = made * each
        graph = FlowGraph([x, *inputs], [made, ops.sum(made)])
    return guarded(graph, guards)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("other", [1, 2])
def test_a_size_that_data_tell_is_checked_where_another_stands_for_it(target, other):
    graph = selected_beside(other)
    assert "# u0 = m0 = " in str(graph)
    x, y = np.asarray([1, -2, 3, 0], np.float32), np.asarray([5, 7], np.float32)
    with options(target=target):
        compiled = graph.build()
        found, total = compiled(x, *[y] * other)
        np.testing.assert_array_equal(found.numpy(), x[x > 0] * y**other)
        assert total.numpy() == found.numpy().sum()
        with pytest.raises(ShapeMismatch, match="`u0` = 1, which has to be m0 = 2"):
            compiled(-x, *[y] * other)


def test_such_a_graph_keeps_its_check_in_a_file(tmp_path):
    selected_beside(1).save(tmp_path / "graph")
    assert str(FlowGraph.load(tmp_path / "graph")) == str(selected_beside(1))


def scanned_with(first: int | str, *, is_late: bool) -> FlowGraph:
    """Running sums of slices of two sequences, whose lengths are first found to be equal by what
    the body of the scan computes, before (or after) something else is made of one of them."""
    x, y = symbol((first, "n", 3), name="x"), symbol((first, "m", 3), name="y")
    with tracing(), assuming() as guards:
        shifted, doubled = ops.cast(y, hidet.types.f64), x * 2
        row = ops.reshape(ops.cast(ops.iota(3), hidet.types.f32), (1, 3))

        def body(total: Tensor, one: Tensor) -> tuple[list[Tensor], list[Tensor]]:
            other = ops.cast(shifted[0], hidet.types.f32)
            here = one + other * row
            return [total + here], [here + doubled[0]]

        (last,), (rows,) = ops.scan(body, [doubled[0]], [x])
        results = [last, rows] + ([ops.concat([x, y], 0) * 1] if is_late else [])
        graph = FlowGraph([x, y], results)
    return guarded(graph, guards)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_sizes_found_equal_in_a_body_are_equal_around_it(target, is_late, length):
    x, y = (RANDOM.standard_normal((5, length, 3)).astype(np.float32) for _ in range(2))
    with options(target=target):
        compiled = scanned_with("t", is_late=is_late).build()
        found = compiled.run([from_numpy(x), from_numpy(y)])
        here = x.astype(np.float64) + y[0].astype(np.float64) * np.arange(3)
        np.testing.assert_allclose(found[0].numpy(), 2 * x[0] + here.sum(0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found[1].numpy(), here + 2 * x[0], rtol=1e-5, atol=1e-5)
        with pytest.raises(ShapeMismatch, match="has to be"):
            compiled.run([from_numpy(x), from_numpy(np.zeros((5, length + 1, 3), np.float32))])


def test_what_is_assumed_holds_for_tensors_made_before():
    x, y = symbol(("n", 3)), symbol(("m", 3))
    with tracing(), assuming():
        before = ops.relu(y)
        ops.add(x, y)
        assert before.shape == y.shape == x.shape
    assert y.shape != x.shape


def test_what_is_assumed_is_put_into_quotients_and_bounds():
    a, b, n = map(size_symbol, "abn")
    within = [Minimum(wrap(a), wrap(n)), Maximum(wrap(a) * 4, wrap(n)), wrap(a) // wrap(n)]
    with assuming():
        assert agree(a, b * 4)
        assert [*map(str, map(tidy, within))] == [
            "min((b * 4), n)", "max((b * 16), n)", "((b * 4) // n)"
        ]  # fmt: skip
