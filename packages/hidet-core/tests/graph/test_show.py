from hidet import ops
from hidet.graph import asarray, symbol, trace_from
from hidet.graph.dims import size_symbol


def test_a_graph_reads_like_a_program():
    x = symbol((2, 3), name="x")
    b, c = asarray([[1.0, 2.0]] * 3), asarray([1.0, 2.0])
    graph = trace_from(ops.matmul(x, b) + c)
    assert str(graph) == (
        "Graph(x: float32[2, 3][cpu]){\n"
        "  c = Constant(float32[3, 2][cpu])\n"
        "  c_1 = Constant(float32[2][cpu])\n"
        "  x_1: float32[2, 2][cpu] = Matmul(x, c, transpose_a=False, transpose_b=False, "
        "dtype=None)\n"
        "  x_2: float32[2, 2][cpu] = Add(x_1, c_1, dtype=None)\n"
        "  return x_2\n"
        "}"
    )
    assert graph.show() == str(graph)


def test_symbols_devices_and_several_results_are_shown():
    x = symbol((size_symbol("n"), 4), "f16", "cuda")
    graph = trace_from(ops.moments(x, (1,)), x)
    first, middle, last, _ = str(graph).splitlines()
    assert first == "Graph(x: float16[n, 4][cuda]){"
    assert middle.startswith("  x_1: float32[n, 1][cuda], x_2: float32[n, 1][cuda] = Moments(x,")
    assert last == "  return x_1, x_2"
