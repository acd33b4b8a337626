"""What is asserted of data-dependent sizes: known while graphs are made, checked by each call."""

import numpy as np
import pytest

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import ShapeMismatch
from hidet.graph import FlowGraph, assuming, evaluate, guarded, symbol, tracing
from hidet.ops.elementwise.size_relations import asserted, assume_multiple
from hidet.options import options

TARGETS = pytest.mark.parametrize("target", ["cpu", "sim"])
x = symbol((), "int64", name="count")


def halves(number, *, only_part: bool = False):
    """The numbers below a count in pairs, the count being said to be a multiple of `number`."""
    with tracing(), assuming() as guards:
        count = ops.size_from(x, "count")
        numbers = ops.iota(count) * 3
        asserted(count % number, "==", 0)
        parts = ops.iota(count // number) + 1
        results = [parts] if only_part else [ops.reshape(numbers, (count // number, number)), parts]
        return guarded(FlowGraph([x], results), guards)


@TARGETS
@pytest.mark.parametrize("count", [0, 2, 14, 258])
def test_a_multiple_is_cut_into_parts(target, count):
    graph = halves(2)
    assert "//" not in "".join(str(each.shape) for each in graph.results)
    with options(target=target):
        pairs, parts = graph.build().run([np.asarray(count)])
    np.testing.assert_array_equal(pairs.numpy(), 3 * np.arange(count).reshape(-1, 2))
    np.testing.assert_array_equal(parts.numpy(), 1 + np.arange(count // 2))
    np.testing.assert_array_equal(evaluate(graph, np.asarray(count))[0], pairs.numpy())


@TARGETS
@pytest.mark.parametrize("only_part", [False, True])
@pytest.mark.parametrize("count", [1, 7, 129])
def test_calls_refuse_what_is_none(target, only_part, count):
    with options(target=target):
        compiled = halves(2, only_part=only_part).build()
        with pytest.raises(ShapeMismatch, match=rf"`u\d` = {count}, which has to be \(u\d \* 2\)"):
            compiled.run([np.asarray(count)])


def test_files_keep_the_check(tmp_path):
    halves(3).save(tmp_path / "graph")
    again = FlowGraph.load(tmp_path / "graph")
    assert str(again) == str(halves(3))
    with pytest.raises(ShapeMismatch, match="has to be"):
        again.build().run([np.asarray(4)])


@TARGETS
def test_multiples_of_multiples(target):
    with tracing(), assuming() as guards:
        count = ops.size_from(x, "count")
        asserted((count * 2) % 4, "==", 0)
        asserted((count // 2) % 3, "==", 0)
        assert tidy((count + 12) % 6) == 0
        assert not assume_multiple(count + 1, 6)
        graph = guarded(
            FlowGraph([x], [ops.reshape(ops.iota(count * 5), (5, count // 6, -1))]), guards
        )
    with options(target=target):
        compiled = graph.build()
        for count in (6, 42):
            wanted = np.arange(count * 5).reshape(5, count // 6, 6)
            np.testing.assert_array_equal(compiled(np.asarray(count)).numpy(), wanted)
        for wrong in (3, 4):
            with pytest.raises(ShapeMismatch, match="has to be"):
                compiled(np.asarray(wrong))


@TARGETS
@pytest.mark.parametrize("length", [1, 7])
def test_sizes_that_a_body_tells(target, length):
    """Pairs of what each row of a scan selects, summed."""
    rows = symbol((length, 8), name="rows")
    with tracing(), assuming() as guards:

        def body(total, row):
            picked = ops.nonzero(row)[:, 0]
            asserted(picked.shape[0] % 2, "==", 0)
            pairs = ops.reshape(picked, (picked.shape[0] // 2, 2))
            return [total + ops.sum(pairs, 0)], [ops.sum(pairs)]

        start = ops.full((2,), 0, "int64")
        (last,), (sums,) = ops.scan(body, [start], [rows])
        graph = guarded(FlowGraph([rows], [last, sums]), guards)
    given = np.zeros((length, 8), np.float32)
    given[:, [1, 3, 4, 7]] = 1
    with options(target=target):
        compiled = graph.build()
        last, sums = compiled.run([given])
        np.testing.assert_array_equal(last.numpy(), [5 * length, 10 * length])
        np.testing.assert_array_equal(sums.numpy(), [15] * length)
        given[-1, 0] = 2
        with pytest.raises(ShapeMismatch, match="has to be"):
            compiled.run([given])


@TARGETS
def test_an_order_makes_slices_whole(target):
    """As many rows of a table as are asked for, which are no more than there are."""
    table = symbol((7, 2), name="table")
    with tracing(), assuming() as guards:
        rows = ops.take(table, [ops.nonzero(table[:, 0])[:, 0]])
        count = ops.size_from(x, "count")
        asserted(count, "<=", rows.shape[0])
        first = ops.slice(rows, 0, 0, count)
        assert first.shape[0] is count
        graph = guarded(FlowGraph([x, table], [first, ops.iota(count)]), guards)
    given = np.arange(14, dtype=np.float32).reshape(7, 2)
    with options(target=target):
        compiled = graph.build()
        for wanted in (0, 1, 6):
            found, numbers = compiled.run([np.asarray(wanted), given])
            np.testing.assert_array_equal(found.numpy(), given[1 : 1 + wanted])
            np.testing.assert_array_equal(numbers.numpy(), np.arange(wanted))
        with pytest.raises(ShapeMismatch, match="has to hold"):
            compiled.run([np.asarray(7), given])


@TARGETS
def test_equal_sizes_add(target):
    a, b = symbol((9,), name="a"), symbol((9,), name="b")
    with tracing(), assuming() as guards:
        one, other = (ops.nonzero(each)[:, 0] for each in (a, b))
        asserted(one.shape[0] + 1, "==", other.shape[0] + 1)
        graph = guarded(FlowGraph([a, b], [one + other]), guards)
    given = np.eye(9, dtype=np.float32)
    with options(target=target):
        compiled = graph.build()
        np.testing.assert_array_equal(compiled(given[2], given[5]).numpy(), [7])
        with pytest.raises(ShapeMismatch, match="has to be"):
            compiled(given[2], given[5] + given[6])


def test_where_nothing_may_be_assumed_calls_check():
    with tracing():
        count = ops.size_from(x, "count")
        asserted(count % 2, "==", 0)
        graph = FlowGraph([x], [ops.iota(count)])
    compiled = graph.build()
    assert compiled(np.asarray(4)).shape == (4,)
    with pytest.raises(ShapeMismatch, match=r"\(u0 % 2\) == 0 has to hold"):
        compiled(np.asarray(5))
