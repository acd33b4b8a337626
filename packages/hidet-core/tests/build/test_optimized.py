"""Printed, an optimised graph shows which operators share a kernel, and it runs as any graph."""

import numpy as np

import hidet
from hidet import ops
from hidet.graph import optimize
from hidet.options import options


def test_a_fused_operator_is_one_line_as_in_the_quick_start():
    x = hidet.symbol([2, 3])
    graph = hidet.trace_from(ops.matmul(x, hidet.randn([3, 2])) + hidet.randn([2]))
    found = optimize(graph)
    assert str(found) == found.show() == (
        "Graph(x: float32[2, 3][cpu]){\n"
        "  c = Constant(float32[3, 2][cpu])\n"
        "  c_1 = Constant(float32[2][cpu])\n"
        "  x_1: float32[2, 2][cpu] = FusedMatmulAdd("
        "x, c, c_1, fused_graph=FlowGraph(Matmul, Add), anchor=0)\n"
        "  return x_1\n"
        "}"
    )  # fmt: skip
    given = hidet.randn([2, 3])
    expected = given.numpy().astype(np.float64) @ graph.constants[0].numpy()
    np.testing.assert_allclose(found(given).numpy(), expected + graph.constants[1].numpy(), 1e-5)


def test_fused_operators_are_those_of_the_target():
    x = hidet.symbol([64, 64])
    graph = hidet.trace_from(ops.relu(ops.matmul(x, x)))
    assert "Fused" not in str(graph)
    with options(fusion=False):
        assert "Fused" not in str(optimize(graph))
    with options(target="sim"):
        assert "FusedMatmulRelu(" in str(optimize(graph))


def test_what_is_made_of_constants_comes_first_and_every_name_is_told():
    x = hidet.symbol([1, 3, 8, 8])
    image = ops.relu(ops.conv2d(x, hidet.randn([8, 3, 3, 3])) + hidet.randn([1, 8, 1, 1]))
    both = ops.concat([image, ops.sigmoid(image)], 1)
    lines = str(optimize(hidet.trace_from(ops.softmax(both.reshape([16, 36]), -1)))).splitlines()
    told = {"x"}
    for line in lines[1:-2]:
        made, _, made_of = line.strip().partition(" = ")
        operands = made_of.partition("(")[2].partition("fused_graph")[0]
        names = [each.strip("() ") for each in operands.split(",")]
        assert all(each in told for each in names if each.startswith(("x", "c_", "c,")))
        told.add(made.partition(":")[0])


def test_a_graph_that_is_compiled_in_stages_shows_single_operators():
    x = hidet.symbol([16])
    graph = hidet.trace_from(ops.exp(ops.nonzero(x).cast("float32")) + 1.0)
    assert "Fused" not in str(optimize(graph))
    assert "exp" in graph.explain()


def test_several_operands_are_fused():
    x, yes = hidet.symbol([4]), hidet.symbol([], dtype="bool")
    chosen = ops.where(yes, ops.exp(x) + 1.0, x)
    assert "Fused" in str(optimize(hidet.trace_from(chosen, [x, yes])))
