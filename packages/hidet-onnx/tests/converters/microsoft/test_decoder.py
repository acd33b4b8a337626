"""A decoder as onnxruntime-genai's model builder writes it: packed weights, caches, some steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("onnxruntime")

from one_node import Array, by_runtime

import hidet_onnx

RANDOM = np.random.default_rng(0)
VOCABULARY, WIDTH, HEADS, GROUPS, SIZE, LAYERS = 19, 32, 4, 2, 16, 2
F, L, I = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32  # noqa: E741


class Writer:
    """Nodes and weights of a model."""

    def __init__(self, accuracy_level: int) -> None:
        self.accuracy_level = accuracy_level
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def held(self, name: str, array: Any) -> str:
        """A weight by its name."""
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, kind: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        """A node; the name of its first result."""
        plain = {"Gather", "Shape", "ReduceSum", "Sub", "Cast", "Mul", "Sigmoid",
                 "SimplifiedLayerNormalization"}  # fmt: skip
        domain = "" if kind in plain else "com.microsoft"
        self.nodes.append(
            helper.make_node(kind, inputs, list(outputs), domain=domain, **attributes)
        )
        return outputs[0]

    def dense(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """A layer of weights of 4 bits."""
        blocks = -(-inputs // 16)
        b = self.random.integers(0, 256, (outputs, blocks, 8)).astype(np.uint8)
        scale = (self.random.uniform(0.2, 1, outputs * blocks) / 40).astype(np.float32)
        given = [x, self.held(f"{name}.w", b), self.held(f"{name}.s", scale)]
        return self.add("MatMulNBits", given, name, K=inputs, N=outputs, bits=4, block_size=16,
                        accuracy_level=self.accuracy_level)  # fmt: skip

    def norm(self, name: str) -> str:
        given = self.random.uniform(0.5, 1.5, WIDTH)
        return self.held(f"{name}.g", given.astype(np.float32))


def layer(of: Writer, number: int, x: str, skip: str) -> tuple[str, str]:
    """Attention and a gated layer; the normalised result, and the sum for the next."""
    n = f"l{number}"
    q = of.dense(x, f"{n}.q", WIDTH, HEADS * SIZE)
    k, v = (of.dense(x, f"{n}.{each}", WIDTH, GROUPS * SIZE) for each in "kv")
    past, present = (
        [f"{time}.{number}.{each}" for each in ("key", "value")] for time in ("past", "present")
    )
    given = [q, k, v, *past, "lengths", "total", "cos", "sin"]
    of.add("GroupQueryAttention", given, f"{n}.a", *present, num_heads=HEADS, kv_num_heads=GROUPS,
           do_rotary=1)  # fmt: skip
    o = of.dense(f"{n}.a", f"{n}.o", HEADS * SIZE, WIDTH)
    of.add("SkipSimplifiedLayerNormalization", [skip, o, of.norm(f"{n}.n")], f"{n}.y", "", "",
           f"{n}.sum", epsilon=1e-6)  # fmt: skip
    gate, up = (of.dense(f"{n}.y", f"{n}.{each}", WIDTH, 2 * WIDTH) for each in ("gate", "up"))
    silu = of.add("QuickGelu", [gate], f"{n}.silu", alpha=1.0)
    inner = of.add("Mul", [silu, up], f"{n}.inner")
    down = of.dense(inner, f"{n}.down", 2 * WIDTH, WIDTH)
    summed = [f"{n}.sum", down, of.norm(f"{n}.m")]
    of.add("SkipSimplifiedLayerNormalization", summed, f"{n}.z",
           "", "", f"{n}.next", epsilon=1e-6)  # fmt: skip
    return f"{n}.z", f"{n}.next"


def decoder(accuracy_level: int) -> onnx.ModelProto:
    """Tokens, a mask of all that count, and caches; logits and caches."""
    of = Writer(accuracy_level)
    table = of.random.integers(0, 256, (VOCABULARY, WIDTH // 2)).astype(np.uint8)
    of.held("table", table)
    scale = of.random.uniform(0.05, 0.2, (VOCABULARY, WIDTH // 16))
    of.held("table.s", scale.astype(np.float32))
    angles = np.arange(24)[:, None] / 10 ** (np.arange(SIZE // 2) / 4)
    of.held("cos", np.cos(angles).astype(np.float32))
    of.held("sin", np.sin(angles).astype(np.float32))
    one, axis = of.held("one", np.array([1])), of.held("axis", np.array(1))
    counts = of.add("ReduceSum", ["attention_mask", one], "counts", keepdims=0)
    less = of.add("Sub", [counts, one], "less")
    of.add("Cast", [less], "lengths", to=I)
    shape = of.add("Shape", ["attention_mask"], "shape")
    of.add("Cast", [of.add("Gather", [shape, axis], "long")], "total", to=I)
    x = of.add(
        "GatherBlockQuantized", ["table", "input_ids", "table.s"], "x", bits=4, block_size=16
    )
    normed = of.add("SimplifiedLayerNormalization", [x, of.norm("first")], "x.n", axis=-1,
                    epsilon=1e-6, stash_type=1)  # fmt: skip
    for number in range(LAYERS):
        normed, x = layer(of, number, normed, x)
    of.dense(normed, "logits", WIDTH, VOCABULARY)
    value = helper.make_tensor_value_info
    cache = [f"{n}.{each}" for n in range(LAYERS) for each in ("key", "value")]
    inputs = [value("input_ids", L, ["batch", "length"])]
    inputs.append(value("attention_mask", L, ["batch", "total"]))
    inputs += [value(f"past.{each}", F, ["batch", GROUPS, "past", SIZE]) for each in cache]
    outputs = [value("logits", F, None), *(value(f"present.{each}", F, None) for each in cache)]
    graph = helper.make_graph(of.nodes, "decoder", inputs, outputs, of.weights)
    imports = [helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


@pytest.mark.parametrize("room", [0, 16])
def test_a_prompt_and_tokens_after_it(room: int) -> None:
    """A cache with room for all tokens keeps its size; one without grows; one form takes all.

    ONNX Runtime may round activations to bytes at accuracy_level 4, so it is asked for 0.
    """
    reference = decoder(accuracy_level=0)
    compiled = hidet_onnx.compile(decoder(accuracy_level=4), options={"fallback": "error"})
    ids = RANDOM.integers(0, VOCABULARY, (1, 7))
    cache: list[Array] = [np.zeros((1, GROUPS, room, SIZE), np.float32)] * (2 * LAYERS)
    theirs, done = cache, 0
    for count in (5, 1, 1):
        given = [ids[:, done : done + count], np.ones((1, done + count), np.int64)]
        done += count
        found = compiled.run([*given, *cache])
        wanted = by_runtime(reference, [*given, *theirs])
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)
        cache, theirs = found[1:], wanted[1:]
        for each, other in zip(cache, theirs, strict=True):
            assert each.shape == other.shape == (1, GROUPS, max(room, done), SIZE)
            np.testing.assert_allclose(each[:, :, :done], other[:, :, :done], rtol=1e-4, atol=1e-5)
    assert len(compiled.variants.forms) == 1
