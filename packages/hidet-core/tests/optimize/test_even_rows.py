"""Matmuls on rows padded to whole 16 bytes: the same values, copies that are shared or spared."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing import grouping
from hidet.build.choosing.choices import choices, chosen, saved_by_padding
from hidet.build.choosing.grouping import optimized
from hidet.fusion.traits import evens_rows
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.evaluate import evaluate
from hidet.ir.expr import Var
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.pad import Pad
from hidet.ops.tensors.shape import Expand
from hidet.optimize import split
from hidet.optimize.layout.even_forms import keeps_zeros
from hidet.optimize.layout.even_rows import even_rows
from hidet.target import Target
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import kinds, same_value, weight
from hidet.types import f16, i32

TARGET = Target.parse("sm_90a")
SIZES = [(1, 7, 129), (7, 129, 2), (129, 2, 7), (31, 37, 41), (2, 1, 13), (5, 16, 3), (3, 5, 16)]
TURNED = [(False, False), (True, False), (False, True), (True, True)]


def always(op, other, written):
    return 1.0


def unless_copied(op, other, written):
    """Where no call copies anything."""
    return -1.0 if written else 1.0


def half(*shape):
    return from_numpy(weight(*shape).numpy().astype(np.float16))


def layer(x, n):
    return ops.linear(x, half(n, x.shape[-1]), half(n))


def arrays_for(graph):
    random = np.random.default_rng(0)
    return [random.uniform(-1, 1, each.shape).astype(each.dtype.numpy) for each in graph.inputs]


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.parametrize("turned", TURNED, ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8"])
def test_values_of_matmuls(m, n, k, turned, dtype):
    a = symbol((k, m) if turned[0] else (m, k), dtype)
    b = symbol((n, k) if turned[1] else (k, n), dtype)
    before = ops.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1])
    graph = trace_from([before], [a, b])
    after = even_rows(graph, always)
    assert after.outputs[0].type == graph.outputs[0].type
    arrays = arrays_for(graph)
    (wanted,), (found,) = evaluate(graph, *arrays), evaluate(after, *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-2 if dtype == "float16" else 1e-12)


@pytest.mark.parametrize(
    "shapes", [((2, 3, 5, 7), (7, 9)), ((3, 5, 7), (2, 3, 7, 9)), ((4, 7), (3, 7, 11))], ids=str
)
def test_values_of_stacks(shapes):
    a, b = (symbol(each, "float64") for each in shapes)
    graph = trace_from([ops.matmul(a, b)], [a, b])
    after = even_rows(graph, always)
    assert after is not graph
    same_value(graph, after)


@pytest.mark.parametrize("shape", [(7,), (2, 3, 7)])
def test_values_of_layers(shape):
    x = symbol(shape, "float64")
    by = (ops.cast(weight(5, 7), "float64"), ops.cast(weight(5), "float64"))
    graph = trace_from([ops.linear(x, *by)], [x])
    after = even_rows(graph, always)
    assert kinds(split(after).main) == ["pad", "linear"]
    same_value(graph, after)


def test_rows_may_be_as_many_as_calls_tell():
    x = symbol((Var("n", i32), 999), "float16")
    graph = trace_from([layer(x, 40)], [x])
    assert kinds(split(even_rows(graph, always)).main) == ["pad", "linear"]


def test_rows_of_a_length_that_calls_tell_stay():
    k = Var("k", i32)
    a, b = symbol((8, k), "float16"), symbol((k, 8), "float16")
    graph = trace_from([ops.matmul(a, b)], [a, b])
    assert even_rows(graph, always) is graph


def test_even_rows_stay():
    a, b = symbol((3, 16), "float16"), symbol((16, 24), "float16")
    graph = trace_from([ops.matmul(a, b)], [a, b])
    assert even_rows(graph, always) is graph


def test_what_does_not_pay_stays():
    a, b = symbol((30, 31), "float16"), symbol((31, 33), "float16")
    graph = trace_from([ops.matmul(a, b)], [a, b])
    assert even_rows(graph, unless_copied) is graph


def test_what_is_no_number_spoils_its_own_row_alone():
    a, b = symbol((6, 7)), symbol((7, 9))
    graph = trace_from([ops.matmul(a, b)], [a, b])
    left, right = arrays_for(graph)
    left[1, 3], left[2, 6], right[6, 4] = np.nan, np.inf, np.inf
    (wanted,), (found,) = (
        evaluate(each, left, right) for each in (graph, even_rows(graph, always))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_all_readers_share_a_copy():
    x, y = symbol((8, 31), "float16"), symbol((8, 31), "float16")
    products = [ops.matmul(x, y, transpose_b=True), layer(x, 16), layer(y, 24)]
    after = even_rows(trace_from(products, [x, y]), always)
    assert kinds(split(after).main).count("pad") == 2


def test_one_copy_pays_for_all_that_read_it():
    """Once it is there it costs the next reader nothing."""
    x = symbol((8, 31), "float16")
    asked = []

    def counting(op, other, written):
        asked.append(len(written))
        return 1.0

    even_rows(trace_from([layer(x, 16), layer(x, 24)], [x]), counting)
    assert asked == [1, 0]


def test_layers_write_their_padding():
    x = symbol((16, 32), "float16")
    y = ops.gelu(layer(ops.relu(layer(x, 33)), 37))
    graph = trace_from([layer(y, 35)], [x])
    after = even_rows(graph, unless_copied)
    main = split(after).main
    assert kinds(main) == ["linear", "relu", "linear", "gelu", "linear"]
    assert [node.outputs[0].shape[-1] for node in main.nodes] == [40, 40, 40, 40, 35]
    (wanted,), (found,) = (evaluate(each, *arrays_for(graph)) for each in (graph, after))
    np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("how", ["of no zeros", "an output", "read otherwise", "as a weight too"])
def test_layers_whose_results_others_read_do_not(how):
    x = symbol((35, 32), "float16")
    y = layer(x, 35)
    read = ops.exp(y) if how == "of no zeros" else y
    z = ops.matmul(read, read, transpose_b=True) if how == "as a weight too" else layer(read, 16)
    more = {"an output": [y], "read otherwise": [ops.softmax(y)]}.get(how, [])
    after = even_rows(trace_from([z, *more], [x]), always)
    first = next(node for node in after.nodes if isinstance(node.op, Linear))
    assert first.outputs[0].shape == (35, 35)


def longest(op, other, written):
    """More for longer rows."""
    return float(other.types()[0].shape[-1])


@pytest.mark.parametrize(
    ("k", "width"), [(1000, 1024), (999, 1024), (500, 512), (72, 72), (31, 32)]
)
def test_rows_may_be_whole_lines_where_few_zeros_make_them_so(k, width):
    x = symbol((16, 64), "float16")
    graph = trace_from([layer(ops.relu(layer(x, k)), 16)], [x])
    main = split(even_rows(graph, longest)).main
    assert [node.outputs[0].shape[-1] for node in main.nodes] == [width, width, 16]


def test_readers_that_do_not_agree_get_rows_as_they_are():
    def by_columns(op, other, written):
        wanted = 1008 if other.infer().shape[-1] == 16 else 1024
        return -1.0 if written or other.types()[0].shape[-1] != wanted else 1.0

    x = symbol((16, 64), "float16")
    y = layer(x, 1001)
    graph = trace_from([layer(y, 16), layer(y, 24)], [x])
    assert even_rows(graph, by_columns) is graph


def test_rows_across_lines_cost_more():
    even, odd = (choices(Matmul(f16[n, n], f16[n, n]), TARGET)[0].seconds for n in (2048, 2040))
    assert 1.1 < odd / even < 1.5


def test_on_gpus_alone():
    few, many = Matmul(f16[2039, 2039], f16[2039, 2039]), Matmul(f16[2039, 2040], f16[2040, 2040])
    copies = [f16[2039, 2040], f16[2040, 2040]]
    assert saved_by_padding(few, many, copies, TARGET) > 50e-6
    assert saved_by_padding(few, many, copies, Target.parse("cpu")) == -np.inf
    a, b = symbol((2039, 2039), "float16"), symbol((2039, 2039), "float16")
    graph = trace_from([ops.matmul(a, b)], [a, b])
    assert kinds(optimized(graph, Target.parse("cpu"))) == ["matmul"]


@pytest.mark.parametrize("shape", [(2039, 2039, 2039), (300, 1777, 999)], ids=str)
def test_the_copy_engine_brings_them(shape):
    m, n, k = shape
    a, b = symbol((m, k), "float16"), symbol((k, n), "float16")
    *copies, product = groups_of(trace_from([ops.relu(ops.matmul(a, b))], [a, b]))
    assert [each.name for each in copies] == ["pad", "permute_pad"]
    assert chosen(product, TARGET).schedule.name == "matmul_wgmma"


def test_few_rows_stay_as_they_are():
    x = symbol((1, 999), "float16")
    (group,) = groups_of(trace_from([layer(x, 1000)], [x]))
    assert group.name == "linear"


@pytest.mark.parametrize(("m", "n", "k"), [(129, 131, 199), (7, 129, 67), (37, 1, 131)])
def test_kernels(m, n, k, monkeypatch):
    """Copies and product in the simulator, which sees what is read before it is written."""
    monkeypatch.setattr(grouping, "saved_by_padding", lambda *_: 1.0)
    a, b = symbol((m, k), "float16"), symbol((k, n), "float16")
    graph = trace_from([ops.relu(ops.matmul(a, b))], [a, b])
    arrays = arrays_for(graph)
    (found,), (wanted,) = simulated(graph, arrays), evaluate(graph, *arrays)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_kernels_of_layers(monkeypatch):
    monkeypatch.setattr(grouping, "saved_by_padding", lambda *_: 1.0)
    x = symbol((67, 64), "float16")
    graph = trace_from([layer(ops.gelu(layer(x, 71)), 129)], [x])
    assert [each.name for each in groups_of(graph)] == ["linear_gelu", "linear"]
    arrays = arrays_for(graph)
    (found,), (wanted,) = simulated(graph, arrays), evaluate(graph, *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=1e-2)


def test_rows_are_padded_in_memory():
    product, even = (
        Linear(f16[8, 40], f16[8, 40], None),
        Pad(f16[8, 33], ((0, 0), (0, 7)), "constant", 0),
    )
    assert evens_rows(even, product)
    odd = Pad(f16[8, 31], ((0, 0), (0, 2)), "constant", 0)
    assert not evens_rows(odd, Linear(f16[8, 33], f16[8, 33], None))
    assert not evens_rows(even, even)


@pytest.mark.parametrize(("k", "promotion"), [(2040, "128B"), (2048, "256B"), (24, "256B")])
def test_what_the_cache_fetches_around_rows_across_lines(k, promotion):
    op = Matmul(f16[128, k], f16[128, k], False, True)
    (best, *_) = [each for each in choices(op, TARGET) if each.schedule.name == "matmul_wgmma"]
    module = best.schedule.apply(op, TARGET, best.point).module
    maps = [each.of for kernel in module.kernels for each in kernel.maps]
    assert [each.promotion for each in maps] == [promotion] * 2


def test_what_has_a_shape_of_its_own_is_no_function_at_any_shape():
    x = symbol((3, 5))
    assert keeps_zeros(ops.relu(x).trace[0].op)
    assert not keeps_zeros(Expand(x=x.type, shape=(3, 5)))
    assert not keeps_zeros(ops.exp(x).trace[0].op)
