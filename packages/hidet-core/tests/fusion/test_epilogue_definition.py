"""What comes after an anchor."""

from hidet import ops
from hidet.fusion import Group, partition
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.moves import Landing
from hidet.graph import symbol, trace_from
from hidet.ops.products.matmul import Matmul
from hidet.options import options

X, W = symbol((4, 8)), symbol((8, 12))


def following(change):
    graph = trace_from([change(ops.matmul(X, W))])
    anchor = next(node for node in graph.nodes if isinstance(node.op, Matmul))
    return EpilogueDefinition(Group(graph.nodes, anchor)).landings()


def goes(change):
    """Where the elements of a product go in the only result."""
    found = following(change)
    return None if found is None else next(iter(found.values()))


def pairs(y):
    return ops.slice(y, -1, 0, None, 2) - ops.slice(y, -1, 1, None, 2)


def test_where_elements_go():
    assert goes(lambda y: ops.relu(y) + 1.0) == Landing((0, 1))
    assert goes(lambda y: ops.permute(y, (1, 0))) == Landing((1, 0))
    assert goes(pairs) == Landing((0, 1), neighbours=2)
    assert goes(lambda y: ops.permute(pairs(y), (1, 0))) == Landing((1, 0), neighbours=2)
    assert goes(lambda y: ops.slice(y, -1, 0, None, 2)) is None
    assert goes(lambda y: pairs(pairs(y))) is None
    assert goes(lambda y: pairs(ops.permute(y, (1, 0)))) is None


def is_wide(change, x=X, w=W, rounded=False, **settings):
    """Whether what is made of a product is made of it before it is rounded."""
    with options(**settings):
        graph = trace_from([change(ops.matmul(x, w))])
        anchor = next(node for node in graph.nodes if isinstance(node.op, Matmul))
        shared = anchor.outputs if rounded else ()
        return EpilogueDefinition(Group(graph.nodes, anchor, shared=shared)).is_wide


def test_arithmetic_reads_what_was_to_be_rounded():
    half = {"x": symbol((4, 8), "float16"), "w": symbol((8, 12), "float16")}
    assert is_wide(lambda y: y * 2.0, **half)
    assert not is_wide(lambda y: y * 2.0), "float32 is not rounded"
    assert not is_wide(ops.relu, **half), "the larger one is the same before and after"
    assert not is_wide(lambda y: y * 2.0, **half, rounded=True)
    assert not is_wide(lambda y: y * 2.0, **half, round_each=True)


def several(change):
    """Where the elements of a product go in several results, in order."""
    y = ops.matmul(X, W)
    graph = trace_from(list(change(y)))
    anchor = next(node for node in graph.nodes if isinstance(node.op, Matmul))
    last = graph.nodes[-1].outputs[0]
    also = tuple(each for each in graph.outputs if each is not last)
    found = EpilogueDefinition(Group(graph.nodes, anchor, also=also)).landings()
    return None if found is None else [found[each] for each in graph.outputs]


def test_several_results():
    whole, turned = Landing((0, 1)), Landing((1, 0))
    assert several(lambda y: (y, ops.relu(y))) == [whole, whole]
    assert several(lambda y: (ops.exp(y), ops.permute(y, (1, 0)))) == [whole, turned]
    assert several(lambda y: (pairs(y), ops.relu(pairs(y)))) == [Landing((0, 1), neighbours=2)] * 2
    assert several(lambda y: (y, pairs(y))) is None
    assert several(lambda y: (y, ops.slice(y, -1, 0, None, 2))) is None


def test_pairs_of_pairs_are_kernels_of_their_own():
    for change in (lambda y: pairs(pairs(y)), lambda y: pairs(ops.permute(y, (1, 0)))):
        graph = trace_from([change(ops.matmul(X, W))])
        found = partition(graph, lambda op: isinstance(op, Matmul))
        assert len(found) == 2
        assert EpilogueDefinition(found[0]).landings() is not None
