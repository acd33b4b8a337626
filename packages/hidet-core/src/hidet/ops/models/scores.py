"""Classical models: kernels of support vector machines, and functions of their scores."""

from __future__ import annotations

from typing import Literal

from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.activation import sigmoid
from hidet.ops.elementwise.binary import maximum, pow
from hidet.ops.elementwise.compare import equal, greater, less
from hidet.ops.elementwise.select import where
from hidet.ops.elementwise.unary import absolute, exp, isnan, log, sign, sqrt, square, tanh
from hidet.ops.products.matmul import linear
from hidet.ops.reductions.reduce import max as greatest
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.reductions.softmax import softmax
from hidet.ops.reductions.statistics import norm
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import Number
from hidet.types import f32, f64

PostTransform = Literal["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
Kernel = Literal["LINEAR", "POLY", "RBF", "SIGMOID"]


def post_transform(scores: Tensor, how: PostTransform = "NONE") -> Tensor:
    """Scores [n, classes] transformed as ai.onnx.ml's `post_transform` says.

    "SOFTMAX_ZERO" is a softmax in which zeros stay zero; "PROBIT" the inverse of the normal
    distribution, by Winitzki's approximation of the error function's inverse, as ONNX has it.
    """
    match how:
        case "NONE":
            return scores
        case "SOFTMAX":
            return softmax(scores, -1)
        case "LOGISTIC":
            return sigmoid(scores)
        case "SOFTMAX_ZERO":
            most = greatest(scores, -1, keepdims=True)
            zero = less(absolute(scores), 1e-7)
            parts: Tensor = where(zero, scores * exp(-most), exp(scores - most))
            sums = total(parts, -1, keepdims=True)
            none = equal(sums, 0.0)
            return where(none, 0.5, parts / where(none, 1.0, sums))
        case "PROBIT":
            found: Tensor = inverse_erf(scores * 2.0 - 1.0) * 2.0**0.5
            return found
    raise BadArgument(f"there is no post transform {how!r}")


def inverse_erf(x: Tensor) -> Tensor:
    """The inverse of the error function by Winitzki's formula, within 2e-3; 0 at -1 and 1."""
    scale = 0.147
    rest = (1.0 - x) * (x + 1.0)
    edge = equal(rest, 0.0)
    depth = log(where(edge, 1.0, rest))
    half = depth * 0.5 + 2.0 / (3.141592653589793 * scale)
    found: Tensor = sign(x) * sqrt(sqrt(square(half) - depth / scale) - half)
    return where(edge, 0.0, found)


def kernel_products(
    x: Tensor, vectors: Tensor, kernel: Kernel = "LINEAR", *, gamma: float = 0.0,
    offset: float = 0.0, degree: float = 0.0,
) -> Tensor:  # fmt: skip
    """[n, m]: the kernel of a support vector machine of each x[n, k] and each of vectors[m, k].

    "POLY" is (gamma · product + offset) ** degree, "SIGMOID" the tanh of the same sum, and
    "RBF" exp(-gamma · squared distance).
    """
    if x.ndim != 2 or vectors.ndim != 2:
        raise ShapeMismatch(f"a kernel of {x.type} and {vectors.type}")
    if kernel == "RBF":
        apart = total(square(x.unsqueeze(1) - vectors.unsqueeze(0)), -1)
        return exp(apart * -gamma)
    product = linear(x, vectors)
    if kernel == "LINEAR":
        return product
    sums = product * gamma + offset
    if kernel == "POLY":
        return pow(sums, degree)
    if kernel == "SIGMOID":
        return tanh(sums)
    raise BadArgument(f"there is no kernel {kernel!r}")


def scaled_by(x: Tensor, way: Literal["MAX", "L1", "L2"]) -> Tensor:
    """Each row of x[..., k] divided by its largest magnitude, or its norm; rows of zeros stay."""
    wide = x if x.dtype is f64 else cast(x, f32)
    orders = {"MAX": float("inf"), "L1": 1.0, "L2": 2.0}
    if way not in orders:
        raise BadArgument(f"there is no norm {way!r}")
    found: Tensor = wide / maximum(norm(wide, orders[way], -1, keepdims=True), 1e-30)
    return found


def imputed(x: Tensor, missing: Number, values: Tensor) -> Tensor:
    """`x` with `values`, which broadcast, in place of elements that are `missing` (may be NaN)."""
    gone = isnan(x) if missing != missing else equal(x, missing)
    return where(gone, cast(values, x.dtype), x)


def binarized(x: Tensor, threshold: float = 0.0) -> Tensor:
    """1 where `x` > `threshold`, else 0, in the type of `x`."""
    return cast(greater(x, threshold), x.dtype)
