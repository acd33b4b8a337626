"""LSTM classifiers on one thread of a CPU: `OMP_NUM_THREADS=1 python -m benchmarks.recurrent`.

ONNX Runtime and hidet run one ONNX model, PyTorch a layer of the same sizes. Systems are called in
turn; times are the least of the process's own, which do not count while others have the core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper

import hidet_onnx

STEPS = 128


class Case(NamedTuple):
    """A classifier: features and states of each layer, and whether a call says how many steps."""

    batch: int
    size: int
    layers: int = 1
    both: bool = False
    dynamic: bool = False


CASES = (
    *(Case(batch, size) for batch in (1, 32) for size in (128, 256, 512)),
    *(Case(batch, 256, dynamic=True) for batch in (1, 32)),
    Case(1, 256, 2, both=True),
)


def classifier(case: Case) -> ModelProto:
    """LSTM layers, the mean over time, and a matmul to ten classes."""
    batch, size, layers, both, _ = case
    random, ways, nodes, held = np.random.default_rng(0), 2 if both else 1, [], []

    def hold(name: str, *shape: int) -> str:
        values = random.uniform(-0.06, 0.06, shape).astype(np.float32)
        held.append(numpy_helper.from_array(values, name))
        return name

    held.append(numpy_helper.from_array(np.array([0, 0, -1]), "rows"))
    now, features = "x", size
    for n in range(layers):
        weights = [
            hold(f"w{n}", ways, 4 * size, features),
            hold(f"r{n}", ways, 4 * size, size),
            hold(f"b{n}", ways, 8 * size),
        ]
        direction = "bidirectional" if both else "forward"
        nodes += [
            helper.make_node(
                "LSTM", [now, *weights], [f"y{n}"], hidden_size=size, direction=direction
            ),
            helper.make_node("Transpose", [f"y{n}"], [f"t{n}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{n}", "rows"], [f"o{n}"]),
        ]
        now, features = f"o{n}", ways * size
    nodes.append(helper.make_node("ReduceMean", [now], ["mean"], axes=[0], keepdims=0))
    nodes.append(helper.make_node("MatMul", ["mean", hold("classes", features, 10)], ["out"]))
    steps: int | str = "steps" if case.dynamic else STEPS
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, size])
    result = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "classifier", [given], [result], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def systems(case: Case) -> dict[str, Callable[[], Any]]:
    """A call of each."""
    model = classifier(case)
    x = np.random.default_rng(1).standard_normal((STEPS, case.batch, case.size), np.float32)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
    compiled = hidet_onnx.compile(model)
    layer = torch.nn.LSTM(case.size, case.size, case.layers, bidirectional=case.both).eval()
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
    """The least of each in milliseconds of the process's own time."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - start)
    return {name: seconds * 1e3 for name, seconds in least.items()}


def main() -> None:
    """Print a row for each case."""
    torch.set_num_threads(1)
    for case in CASES:
        found = measured(systems(case), 40 if case.batch == 1 else 10)
        direction, steps = "both" if case.both else "forward", "a call's" if case.dynamic else STEPS
        print(f"| {case.batch} | {case.size} | {case.layers} | {direction} | {steps} | ", end="")
        print(" | ".join(f"{each:.2f}" for each in found.values()), "|", flush=True)


if __name__ == "__main__":
    main()
