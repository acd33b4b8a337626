"""Why the host drives control flow on a GPU."""

import pytest

from hidet import ops
from hidet.build.stages.host_driven import host_reasons
from hidet.graph import apply, symbol, trace_from
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.target import Target
from hidet.types import boolean, f32

GPU = Target.parse("sm_90a")


def regions(*outputs, inputs):
    graph = trace_from(list(outputs), list(inputs))
    return [node.op for node in graph.nodes if node.op.kind == "region"]


def reasons(*outputs, inputs, target=GPU):
    (op,) = regions(*outputs, inputs=inputs)
    return list(host_reasons(op, target))


def halved(x, **how):
    """A loop that halves a tensor."""
    ((y,), _, _) = ops.loop(lambda iteration, x: (None, [x * 0.5], ()), [x], **how)
    return y


def foreign(x):
    return apply(Foreign, (x,), key="aten.example", gives=ResultTypes((x.type,)))


def test_plain_loops_and_branches_are_nodes_of_a_graph():
    x, flag = symbol((4,), device="cuda"), symbol((), boolean, device="cuda")
    assert reasons(halved(x, trips=1000), inputs=[x]) == []
    (y,) = ops.if_(flag, lambda x: [x * 2.0], lambda x: [x + 1.0], x)
    assert reasons(y, inputs=[x, flag]) == []


def test_a_loop_without_a_known_end_within_another_region():
    x, flag = symbol((4,), device="cuda"), symbol((), boolean, device="cuda")
    trips = symbol((), "int64", device="cuda")
    (y,) = ops.if_(flag, lambda x, n: [halved(x, trips=n)], lambda x, n: [x], x, trips)
    (found,) = reasons(y, inputs=[x, flag, trips])
    assert found == "a loop in it is not known to end within 65536 iterations"
    assert reasons(halved(x, trips=trips), inputs=[x, trips]) == []


def test_steps_of_the_framework():
    x, flag = symbol((4,), device="cuda"), symbol((), boolean, device="cuda")
    (y,) = ops.if_(flag, lambda x: [foreign(x)], lambda x: [x], x)
    assert reasons(y, inputs=[x, flag]) == ["aten.example in its then runs on the host"]


def test_sizes_that_data_tell():
    x, flag = symbol((4,), device="cuda"), symbol((), boolean, device="cuda")

    def count(x):
        return [ops.sum(ops.cast(ops.nonzero(x), f32))]

    (y,) = ops.if_(flag, count, lambda x: [ops.sum(x)], x)
    found = reasons(y, inputs=[x, flag])
    assert found == ["sizes in its then depend on data, which the host reads"]


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_nothing_is_said_where_the_host_runs_all(target):
    x, flag = symbol((4,)), symbol((), boolean)
    (y,) = ops.if_(flag, lambda x: [foreign(x)], lambda x: [x], x)
    assert reasons(y, inputs=[x, flag], target=Target.parse(target)) == []


def test_explain_says_so():
    x, flag = symbol((4,), device="cuda"), symbol((), boolean, device="cuda")
    (y,) = ops.if_(flag, lambda x: [foreign(x)], lambda x: [x], x)
    text = trace_from([y], [x, flag]).explain("sm_90a")
    assert "runs other plans, driven by the host: aten.example in its then runs on the host" in text
