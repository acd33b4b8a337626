"""Linear models, and what goes before models: scaling, filling, encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet import ops
from hidet.compute.sizes import product
from hidet.errors import BadArgument, NotYet
from hidet.frontend.running.host_values import HostValue
from hidet.graph import Tensor
from hidet.types import f32, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.labels import labelled, texts_at
from hidet_onnx.converters.post_transform import binary_scores, transformed
from hidet_onnx.converters.table import ml
from hidet_onnx.converters.trees import real


@ml("ArrayFeatureExtractor", since=1)
def array_feature_extractor(x: Tensor, index: Tensor) -> Tensor:
    """The columns of x that the positions name."""
    flat = ops.reshape(index, (-1,))
    found = ops.index_select(x, x.ndim - 1, flat)
    return ops.reshape(found, (1, product(flat.shape))) if x.ndim == 1 else found


@ml("Binarizer", since=1)
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    """1 above the threshold, else 0."""
    return ops.cast(ops.greater(x, threshold), x.dtype)


@ml("Scaler", since=1)
def scaler(
    x: Tensor, *, offset: Sequence[float] | None = None, scale: Sequence[float] | None = None
) -> Tensor:
    """(x - offset) * scale, for each feature."""
    wide = ops.cast(x, f32)
    centred = wide if offset is None else ops.subtract(wide, constant(offset, f32))
    return centred if scale is None else ops.multiply(centred, constant(scale, f32))


@ml("Normalizer", since=1)
def normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    """Rows over their greatest element, their sum or their length; as they are where that is 0."""
    wide = ops.cast(x, f32)
    if norm == "MAX":
        size = ops.max(wide, -1, keepdims=True)
    elif norm in ("L1", "L2"):
        size = ops.norm(wide, int(norm[1]), -1, keepdims=True)
    else:
        raise BadArgument(f"there is no norm {norm!r}", help="use MAX, L1 or L2")
    return ops.divide(wide, ops.where(ops.equal(size, 0.0), ops.ones_like(size), size))


@ml("Imputer", since=1)
def imputer(
    x: Tensor, *, imputed_value_floats: Sequence[float] | None = None,
    imputed_value_int64s: Sequence[int] | None = None, replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Tensor:  # fmt: skip
    """x with another value in the place of one that stands for missing."""
    given = imputed_value_floats if x.dtype.is_float else imputed_value_int64s
    if not given:
        raise BadArgument("Imputer has no values of the operand's type")
    if x.dtype.is_float and np.isnan(replaced_value_float):
        missing = ops.isnan(x)
    else:
        value = replaced_value_float if x.dtype.is_float else replaced_value_int64
        missing = ops.equal(x, value)
    return ops.where(missing, constant(given, x.dtype), x)


@ml("FeatureVectorizer", since=1)
def feature_vectorizer(*tensors: Tensor, inputdimensions: Sequence[int] | None = None) -> Tensor:
    """Features side by side, as floats."""
    rows = [each if each.ndim == 2 else ops.reshape(each, (1, -1)) for each in tensors]
    if inputdimensions:
        pairs = zip(rows, inputdimensions, strict=True)
        rows = [ops.slice(each, 1, 0, count) for each, count in pairs]
    return ops.concat([ops.cast(each, f32) for each in rows], 1)


@ml("OneHotEncoder", since=1)
def one_hot_encoder(
    x: Tensor, *, cats_int64s: Sequence[int] | None = None,
    cats_strings: Sequence[str] | None = None, zeros: int = 1,
) -> Tensor:  # fmt: skip
    """A new last axis with 1 at the category that the element is."""
    if not cats_int64s or not zeros:
        raise NotYet("categories that are strings, or must not be missing")
    return ops.cast(ops.equal(ops.cast(ops.unsqueeze(x, -1), i64), constant(cats_int64s, i64)), f32)


@ml("LabelEncoder", since=4)
def label_encoder(
    x: Tensor, *, default_float: float = -0.0, default_int64: int = -1,
    default_string: str = "_Unused", default_tensor: Any = None,
    keys_floats: Sequence[float] | None = None, keys_int64s: Sequence[int] | None = None,
    keys_strings: Sequence[str] | None = None, keys_tensor: Any = None,
    values_floats: Sequence[float] | None = None, values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None, values_tensor: Any = None,
) -> Tensor | HostValue:  # fmt: skip
    """The value of the key that each element is, or a default."""
    keys = keys_tensor.numpy() if isinstance(keys_tensor, Tensor) else keys_floats or keys_int64s
    if keys is None:
        raise NotYet("keys that are strings")
    place = found_at(x, np.asarray(keys, x.dtype.numpy).ravel())
    if isinstance(values_tensor, Tensor):
        other = default_tensor.numpy().ravel() if isinstance(default_tensor, Tensor) else [0]
        return ops.take(
            constant([*values_tensor.numpy().ravel(), *other], values_tensor.dtype), [place]
        )
    texts = values_strings or (None if values_tensor is None else [*map(str, values_tensor.flat)])
    if texts:
        text = default_string if default_tensor is None else str(default_tensor.flat[0])
        return texts_at(place, [*texts, text])
    if values_int64s:
        return ops.take(constant([*values_int64s, default_int64], i64), [place])
    if values_floats:
        return ops.take(constant([*values_floats, default_float], f32), [place])
    raise BadArgument("LabelEncoder has no values")


@ml("LabelEncoder", since=2)
def label_encoder_before_4(
    x: Tensor, *, default_float: float = -0.0, default_int64: int = -1,
    default_string: str = "_Unused", keys_floats: Sequence[float] | None = None,
    keys_int64s: Sequence[int] | None = None, keys_strings: Sequence[str] | None = None,
    values_floats: Sequence[float] | None = None, values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None,
) -> Tensor | HostValue:  # fmt: skip
    """The same of lists."""
    return label_encoder(
        x, default_float=default_float, default_int64=default_int64, default_string=default_string,
        keys_floats=keys_floats, keys_int64s=keys_int64s, keys_strings=keys_strings,
        values_floats=values_floats, values_int64s=values_int64s, values_strings=values_strings,
    )  # fmt: skip


@ml("LabelEncoder", since=1)
def label_encoder_before_2(
    x: Tensor, *, classes_strings: Sequence[str] | None = None, default_int64: int = -1,
    default_string: str = "_Unused",
) -> HostValue:  # fmt: skip
    """The string of which each element is the number."""
    names = classes_strings or ()
    inside = ops.logical_and(ops.greater_equal(x, 0), ops.less(x, len(names)))
    return texts_at(ops.where(inside, x, len(names)), [*names, default_string])


def found_at(x: Tensor, keys: np.ndarray[Any, Any]) -> Tensor:
    """The number of the key that each element is, the last of equal ones; their count for others.

    A NaN is found too, as ONNX has it.
    """
    order = np.argsort(keys, kind="stable")
    ordered = constant(keys[order], x.dtype)
    last = ops.searchsorted(ordered, x, right=True)
    before = ops.maximum(ops.subtract(last, 1), 0)
    is_key = ops.equal(ops.take(ordered, [before]), x)
    if x.dtype.is_float and np.isnan(keys).any():
        is_key = ops.logical_or(is_key, ops.isnan(x))
        before = ops.where(ops.isnan(x), len(keys) - 1, before)
    return ops.where(is_key, ops.take(constant(order, i64), [before]), len(keys))


@ml("LinearRegressor", since=1)
def linear_regressor(
    x: Tensor, *, coefficients: Sequence[float] | None = None,
    intercepts: Sequence[float] | None = None, post_transform: str = "NONE", targets: int = 1,
) -> Tensor:  # fmt: skip
    """A weighted sum of features for each target."""
    if not coefficients:
        raise BadArgument("LinearRegressor has no coefficients")
    return transformed(weighed(x, coefficients, intercepts, targets), post_transform)


def weighed(
    x: Tensor, coefficients: Sequence[float], intercepts: Sequence[float] | None, count: int
) -> Tensor:
    """A weighted sum of features for each of `count` scores, in float32."""
    table = np.asarray(coefficients, np.float32).reshape(count, -1)
    bias = constant(intercepts, f32) if intercepts else None
    return ops.linear(ops.cast(real(x), f32), constant(table, f32), bias)


@ml("LinearClassifier", since=1)
def linear_classifier(
    x: Tensor, *, coefficients: Sequence[float], classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None, intercepts: Sequence[float] | None = None,
    multi_class: int = 0, post_transform: str = "NONE",
) -> tuple[Tensor | HostValue, Tensor]:  # fmt: skip
    """The label of each row, and its scores by class."""
    labels = classlabels_ints or classlabels_strings or ()
    features = x.shape[-1]
    if not isinstance(features, int) or len(coefficients) % features:
        raise BadArgument(f"{len(coefficients)} coefficients for {features} features")
    scores = weighed(x, coefficients, intercepts, len(coefficients) // features)
    if scores.shape[-1] == 1 and len(labels) == 2:
        place = ops.cast(ops.greater(ops.squeeze(scores, 1), 0.0), i64)
        scores = binary_scores(scores, post_transform, is_share=True)
    else:
        place = ops.argmax(scores, 1)
        scores = transformed(scores, post_transform)
    return labelled(place, classlabels_ints, classlabels_strings), scores
