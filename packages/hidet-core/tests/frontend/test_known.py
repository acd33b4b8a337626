"""Graphs known by what a frontend says of them: a key for each, and none where it is not enough."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hidet import options
from hidet.build.compile import compile_graph
from hidet.frontend.importing import known
from hidet.frontend.running.execute import load_runner
from hidet.graph import FlowGraph, from_numpy, symbol, tracing
from hidet.graph.operator import OPERATORS
from hidet.runtime.binding.memory import aligned, array_of, view_of
from hidet.types import f32


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path))


def test_a_key_tells_facts_devices_and_options_apart() -> None:
    usual = known.key_on("cpu", graph=["a", "b"])
    assert usual is not None
    assert usual == known.key_on("cpu", graph=["a", "b"])
    assert usual not in (
        known.key_on("cpu", graph=["ab"]),
        known.key_on("cpu", graph=["a", "b"], more=None),
        known.key_on("cpu", graphs=["a", "b"]),
    )
    with options.options(precision="float16"):
        assert known.key_on("cpu", graph=["a", "b"]) not in (usual, None)
    with options.options(target="sim+sm_90a"):
        assert known.key_on("cpu", graph=["a", "b"]) not in (usual, None)


@pytest.mark.parametrize(
    "given",
    [{"cache": False}, {"search_space": 1}, {"verbose": True}, {"dump": "somewhere"}],
)
def test_there_is_no_key_where_graphs_are_compiled_each_time(given: dict[str, Any]) -> None:
    with options.options(**given):
        assert known.key_on("cpu", graph="a") is None


def test_there_is_no_key_where_others_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = type("Foreign", (), {"__module__": "elsewhere"})
    with monkeypatch.context() as patch:
        patch.setitem(OPERATORS, "elsewhere", foreign)  # type: ignore[arg-type]
        assert known.key_on("cpu", graph="a") is None
    filed = SimpleNamespace(SCHEDULES=[SimpleNamespace(build=foreign)])
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "hidet.schedules.base", filed)
        assert known.key_on("cpu", graph="a") is None
    assert known.key_on("cpu", graph="a") is not None


def test_there_is_no_key_for_a_device_that_is_not_there() -> None:
    assert known.key_on("cuda:99", graph="a") is None


def test_what_is_kept_is_recalled() -> None:
    key = known.key_on("cpu", graph="a")
    assert key is not None
    assert known.recall(key) is None
    known.keep(key, {"shape": (1, 2), "name": "x"})
    assert known.recall(key) == {"shape": [1, 2], "name": "x"}


def test_a_compiled_graph_is_found_for_other_weights() -> None:
    weight, other = (from_numpy(aligned((4,), f32).owner) for _ in range(2))
    weight.numpy()[:], other.numpy()[:] = 2, 5
    x = symbol((4,))
    with tracing():
        graph = FlowGraph([x], [x * weight])
    made = compile_graph(graph)
    assert made.key is not None
    (name,) = made.weights
    found = known.find_graph(made.key, {name: other})
    assert found is not None
    runner = load_runner(found, "cpu", lambda tensor: view_of(tensor.numpy()))
    given = aligned((4,), f32).owner
    given[...] = [1, 2, 3, 4]
    assert array_of(runner([view_of(given)])[0]).tolist() == [5, 10, 15, 20]
    assert known.find_graph("0" * 64, {}) is None
