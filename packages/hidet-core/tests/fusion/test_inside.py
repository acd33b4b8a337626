"""Kernels whose result goes to places within larger tensors."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing import schedule
from hidet.build.choosing.grouping import grouped
from hidet.build.choosing.schedule import implement
from hidet.fusion.group import OutputView
from hidet.graph import Tensor, evaluate, symbol, trace_from
from hidet.ir.expr import Pack
from hidet.ir.stmt import Store
from hidet.ir.walk import find
from hidet.mapping.slot import Slot
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.graphs import arrays_for

CUDA = Target.parse("sm_90a")


def group_of(graph):
    """The only group of a graph."""
    (group,) = grouped(graph, CUDA)
    return group


def output_view(result, whole, at, starts=None, shape=None):
    """A window of a result within a tensor of shape `whole`."""
    of = result.type.with_(shape=shape or result.shape, layout=Slot(whole, at))
    return OutputView(Tensor(of), starts or (0,) * result.ndim)


def run(group, arrays, lowered):
    """What a group's kernels leave in its results, NaN where they write nothing."""
    values = dict(zip(group.inputs, arrays, strict=True))
    for made in implement(group, CUDA):
        for each in made.group.results:
            whole = each.type.layout.whole if each.type.layout else each.shape
            values.setdefault(each, np.full(whole, np.nan, each.dtype.numpy))
        tensors = (*made.group.inputs, *made.group.results)
        given = dict(zip(made.module.params, (values[each] for each in tensors), strict=True))
        for var in made.module.workspaces:
            given[var] = np.full(var.of.shape, np.nan, var.of.dtype.numpy)
        for call in made.module.calls:
            kernel = made.module.kernel(call.kernel)
            sim.launch(lower(kernel) if lowered else kernel, *(given[arg] for arg in call.args))
    return [values[each] for each in group.results]


def maps(rows, columns, dtype="float32"):
    """Graphs of one group each."""
    x, w = symbol((rows, 24), dtype), symbol((24, columns), dtype)
    y = symbol((rows, columns), dtype)
    return {
        "product": trace_from(ops.relu(ops.matmul(x, w)), [x, w]),
        "softmax": trace_from(ops.softmax(y, 1), [y]),
        "elements": trace_from(ops.relu(y * 2.0), [y]),
        "columns": trace_from(ops.softmax(y, 0), [y]),
    }


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (7, 129), (13, 8)])
@pytest.mark.parametrize("what", ["product", "softmax", "elements", "columns"])
def test_a_result_goes_to_its_place_and_nowhere_else(what, shape, lowered):
    graph = maps(*shape)[what]
    group = group_of(graph)
    whole, at = (shape[0] + 3, shape[1] + 5), (1, 3)
    group.output_views, group.stored = (output_view(graph.outputs[0], whole, at),), False
    arrays = arrays_for(graph)
    (found,) = run(group, arrays, lowered)
    (wanted,) = evaluate(graph, *arrays)
    box = (slice(1, 1 + shape[0]), slice(3, 3 + shape[1]))
    assert_close(found[box], wanted, graph.outputs[0].dtype, 64.0)
    found[box] = np.nan
    assert np.isnan(found).all()


@pytest.mark.parametrize("what", ["product", "softmax", "elements", "columns"])
def test_a_result_and_windows_of_it_are_written_at_once(what):
    graph = maps(7, 43)[what]
    group, result = group_of(graph), graph.outputs[0]
    group.output_views = (
        output_view(result, (7, 60), (0, 11)),
        output_view(result, (9, 20), (2, 4), (0, 19), (7, 13)),
        output_view(result, (9, 20), (1, 0), (6, 42), (1, 1)),
    )
    arrays = arrays_for(graph)
    whole, *parts = run(group, arrays, lowered=True)
    (wanted,) = evaluate(graph, *arrays)
    assert_close(whole, wanted, result.dtype, 64.0)
    assert np.array_equal(parts[0][:, 11:54], whole)
    assert np.array_equal(parts[1][2:, 4:17], whole[:, 19:32])
    assert parts[2][1, 0] == whole[6, 42]
    assert [np.isfinite(each).sum() for each in parts] == [7 * 43, 7 * 13, 1]


def test_a_schedule_without_hooks_gets_a_kernel_that_copies(monkeypatch):
    graph = maps(5, 9)["softmax"]
    group = group_of(graph)
    group.output_views, group.stored = (output_view(graph.outputs[0], (5, 12), (0, 2)),), False
    assert len(implement(group, CUDA)) == 1
    hooks = lambda module: set() if module.name == "softmax" else {*module.params}
    monkeypatch.setattr(schedule, "ports", hooks)
    assert len(implement(group, CUDA)) == 2
    arrays = arrays_for(graph)
    (found,) = run(group, arrays, lowered=True)
    assert_close(found[:, 2:11], evaluate(graph, *arrays)[0], graph.outputs[0].dtype, 64.0)


@pytest.mark.parametrize(("start", "lanes"), [(64, 8), (8, 8), (4, 4), (2, 2), (3, 1)])
def test_stores_are_as_wide_as_the_place_allows(start, lanes):
    x, w = symbol((512, 512), "float16"), symbol((64, 512), "float16")
    graph = trace_from(ops.linear(x, w), [x, w])
    group = group_of(graph)
    group.output_views, group.stored = (
        (output_view(graph.outputs[0], (512, 128), (0, start)),),
        False,
    )
    (made,) = implement(group, CUDA)
    assert made.schedule == "matmul_wgmma"  # which writes rows; others write fragments
    (kernel,) = made.module.kernels
    lowered = lower(kernel)
    stores = [each for each in find(lowered.body, Store) if each.tensor in lowered.params]
    assert stores
    assert {len(e.value.lanes) if isinstance(e.value, Pack) else 1 for e in stores} == {lanes}
