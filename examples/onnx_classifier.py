"""An ONNX file compiled, called, compared with its meaning in float64, saved and loaded.

Run it: python examples/onnx_classifier.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

import hidet
import hidet_onnx

RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "w1": RANDOM.standard_normal((784, 256)).astype(np.float32) / 28,
    "w2": RANDOM.standard_normal((256, 10)).astype(np.float32) / 16,
}


def classifier() -> ModelProto:
    """Two layers and a softmax, as an exporter writes them."""
    nodes = [
        helper.make_node("MatMul", ["images", "w1"], ["product"]),
        helper.make_node("Relu", ["product"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w2"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["classes"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 784])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> None:
    """Compile a file for this machine and for others, and use both."""
    images = RANDOM.standard_normal((32, 784)).astype(np.float32)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.onnx"
        onnx.save(classifier(), str(path))
        model = hidet_onnx.compile(path)
        classes = model(images)
        report = model.correctness_report(images, float64=True)
        print(f"{classes.shape[0]} images; the largest error of an operator is {report.worst:.1e}")
        print(model.explain())

        session = hidet_onnx.InferenceSession(path)  # as onnxruntime.InferenceSession
        (same,) = session.run(None, {"images": images})
        assert np.array_equal(same, classes)

        model.save(Path(folder) / "classifier.hidet")
        loaded = hidet.load(Path(folder) / "classifier.hidet")  # needs neither onnx nor a compiler
        assert np.array_equal(loaded(images).numpy(), classes)


if __name__ == "__main__":
    main()
