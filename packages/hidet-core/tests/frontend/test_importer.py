"""The walk that frontends share, on a language of tuples: (operator, version, inputs, result)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hidet import ops
from hidet.errors import BadArgument, Place, UnsupportedOp
from hidet.frontend.importing.converters import Converters
from hidet.frontend.importing.importer import USUAL, Importer
from hidet.frontend.importing.limits import Limits
from hidet.frontend.running.fallback import HostCall
from hidet.graph import FlowGraph, symbol, tracing

table: Converters[str] = Converters("tuples")
table.rows({"add": ops.add, "relu": ops.relu})
table.rows({"scale": ops.negative}, since=1)
table.rows({"scale": ops.absolute}, since=7)
Line = tuple[str, int, tuple[str, ...], str]
FUNCTIONS: dict[str, list[Line]] = {
    "twice": [("add", 0, ("x", "x"), "y")],
    "endless": [("endless", 0, ("x",), "y")],
}


class Tuples(Importer[Line]):
    framework = "tuples"

    def key(self, node: Line) -> tuple[str, int]:
        return node[0], node[1]

    def place(self, node: Line) -> Place:
        return Place("model.txt", 0, function=node[3])

    def arguments(self, node: Line) -> tuple[list[Any], dict[str, Any]]:
        return [self.values[name] for name in node[2]], {}

    def results(self, node: Line) -> list[str]:
        return [node[3]]

    def expand(self, node: Line) -> bool:
        if node[0] not in FUNCTIONS:
            return False
        self.inside(FUNCTIONS[node[0]])
        return True

    def leave(self, node: Line) -> HostCall | None:
        if node[0] != "host":
            return None
        x = self.values[node[2][0]]
        return HostCall("host", (x,), (x.type,), lambda reads, writes: None)


def imported(lines: Sequence[Line], limits: Limits = USUAL) -> Tuples:
    importer = Tuples(table, "cpu", limits)
    importer.values["x"] = symbol((2, 3), name="x")
    with tracing():
        importer.walk(lines)
    importer.coverage()
    return importer


def graph_of(importer: Tuples) -> list[str]:
    graph = FlowGraph([importer.values["x"]], [importer.values["y"]])
    return [node.op.name for node in graph.nodes]


def test_converters_by_version() -> None:
    names = [graph_of(imported([("scale", version, ("x",), "y")])) for version in (1, 6, 7, 20)]
    assert names == [["negative"], ["negative"], ["absolute"], ["absolute"]]
    assert table.find("scale", 0) is None
    assert table.versions("scale") == [1, 7]


def test_two_converters_of_one_version() -> None:
    with pytest.raises(BadArgument, match="tuples converts relu by"):
        table.rows({"relu": ops.absolute})


def test_functions_are_expanded() -> None:
    assert graph_of(imported([("twice", 0, ("x",), "y")])) == ["add"]


def test_functions_without_an_end() -> None:
    with pytest.raises(BadArgument, match="depth of 65; at most 64"):
        imported([("endless", 0, ("x",), "y")])


def test_too_many_nodes() -> None:
    with pytest.raises(BadArgument, match=r"3 nodes, .*at most 2"):
        imported([("relu", 0, ("x",), "y")] * 3, Limits(nodes=2))


def test_what_the_framework_runs() -> None:
    importer = imported([("host", 0, ("x",), "y")])
    assert graph_of(importer) == ["foreign"]
    assert importer.coverage().left["host"][0].reason == "there is no converter"


def test_everything_that_nobody_can_run_is_named_at_once() -> None:
    lines: list[Line] = [
        ("first", 0, ("x",), "a"),
        ("relu", 0, ("a",), "b"),
        ("second", 0, ("b",), "c"),
        ("add", 0, ("x", "x"), "y"),
    ]
    with pytest.raises(UnsupportedOp, match=r"(?s)first \(1x\).*second \(1x\)") as caught:
        imported(lines)
    assert "relu" not in caught.value.message
