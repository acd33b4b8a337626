"""LSTM classifiers on one thread of a CPU: `OMP_NUM_THREADS=1 python -m benchmarks.recurrent`.

ONNX Runtime and hidet run one ONNX model, PyTorch a layer of the same sizes. Systems take turns;
times are those of the process, which do not count while others have the core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper

import hidet_onnx

STEPS, SIZE = 128, 256
CASES = ((1, 1, False), (128, 1, False), (1, 2, True), (128, 2, True))
"""Batch, layers, whether both directions."""


def classifier(batch: int, layers: int, both: bool) -> ModelProto:
    """LSTM layers, the mean over time, and a matmul to ten classes."""
    random, ways, nodes, held = np.random.default_rng(0), 2 if both else 1, [], []

    def hold(name: str, *shape: int) -> str:
        values = random.uniform(-0.06, 0.06, shape).astype(np.float32)
        held.append(numpy_helper.from_array(values, name))
        return name

    held.append(numpy_helper.from_array(np.array([0, 0, -1]), "rows"))
    now, features = "x", SIZE
    for n in range(layers):
        weights = [
            hold(f"w{n}", ways, 4 * SIZE, features),
            hold(f"r{n}", ways, 4 * SIZE, SIZE),
            hold(f"b{n}", ways, 8 * SIZE),
        ]
        direction = "bidirectional" if both else "forward"
        nodes += [
            helper.make_node(
                "LSTM", [now, *weights], [f"y{n}"], hidden_size=SIZE, direction=direction
            ),
            helper.make_node("Transpose", [f"y{n}"], [f"t{n}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{n}", "rows"], [f"o{n}"]),
        ]
        now, features = f"o{n}", ways * SIZE
    nodes.append(helper.make_node("ReduceMean", [now], ["mean"], axes=[0], keepdims=0))
    nodes.append(helper.make_node("MatMul", ["mean", hold("classes", features, 10)], ["out"]))
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, batch, SIZE])
    result = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "classifier", [given], [result], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def systems(batch: int, layers: int, both: bool) -> dict[str, Callable[[], Any]]:
    """A call of each."""
    model = classifier(batch, layers, both)
    x = np.random.default_rng(1).standard_normal((STEPS, batch, SIZE), np.float32)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
    compiled = hidet_onnx.compile(model)
    layer = torch.nn.LSTM(SIZE, SIZE, layers, bidirectional=both).eval()
    rows = torch.from_numpy(x)

    def eager() -> Any:
        with torch.no_grad():
            return layer(rows)[0].mean(0)

    np.testing.assert_allclose(compiled(x), session.run(None, {"x": x})[0], atol=1e-5)
    return {
        "hidet": lambda: compiled(x),
        "ONNX Runtime": lambda: session.run(None, {"x": x}),
        "PyTorch": eager,
    }


def measured(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median of each in milliseconds of the process's own time."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 2):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if number >= 2:
                times[name].append(time.process_time() - start)
    return {name: statistics.median(each) * 1e3 for name, each in times.items()}


def main() -> None:
    """Print a row for each case."""
    torch.set_num_threads(1)
    for batch, layers, both in CASES:
        found = measured(systems(batch, layers, both), 31 if batch == 1 else 5)
        print(f"| {batch} | {layers} | {'both' if both else 'forward'} | ", end="")
        print(" | ".join(f"{each:.2f}" for each in found.values()), "|", flush=True)


if __name__ == "__main__":
    main()
