"""What comes after an anchor."""

from hidet import ops
from hidet.fusion import Group, partition
from hidet.fusion.following import Following
from hidet.fusion.moves import Landing
from hidet.graph import symbol, trace_from
from hidet.ops.matmul import Matmul

X, W = symbol((4, 8)), symbol((8, 12))


def following(change):
    graph = trace_from([change(ops.matmul(X, W))])
    anchor = next(node for node in graph.nodes if isinstance(node.op, Matmul))
    return Following(Group(graph.nodes, anchor)).landing


def pairs(y):
    return ops.slice(y, -1, 0, None, 2) - ops.slice(y, -1, 1, None, 2)


def test_where_elements_go():
    assert following(lambda y: ops.relu(y) + 1.0) == Landing((0, 1))
    assert following(lambda y: ops.permute(y, (1, 0))) == Landing((1, 0))
    assert following(pairs) == Landing((0, 1), pairs=True)
    assert following(lambda y: ops.permute(pairs(y), (1, 0))) == Landing((1, 0), pairs=True)
    assert following(lambda y: ops.slice(y, -1, 0, None, 2)) is None
    assert following(lambda y: pairs(pairs(y))) is None
    assert following(lambda y: pairs(ops.permute(y, (1, 0)))) is None


def test_pairs_of_pairs_are_kernels_of_their_own():
    for change in (lambda y: pairs(pairs(y)), lambda y: pairs(ops.permute(y, (1, 0)))):
        graph = trace_from([change(ops.matmul(X, W))])
        found = partition(graph, lambda op: isinstance(op, Matmul))
        assert len(found) == 2
        assert Following(found[0]).landing is not None
