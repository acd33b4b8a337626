"""Models of scikit-learn, by skl2onnx, beside ONNX Runtime: labels are numbers and strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hidet_onnx

pytest.importorskip("sklearn")
runtime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from sklearn import ensemble, linear_model, neural_network, preprocessing, svm, tree  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(129, 5)).astype(np.float32)
SCORE = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
CLASSES = {
    "two": (SCORE > 0).astype(np.int64) * 3 + 2,
    "three": np.digitize(SCORE, [-0.5, 0.5]).astype(np.int64),
    "texts": np.array(["low", "middle", "high"])[np.digitize(SCORE, [-0.5, 0.5])],
    "two texts": np.array(["no", "yes"])[(SCORE > 0).astype(int)],
}
CLASSIFIERS = {
    "tree": lambda: tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: ensemble.RandomForestClassifier(7, max_depth=7, random_state=0),
    "boosted": lambda: ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
    "logistic": linear_model.LogisticRegression,
    "linear vectors": svm.LinearSVC,
    "vectors": lambda: svm.SVC(kernel="rbf"),
    "vectors and shares": lambda: svm.SVC(kernel="poly", coef0=1.0, probability=True),
}
REGRESSORS = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest": lambda: ensemble.RandomForestRegressor(7, max_depth=3, random_state=0),
    "boosted": lambda: ensemble.GradientBoostingRegressor(n_estimators=11, random_state=0),
    "linear": linear_model.Ridge,
    "vectors": lambda: svm.SVR(kernel="rbf"),
    "sigmoid": lambda: svm.SVR(kernel="sigmoid", gamma=0.1),
    "one class": svm.OneClassSVM,
    "scaled": lambda: make_pipeline(
        preprocessing.StandardScaler(), preprocessing.Normalizer(),
        neural_network.MLPRegressor(hidden_layer_sizes=(7,), max_iter=20, random_state=0),
    ),
}  # fmt: skip


def beside(model: Any, **options: Any) -> None:
    """What hidet computes is what ONNX Runtime computes, for several numbers of rows."""
    proto = skl2onnx.to_onnx(model, X[:1], options=options or None)
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = hidet_onnx.compile(proto)
    for rows in (1, 2, 129):
        given = RANDOM.normal(size=(rows, 5)).astype(np.float32)
        wanted = session.run(None, {"X": given})
        for each, other in zip(compiled.run([given]), wanted, strict=True):
            if other.dtype.kind == "f":
                np.testing.assert_allclose(each, other, rtol=2e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(each, other)
    assert compiled.latest().imported.coverage.left.keys() <= {
        f"labels of ai.onnx.ml.{kind}Classifier" for kind in ("TreeEnsemble", "Linear", "SVM")
    } | {"ai.onnx.ml.ArrayFeatureExtractor"}


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        ("tree", "two"), ("forest", "texts"), ("boosted", "two texts"), ("boosted", "three"),
        ("logistic", "three"), ("linear vectors", "two"), ("vectors", "two"), ("vectors", "texts"),
        ("vectors and shares", "two texts"), ("vectors and shares", "three"),
    ],
)  # fmt: skip
def test_classifiers(kind: str, classes: str) -> None:
    options = {} if kind == "linear vectors" else {"zipmap": False}
    beside(CLASSIFIERS[kind]().fit(X, CLASSES[classes]), **options)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors(kind: str) -> None:
    beside(REGRESSORS[kind]().fit(X, SCORE))
