"""Tree ensembles and linear models as scikit-learn exports them, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import hidet_onnx

runtime = pytest.importorskip("onnxruntime")

X = np.random.default_rng(0).uniform(-1, 1, (7, 3)).astype(np.float32)
BRANCH, LEAF = "BRANCH_LEQ", "LEAF"
NODES = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2, 3, 4],
    "nodes_featureids": [1, 0, 0, 2, 0, 0, 0, 0],
    "nodes_modes": [BRANCH, LEAF, LEAF, BRANCH, BRANCH, LEAF, LEAF, LEAF],
    "nodes_values": [0.1, 0.0, 0.0, -0.2, 0.3, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0, 1, 3, 0, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 4, 0, 0, 0],
}  # fmt: skip
LEAVES = ([0, 0, 1, 1, 1], [1, 2, 2, 3, 4])


def model(kind: str, outputs: list[tuple[str, int]], **attributes: object) -> ModelProto:
    """A model of one operator on rows of three features."""
    node = helper.make_node(kind, ["x"], [o for o, _ in outputs], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
        [helper.make_tensor_value_info(name, code, None) for name, code in outputs],
    )
    imports = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def check(proto: ModelProto) -> None:
    """What hidet computes is what ONNX Runtime computes."""
    found = hidet_onnx.compile(proto, options={"fallback": "error"}).run([X])
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for each, wanted in zip(found, session.run(None, {"x": X}), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_a_regressor_of_two_trees(how: str) -> None:
    leaves = {"target_treeids": LEAVES[0], "target_nodeids": LEAVES[1], "target_ids": [0] * 5}
    weights = {"target_weights": [1.5, -2.0, 0.25, 4.0, 3.0]}
    outputs = [("y", TensorProto.FLOAT)]
    check(
        model("TreeEnsembleRegressor", outputs, aggregate_function=how, n_targets=1,
              **NODES, **leaves, **weights)
    )  # fmt: skip


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("labels", [[0, 1], [3, 5, 8]])
def test_a_classifier_of_two_trees(post: str, labels: list[int]) -> None:
    ids = [0] * 5 if len(labels) == 2 else [0, 1, 2, 1, 0]
    leaves = {"class_treeids": LEAVES[0], "class_nodeids": LEAVES[1], "class_ids": ids}
    outputs = [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)]
    check(
        model("TreeEnsembleClassifier", outputs, classlabels_int64s=labels, post_transform=post,
              class_weights=[0.5, 0.2, 0.1, 0.4, 0.3], **NODES, **leaves)
    )  # fmt: skip


def test_linear_models() -> None:
    weights = np.random.default_rng(1).uniform(-1, 1, 9).tolist()
    check(
        model("LinearRegressor", [("y", TensorProto.FLOAT)], coefficients=weights[:6],
              intercepts=weights[:2], targets=2)
    )  # fmt: skip
    outputs = [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)]
    check(
        model("LinearClassifier", outputs, coefficients=weights, intercepts=weights[:3],
              classlabels_ints=[2, 4, 6], post_transform="SOFTMAX")
    )  # fmt: skip


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_scaling(norm: str) -> None:
    check(model("Normalizer", [("y", TensorProto.FLOAT)], norm=norm))
    check(
        model("Scaler", [("y", TensorProto.FLOAT)], offset=[0.1, 0.2, 0.3], scale=[2.0, 3.0, 4.0])
    )
