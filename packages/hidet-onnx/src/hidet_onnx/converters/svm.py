"""Support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.running.host_values import HostValue
from hidet.graph import Tensor
from hidet.types import f32
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.labels import labelled
from hidet_onnx.converters.post_transform import binary_scores, transformed
from hidet_onnx.converters.table import ml
from hidet_onnx.converters.trees import real

Array = np.ndarray[Any, Any]


def kernel(x: Tensor, vectors: Array, kind: str, given: Sequence[float] | None) -> Tensor:
    """[rows, vectors]: how near each row of x is to each vector."""
    gamma, coefficient, degree = (*(given or ()), 0.0, 0.0, 0.0)[:3]
    products = ops.linear(x, constant(vectors, f32))
    if kind == "LINEAR":
        return products
    if kind == "RBF":
        own = ops.sum(ops.multiply(x, x), 1, keepdims=True)
        theirs = constant((vectors.astype(np.float64) ** 2).sum(1), f32)
        squares = ops.subtract(ops.add(own, theirs), ops.multiply(products, 2.0))
        return ops.exp(ops.multiply(ops.maximum(squares, 0.0), -gamma))
    line = ops.add(ops.multiply(products, gamma), coefficient)
    if kind == "SIGMOID":
        return ops.tanh(line)
    if kind == "POLY":
        return ops.pow(line, float(int(degree)))
    raise BadArgument(f"there is no kernel {kind!r}", help="use LINEAR, POLY, RBF or SIGMOID")


@ml("SVMRegressor", since=1)
def svm_regressor(
    x: Tensor, *, coefficients: Sequence[float] | None = None,
    kernel_params: Sequence[float] | None = None,
    kernel_type: str = "LINEAR", n_supports: int = 0, one_class: int = 0,
    post_transform: str = "NONE", rho: Sequence[float] | None = None,
    support_vectors: Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """[rows, 1]: a weighed sum of kernels; its sign, 1 or -1, if it is of one class."""
    wide = ops.cast(real(x), f32)
    if n_supports:
        vectors = np.reshape(support_vectors or (), (n_supports, -1))
        near = kernel(wide, vectors, kernel_type, kernel_params)
    else:
        near = wide
    found = ops.linear(near, constant([coefficients or ()], f32))
    found = ops.add(found, float((rho or (0.0,))[0]))
    if one_class:
        return ops.where(ops.greater(found, 0.0), ops.ones_like(found), -1.0)
    return transformed(found, post_transform)


@ml("SVMClassifier", since=1)
def svm_classifier(
    x: Tensor, *, classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None, coefficients: Sequence[float] | None = None,
    kernel_params: Sequence[float] | None = None, kernel_type: str = "LINEAR",
    post_transform: str = "NONE", prob_a: Sequence[float] | None = None,
    prob_b: Sequence[float] | None = None, rho: Sequence[float] | None = None,
    support_vectors: Sequence[float] | None = None, vectors_per_class: Sequence[int] | None = None,
) -> tuple[Tensor | HostValue, Tensor]:  # fmt: skip
    """The label of each row, and its scores: of classes, or of pairs of them."""
    classes = len(classlabels_ints or classlabels_strings or ())
    wide = ops.cast(real(x), f32)
    if not vectors_per_class:
        table = np.reshape(coefficients or (), (classes, -1))
        scores = ops.add(ops.linear(wide, constant(table, f32)), float((rho or (0.0,))[0]))
        place = ops.argmax(scores, 1)
        return (
            labelled(place, classlabels_ints, classlabels_strings),
            transformed(scores, post_transform),
        )
    vectors = np.reshape(support_vectors or (), (sum(vectors_per_class), -1))
    near = kernel(wide, vectors, kernel_type, kernel_params)
    weights = pair_weights(np.reshape(coefficients or (), (-1, len(vectors))), vectors_per_class)
    pairs = ops.add(ops.linear(near, constant(weights, f32)), constant(rho or (0.0,), f32))
    if prob_a:
        scores = shares(pairs, prob_a, prob_b or (0.0,) * len(prob_a), classes)
        place = ops.argmax(votes(pairs, classes), 1)
        return labelled(place, classlabels_ints, classlabels_strings), transformed(
            scores, post_transform
        )
    place = ops.argmax(votes(pairs, classes), 1)
    if classes == 2:
        scores = binary_scores(pairs, post_transform, is_share=False)
    else:
        scores = transformed(pairs, post_transform)
    return labelled(place, classlabels_ints, classlabels_strings), scores


def pair_weights(coefficients: Array, counts: Sequence[int]) -> Array:
    """[pairs, vectors]: the weights by which the vectors of two classes decide between them."""
    ends = np.cumsum(counts)
    own = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    rows = []
    for i, j in combinations(range(len(counts)), 2):
        row = np.zeros(coefficients.shape[1])
        row[own[i]], row[own[j]] = coefficients[j - 1, own[i]], coefficients[i, own[j]]
        rows.append(row)
    return np.array(rows)


def one_sided(classes: int) -> tuple[Array, Array]:
    """[pairs, classes]: 1 for the first class of each pair, and for the second."""
    first, second = zip(*combinations(range(classes), 2), strict=True)
    return np.eye(classes)[list(first)], np.eye(classes)[list(second)]


def votes(pairs: Tensor, classes: int) -> Tensor:
    """[rows, classes]: how many pairs each class wins."""
    first, second = one_sided(classes)
    won = ops.cast(ops.greater(pairs, 0.0), f32)
    return ops.add(
        ops.matmul(won, constant(first, f32)),
        ops.matmul(ops.subtract(1.0, won), constant(second, f32)),
    )


def shares(pairs: Tensor, a: Sequence[float], b: Sequence[float], classes: int) -> Tensor:
    """[rows, classes]: probabilities of classes that agree best with those of pairs.

    Source: Wu, Lin and Weng 2004, as LIBSVM iterates it until no class is off by 0.005 / classes.
    """
    line = ops.add(ops.multiply(pairs, constant(a, f32)), constant(b, f32))
    wins = ops.clamp(ops.subtract(1.0, ops.sigmoid(line)), 1e-7, 1 - 1e-7)
    first, second = one_sided(classes)
    there = first[:, :, None] * second[:, None, :]
    flat = (there.reshape(len(first), -1), there.transpose(0, 2, 1).reshape(len(first), -1))
    table = ops.add(
        ops.matmul(wins, constant(flat[0], f32)),
        ops.matmul(ops.subtract(1.0, wins), constant(flat[1], f32)),
    )
    wide = ops.reshape(table, (pairs.shape[0], classes, classes))
    turned = ops.transpose(wide, 1, 2)
    squares = ops.unsqueeze(ops.sum(ops.multiply(wide, wide), 1), 2)
    own = ops.multiply(squares, constant(np.eye(classes), f32))
    q = ops.subtract(own, ops.multiply(turned, wide))
    start = ops.full((pairs.shape[0], classes), 1.0 / classes, f32, device=pairs.device)
    return iterated(q, start, classes)


def iterated(q: Tensor, start: Tensor, classes: int) -> Tensor:
    """The shares after as many iterations as LIBSVM takes for each row."""

    def off(share: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        slope = ops.squeeze(ops.matmul(q, ops.unsqueeze(share, 2)), 2)
        total = ops.sum(ops.multiply(share, slope), 1, keepdims=True)
        error = ops.max(ops.absolute(ops.subtract(slope, total)), 1, keepdims=True)
        return slope, total, ops.greater_equal(error, 0.005 / classes)

    def iteration(_: Tensor, share: Tensor) -> tuple[Tensor, list[Tensor], tuple[()]]:
        slope, total, is_open = off(share)
        new = share
        for t in range(classes):
            unit = constant(np.eye(classes)[t], f32)
            row, at = ops.select(q, 1, t), ops.slice(slope, 1, t, t + 1)
            diagonal = ops.slice(row, 1, t, t + 1)
            step = ops.divide(ops.subtract(total, at), diagonal)
            grown = ops.add(step, 1.0)
            more = ops.multiply(step, ops.add(ops.multiply(step, diagonal), ops.multiply(at, 2.0)))
            total = ops.divide(ops.add(total, more), ops.multiply(grown, grown))
            new = ops.divide(ops.add(new, ops.multiply(unit, step)), grown)
            slope = ops.divide(ops.add(slope, ops.multiply(step, row)), grown)
        kept = ops.where(is_open, new, share)
        return ops.any(off(kept)[2]), [kept], ()

    found, _, _ = ops.loop(
        iteration, [start], trips=max(100, classes), go_on=ops.any(off(start)[2])
    )
    return found[0]
