"""How a kernel that waits itself is launched, as far as that can be seen without a driver."""

from types import SimpleNamespace

import pytest

from hidet.runtime.devices import captures
from hidet.runtime.graphs import early, kernel_node
from hidet.runtime.graphs.early import early_launch
from hidet.runtime.graphs.kernel_node import KernelNode
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.plans.occupancy import OccupancyLimit

from .conftest import launch

cu = pytest.importorskip("cuda.bindings.driver")
ATTRIBUTE = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


def test_the_launch_says_where_and_that_it_may_begin_early():
    made = early_launch((7, 2, 1), (128, 1, 1), 512)
    assert (made.gridDimX, made.gridDimY, made.gridDimZ) == (7, 2, 1)
    assert (made.blockDimX, made.blockDimY, made.blockDimZ) == (128, 1, 1)
    assert made.sharedMemBytes == 512
    (attribute,) = made.attrs
    assert attribute.id == ATTRIBUTE
    assert attribute.value.programmaticStreamSerializationAllowed == 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_only_kernels_that_wait_themselves_are_launched_early(waits, known, monkeypatch):
    calls = []
    for name in ("cuLaunchKernel", "cuLaunchKernelEx"):
        monkeypatch.setattr(cu, name, lambda *args, name=name: calls.append((name, *args)) or (0,))
    monkeypatch.setattr(kernel_node, "early_edges", lambda: known)
    module = SimpleNamespace(function=lambda name, shared_bytes: cu.CUfunction(5))
    node = KernelNode(launch("late", [0], [1], 4, grid=(9, 1, 1), waits=waits), module)
    node.launch(0, early=True)
    node.launch(77, early=True)
    by_attribute = waits and known
    node.launch(77)
    assert calls.pop()[0] == "cuLaunchKernel"
    assert {name for name, *_ in calls} == {
        "cuLaunchKernelEx" if by_attribute else "cuLaunchKernel"
    }
    if by_attribute:
        assert calls[0][1] is calls[1][1]
        assert int(calls[1][1].hStream) == 77


def test_one_by_one_those_that_are_to_be_late_are():
    seen = []
    module = SimpleNamespace(function=lambda name, shared_bytes: cu.CUfunction(5))
    kernels = [KernelNode(launch("f", [], []), module) for _ in range(3)]
    for each in kernels:
        each.launch = lambda stream, early: seen.append(early)
    segment = Segment(kernels, [frozenset(), {0}, {1}], late={1})
    segment.launch_each([], 0)
    segment.launch_each([], 0, early=True)
    assert seen == [False, False, True, True, False, True]


def test_one_by_one_a_first_kernel_follows_those_that_signal_only_if_it_lies_evenly(monkeypatch):
    monkeypatch.setattr(kernel_node, "early_edges", lambda: True)
    handles = iter((5, 6, 7))
    module = SimpleNamespace(function=lambda name, shared_bytes: cu.CUfunction(next(handles)))
    room = OccupancyLimit(132, 233472, 8, 1024)
    unknown, even = (
        KernelNode(launch("f", [], [0], waits=True, signals=each is not None, room=each), module)
        for each in (None, room)
    )
    following = [Segment([kernel], [frozenset()]).may_follow for kernel in (unknown, even)]
    assert [may(None) for may in following] == [False, False]
    assert [may(5) for may in following] == [True, True]
    assert [may(6) for may in following] == [False, True]
    ahead = KernelNode(launch("f", [1], [0], waits=True, room=room, ahead=(1,)), module)
    assert not Segment([ahead], [frozenset()]).may_follow(5)


@pytest.mark.parametrize(
    ("capturing", "nodes", "kind", "one"),
    [
        ("ACTIVE", [5], "KERNEL", 99),
        ("ACTIVE", [5], "MEMCPY", None),
        ("ACTIVE", [5, 6], "KERNEL", None),
        ("ACTIVE", [], "KERNEL", None),
        ("NONE", [], "KERNEL", None),
    ],
)
def test_only_one_kernel_stands_for_all_before(capturing, nodes, kind, one, monkeypatch):
    status = getattr(cu.CUstreamCaptureStatus, f"CU_STREAM_CAPTURE_STATUS_{capturing}")
    answers = {
        "cuStreamGetCaptureInfo": (status, 1, 2, nodes, [], len(nodes)),
        "cuGraphNodeGetType": getattr(cu.CUgraphNodeType, f"CU_GRAPH_NODE_TYPE_{kind}"),
        "cuGraphKernelNodeGetParams": SimpleNamespace(func=cu.CUfunction(99)),
    }
    answers["cuStreamGetCaptureInfo_v3"] = answers["cuStreamGetCaptureInfo"]
    for module in (captures, early):
        monkeypatch.setattr(module, "call", lambda name, *args: answers[name])
    assert early.kernel_before(7) == one
