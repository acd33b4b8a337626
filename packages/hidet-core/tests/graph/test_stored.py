"""Graphs in files: what is read is what was written, and nothing else is read."""

import json

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from hidet import ops, seams
from hidet.errors import BadArchive, BadArgument
from hidet.graph import OPERATORS, FlowGraph, Tensor, asarray, evaluate, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.graph.stored import KEY, digest, fits, stored
from hidet.graph.tensor import Node
from hidet.types import f32

seams.call("load_operators")


def network():
    x = symbol((2, 3), name="x")
    w = asarray(np.arange(12, dtype=np.float16).reshape(3, 4))
    y = ops.softmax(ops.matmul(x.cast("f16"), w), -1).cast("f32")
    return FlowGraph((x,), (ops.clamp(y, 0.25, float("inf")), ops.sum(y, (0,))), "small")


CONTENT = stored(network())


def read(content, tmp_path, **given):
    path = tmp_path / "graph.safetensors"
    path.write_bytes(content)
    return FlowGraph.load(path, **given)


def test_a_graph_survives_the_file(tmp_path):
    graph = network()
    graph.save(tmp_path / "graph.safetensors")
    found = FlowGraph.load(tmp_path / "graph.safetensors")
    assert str(found) == str(graph)
    assert found.name == "small"
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    for a, b in zip(evaluate(found, x), evaluate(graph, x), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [each.name for each in tmp_path.iterdir()] == ["graph.safetensors"]


def test_equal_graphs_are_equal_files():
    assert stored(network()) == CONTENT


def test_a_graph_that_was_read_is_compiled(tmp_path):
    x = asarray(np.ones((2, 3), np.float32))
    found = read(CONTENT, tmp_path)(x)
    for a, b in zip(found, network()(x), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize(
    "value",
    [
        np.arange(3).astype(ml_dtypes.bfloat16),
        np.arange(3).astype(ml_dtypes.float8_e4m3fn),
        np.array([True, False]),
        np.array(7, np.int8),
        np.zeros((0, 3), np.float32),
        np.array([np.nan, -0.0, np.inf], np.float64),
    ],
    ids=str,
)
def test_constants_of_every_type(value, tmp_path):
    constant = asarray(value)
    (found,) = read(stored(FlowGraph((), (constant,))), tmp_path).constants
    assert (found.type, found.device) == (constant.type, "cpu")
    assert found.numpy().tobytes() == value.tobytes()


def test_symbols_are_one_size_wherever_they_come(tmp_path):
    n = size_symbol("n")
    x, y = symbol((n, 4)), symbol((n, 4))
    graph = trace_from(ops.reshape(x + y, (n * 2, 2)), [x, y])
    found = read(stored(graph), tmp_path)
    assert str(found) == str(graph)
    (a, b) = (each.shape[0] for each in found.inputs)
    assert a is b
    (result,) = evaluate(found, np.ones((3, 4)), np.ones((3, 4)))
    assert result.shape == (6, 2)


def test_places_devices_and_names_are_kept(tmp_path):
    x = symbol((4,), device="cuda", name="given")
    y = ops.relu(x)
    y.name = "made"
    graph = trace_from(y, x)
    found = read(stored(graph), tmp_path)
    assert [each.name for each in (*found.inputs, *found.outputs)] == ["given", "made"]
    assert found.inputs[0].device == found.outputs[0].device == "cuda:0"
    assert found.nodes[0].place == graph.nodes[0].place
    assert read(stored(graph), tmp_path, device="cpu").outputs[0].device == "cpu"


@pytest.mark.parametrize(
    "name", sorted(n for n, kind in OPERATORS.items() if kind.kind != "framework")
)
def test_every_operator_is_read_as_it_was(name, tmp_path):
    for op in OPERATORS[name].samples():
        inputs = [Tensor(each, "cpu") for each in op.types()]
        node = Node(op, tuple(inputs))
        found = read(stored(FlowGraph(inputs, node.outputs)), tmp_path)
        (again,) = found.nodes
        assert (again.op, again.op.results()) == (op, op.results())


def test_what_a_framework_computes_cannot_be_saved(tmp_path):
    x = Tensor(f32[2, 3], "cpu")
    (y,) = Node(Foreign((x.type,), "aten.det", ResultTypes((f32[2, 3],))), (x,)).outputs
    with pytest.raises(BadArgument, match="runs in a framework"):
        FlowGraph((x,), (y,)).save(tmp_path / "graph.safetensors")
    assert not list(tmp_path.iterdir())


@settings(max_examples=400)
@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed_or_without_effect(tmp_path_factory, position, change):
    content = bytearray(CONTENT)
    content[position] ^= change
    folder = tmp_path_factory.getbasetemp()
    try:
        found = read(bytes(content), folder)
    except BadArchive:
        return
    assert stored(found) == CONTENT


@settings(max_examples=60)
@given(st.integers(0, len(CONTENT) - 1))
def test_a_truncated_file_is_refused(tmp_path_factory, length):
    with pytest.raises(BadArchive, match=r"graph\.safetensors"):
        read(CONTENT[:length], tmp_path_factory.getbasetemp())


def test_a_file_of_other_tensors_is_refused(tmp_path):
    with pytest.raises(BadArchive, match="holds tensors, but no graph"):
        read(save_tensors({"w": np.ones(3)}), tmp_path)


def rewritten(change):
    """The file with its description changed, and the hash made right again."""
    size = int.from_bytes(CONTENT[:8], "little")
    facts = json.loads(json.loads(CONTENT[8 : 8 + size])["__metadata__"][KEY].partition("\n")[2])
    change(facts)
    text, values = json.dumps(facts), load_tensors(CONTENT)
    return save_tensors(values, {KEY: f"{digest(text, values)}\n{text}"})


def test_rewriting_alone_changes_nothing(tmp_path):
    assert stored(read(rewritten(lambda facts: None), tmp_path)) == CONTENT


WRONG = {
    "format": lambda f: f.update(format=2),
    "name": lambda f: f.update(name=3),
    "no inputs": lambda f: f.pop("inputs"),
    "size": lambda f: f["inputs"][0].update(shape=[2, -3]),
    "other size": lambda f: f["inputs"][0].update(shape=[2, 5]),
    "fraction": lambda f: f["inputs"][0].update(shape=[2, 3.0]),
    "node as size": lambda f: f["inputs"][0].update(shape=[["node", 0], 3]),
    "dtype": lambda f: f["inputs"][0].update(dtype="float31"),
    "device": lambda f: f["inputs"][0].update(device="tpu"),
    "longer constant": lambda f: f["constants"][0].update(shape=[30, 4]),
    "symbolic constant": lambda f: f["constants"][0].update(shape=["n", 4]),
    "constant's dtype": lambda f: f["constants"][0].update(dtype="float32"),
    "operator": lambda f: f["nodes"][0].update(op="launch_missiles"),
    "operator's name": lambda f: f["nodes"][0].update(op=["cast"]),
    "later tensor": lambda f: f["nodes"][0].update(operands=[5]),
    "negative tensor": lambda f: f["nodes"][0].update(operands=[-1]),
    "truth as tensor": lambda f: f["nodes"][0].update(operands=[True]),
    "no operand": lambda f: f["nodes"][0].update(operands=[]),
    "more operands": lambda f: f["nodes"][0].update(operands=[0, 0]),
    "operand is a list": lambda f: f["nodes"][0].update(operands=[[0]]),
    "attribute": lambda f: f["nodes"][0]["attributes"].update(strength=3),
    "attribute's type": lambda f: f["nodes"][0]["attributes"].update(dtype="float16"),
    "attribute's class": lambda f: f["nodes"][0]["attributes"].update(dtype=["record", "Path", 1]),
    "no attribute": lambda f: f["nodes"][0].update(attributes={}),
    "node's device": lambda f: f["nodes"][0].update(device=None),
    "place": lambda f: f["nodes"][0].update(place=["dtype", "float32"]),
    "names": lambda f: f["nodes"][0].update(names=[]),
    "output": lambda f: f.update(outputs=[99]),
    "outputs": lambda f: f.update(outputs=7),
    "sizes": lambda f: f.update(sizes=[["System", 1]]),
    "a list": lambda f: f.update(nodes=[[]]),
}


@pytest.mark.parametrize("what", WRONG)
def test_every_field_is_checked(what, tmp_path):
    with pytest.raises(BadArchive, match=r"graph\.safetensors|not known here"):
        read(rewritten(WRONG[what]), tmp_path)


def test_operators_of_other_packages_have_to_be_imported(tmp_path):
    with pytest.raises(BadArchive) as caught:
        read(rewritten(WRONG["operator"]), tmp_path)
    assert "'launch_missiles', which is not known here" in caught.value.message
    assert "import the package" in caught.value.help


def test_types_that_are_declared():
    assert fits(3, int)
    assert fits(3, float)
    assert fits(None, int | None)
    assert fits(((1, 2), (3, 4)), tuple[tuple[int, int], ...])
    assert not fits(True, int)
    assert not fits(3, bool)
    assert not fits((1, 2, 3), tuple[int, int])
    assert not fits([1], tuple[int, ...])
