"""Bytes that are no model, and models whose graphs or functions make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper

import hidet_onnx
from hostile.attack import ONE, attack, compiled, graph_of, model_of, node


@attack("there is no graph in it")
def empty_bytes(folder: Path) -> Any:
    return hidet_onnx.compile(b"")


@attack("model is no ONNX model")
def random_bytes(folder: Path) -> Any:
    return hidet_onnx.compile(np.random.default_rng(0).bytes(1000))


@attack("model is no ONNX model")
def truncated_bytes(folder: Path) -> Any:
    whole = model_of(graph_of(node("MatMul", ["x", "w"], ["y"]), held={"w": ONE}))
    return hidet_onnx.compile(whole.SerializeToString()[:-20])


@attack("there-is-none.onnx cannot be read")
def no_file(folder: Path) -> Any:
    return hidet_onnx.compile(f"{folder}" + "/there-is-none.onnx")


@attack("model is no ONNX model")
def deep_messages(folder: Path) -> Any:
    """If within If within If, written as protobuf writes it: its own parser has a limit, too."""
    graph = b""
    for _ in range(100):
        graph = field(1, field(5, field(6, graph)))  # node, its attribute, the graph in it
    return hidet_onnx.compile(field(7, graph))


def field(number: int, data: bytes) -> bytes:
    """A field of a message, of bytes."""
    size, spelled = len(data), b""
    while size > 127:
        size, spelled = size >> 7, spelled + bytes([size & 127 | 128])
    return bytes([number << 3 | 2]) + spelled + bytes([size]) + data


@attack("within control flow to a depth of 6; at most 5.*import_bodies")
def deep_branches(folder: Path) -> Any:
    held = {"c": np.array(True)}
    leaf = helper.make_graph([node("Exp", ["x"], ["y"])], "leaf", [], graph_of().output)
    inner = leaf
    for _ in range(6):
        made = node("If", ["c"], ["y"], then_branch=inner, else_branch=leaf)
        inner = helper.make_graph([made], "inner", [], leaf.output)
    return hidet_onnx.compile(model_of(graph_of(made, held=held)), options={"import_bodies": 5})


@attack("need each other's results: .*guilty.*->")
def cycle(folder: Path) -> Any:
    return compiled(
        node("Add", ["x", "b"], ["a"]), node("Exp", ["a"], ["b"]), node("Exp", ["b"], ["y"])
    )


@attack("no value 'nowhere'.*guilty")
def missing_value(folder: Path) -> Any:
    return compiled(node("Add", ["x", "nowhere"], ["y"]))


@attack("no value 'y'")
def missing_result(folder: Path) -> Any:
    return compiled(node("Add", ["x", "x"], ["z"]))


@attack("'y' is computed by node `guilty`")
def two_writers(folder: Path) -> Any:
    return compiled(node("Exp", ["x"], ["y"]), node("Neg", ["x"], ["y"]))


@attack("Frobnicate \\(1x\\).*guilty.*org.nowhere.Widget")
def unknown_operators(folder: Path) -> Any:
    other = helper.make_node("Widget", ["a"], ["y"], domain="org.nowhere", name="other")
    return compiled(node("Frobnicate", ["x"], ["a"]), other)


@attack(r"the name b'guilt.xff' in the model is no text")
def names_that_are_no_text(folder: Path) -> Any:
    data = model_of(graph_of(node("Exp", ["x"], ["y"]))).SerializeToString()
    return hidet_onnx.compile(data.replace(b"guilty", b"guilt\xff"))


@attack("version 9999 of the operators.*pip install")
def newer_opset(folder: Path) -> Any:
    return hidet_onnx.compile(model_of(graph_of(node("Exp", ["x"], ["y"])), version=9999))


@attack("version -1")
def negative_opset(folder: Path) -> Any:
    return hidet_onnx.compile(model_of(graph_of(node("Exp", ["x"], ["y"])), version=-1))


@attack("does not say of what version")
def no_opset(folder: Path) -> Any:
    made = model_of(graph_of(node("Exp", ["x"], ["y"])))
    del made.opset_import[:]
    return hidet_onnx.compile(made)


@attack("version 9999 of ONNX's format.*pip install")
def newer_ir_version(folder: Path) -> Any:
    made = model_of(graph_of(node("Exp", ["x"], ["y"])))
    made.ir_version = 9999
    return hidet_onnx.compile(made)


def calls(*names: str) -> list[Any]:
    made = []
    for number, name in enumerate(names):
        inputs = ["x"] if not number else [f"t{number}"]
        result = "y" if number == len(names) - 1 else f"t{number + 1}"
        made.append(helper.make_node(name, inputs, [result], domain="laughs"))
    return made


def functions(levels: int, each: int) -> list[Any]:
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("laughs", 1)]
    bodies = [("f0", [helper.make_node("Neg", ["x"], ["y"])])]
    bodies += [(f"f{n}", calls(*[f"f{n - 1}"] * each)) for n in range(1, levels)]
    return [
        helper.make_function("laughs", name, ["x"], ["y"], nodes, sets) for name, nodes in bodies
    ]


def laughs(levels: int, each: int, last: str) -> Any:
    call = helper.make_node(last, ["x"], ["y"], domain="laughs", name="guilty")
    made = model_of(graph_of(call), functions=functions(levels, each))
    made.opset_import.append(helper.make_opsetid("laughs", 1))
    return made


@attack("21110 nodes.*import_nodes")
def functions_that_multiply(folder: Path) -> Any:
    return hidet_onnx.compile(laughs(10, 10, "f9"), options={"import_nodes": 20_000})


@attack("211110 nodes")
def functions_that_multiply_to_the_limit(folder: Path) -> Any:
    return hidet_onnx.compile(laughs(10, 10, "f9"))


@attack("to a depth of 65")
def functions_too_deep(folder: Path) -> Any:
    return hidet_onnx.compile(laughs(100, 1, "f99"))


@attack("calls itself: f[012] -> f[012] -> f[012]")
def function_that_calls_itself(folder: Path) -> Any:
    made = laughs(3, 1, "f2")
    made.functions[0].node[0].op_type = "f2"
    made.functions[0].node[0].domain = "laughs"
    return hidet_onnx.compile(made)
