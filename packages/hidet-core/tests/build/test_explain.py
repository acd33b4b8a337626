"""Which operators share a kernel, as text."""

from hidet import ops
from hidet.build.explain import explain_fusion
from hidet.graph import symbol, trace_from
from hidet.testing.graph_passes import weight


def test_groups_and_reasons():
    x = symbol((4, 16))
    y = ops.relu(ops.matmul(x, weight(16, 8)))
    graph = trace_from([ops.softmax(y), ops.sum(y, 0)], [x])
    text = explain_fusion(graph, "sm_90a")
    lines = text.splitlines()
    assert lines[0] == "main: 3 groups"
    assert lines[1].startswith("matmul_relu: anchor matmul, schedule matmul_simt, ")
    assert any("2 readers (softmax, sum) are apart" in line for line in lines)
    assert any(line.startswith("softmax: no anchor") for line in lines)


def test_what_is_folded_is_a_part_of_its_own():
    x = symbol((2, 4, 5))
    y = ops.batch_norm(ops.conv1d(x, weight(6, 4, 3)), weight(6), weight(6, low=0.5))
    text = explain_fusion(trace_from([ops.reshape(y, (-1,))], [x]), "cpu")
    assert text.startswith("prepare: ")
    assert "\nmain: 1 groups\n" in text


def test_a_view_takes_no_kernel():
    x = symbol((2, 6))
    y = ops.reshape(ops.softmax(x), (3, 4))
    text = explain_fusion(trace_from([ops.sum(y, 0), ops.sum(y, 1)], [x]), "cpu")
    assert "another shape of what lies in memory, no kernel" in text
