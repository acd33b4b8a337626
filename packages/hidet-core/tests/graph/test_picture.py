import re
from xml.etree import ElementTree

import pytest

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor, asarray, symbol, trace_from
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.graph.layered import layered
from hidet.graph.tensor import Node
from hidet.types import f32

SPACE = {"svg": "http://www.w3.org/2000/svg"}


def residual():
    x = symbol((2, 8), name="x")
    w = asarray([[1.0] * 8] * 8)
    y = ops.relu(ops.matmul(x, w))
    return trace_from(ops.matmul(y, w) + x, x)


def test_every_input_operator_and_output_has_a_box():
    root = ElementTree.fromstring(residual().show("svg"))
    names = [each.text for each in root.findall(".//svg:text[@class='name']", SPACE)]
    assert names == ["x", "Matmul", "Relu", "Matmul", "Add", "return"]
    texts = [each.text for each in root.findall(".//svg:text", SPACE)]
    assert "float32[2, 8][cpu]" in texts
    assert texts.count("c = float32[8, 8][cpu]") == 2
    titles = [each.text for each in root.findall(".//svg:title", SPACE)]
    assert any("transpose_b = False" in each for each in titles)
    assert len(root.findall("svg:path", SPACE)) == 5 + 4  # one goes through three layers


def test_boxes_do_not_overlap_and_lie_within_the_picture():
    root = ElementTree.fromstring(residual().show("svg"))
    width, height = float(root.get("width")), float(root.get("height"))
    boxes = [
        tuple(float(each.get(key)) for key in ("x", "y", "width", "height"))
        for each in root.findall(".//svg:rect", SPACE)
    ]
    for x, y, w, h in boxes:
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for number, (x, y, w, h) in enumerate(boxes):
        for left, top, wide, high in boxes[:number]:
            assert x + w <= left or left + wide <= x or y + h <= top or top + high <= y


def test_what_is_written_is_escaped():
    x = symbol((2,), name="<x&y>")
    assert "&lt;x&amp;y&gt;" in trace_from(ops.relu(x), x).show("svg")


def test_what_a_framework_computes_looks_different():
    x = Tensor(f32[2, 3], "cpu", name="x")
    (y,) = Node(Foreign((x.type,), "aten.det", ResultTypes((f32[2, 3],))), (x,)).outputs
    assert "#f6e3c5" in trace_from(y, x).show("svg")
    assert "#f6e3c5" not in residual().show("svg")


def test_graphs_without_operators_or_inputs():
    x = symbol((2,), name="x")
    assert "return" in trace_from(x, x).show("svg")
    assert "return" in trace_from(asarray([1.0])).show("svg")


def test_equal_graphs_are_equal_pictures():
    assert residual().show("svg") == residual().show("svg")


def test_notebooks_show_the_picture():
    graph = residual()
    assert graph._repr_svg_() == graph.show("svg")


def test_other_forms_are_refused():
    with pytest.raises(BadArgument, match="cannot be shown as 'png'"):
        residual().show("png")


def test_layers_follow_the_edges():
    found = layered([10.0] * 4, [(0, 2), (1, 3), (2, 3), (0, 3)], 5.0)
    assert found.layer_of == [0, 1, 1, 2, 1]  # what nothing leads to is above its reader
    assert found.steps == [(0, 2), (1, 3), (2, 3), (0, 4), (4, 3)]


def test_lines_from_one_box_share_their_way():
    found = layered([10.0] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (0, 4)], 5.0)
    assert len(found.middles) == 5 + 3


def test_two_chains_do_not_cross():
    edges = [(0, 2), (1, 3), (2, 4), (3, 5)]
    found = layered([10.0] * 6, edges, 5.0)
    left = [found.middles[a] < found.middles[b] for a, b in ((0, 1), (2, 3), (4, 5))]
    assert len(set(left)) == 1


def test_a_chain_is_straight():
    found = layered([10.0, 30.0, 20.0], [(0, 1), (1, 2)], 5.0)
    assert len({round(x, 6) for x in found.middles}) == 1


def test_large_graphs_are_drawn_at_once():
    x = y = symbol((2,))
    for _ in range(1000):
        y = ops.relu(y) + x
    assert len(re.findall("<rect", trace_from(y, x).show("svg"))) == 2002
