"""The contract's cases as functions of TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import hidet_tf
from hidet.testing.frontend_author import Array
from hidet.testing.frontend_cases import Case

Tensor = tf.Tensor


class InTensorFlow:
    """Each operator as TensorFlow's; images are [batch, channels, rows, columns]."""

    add, subtract, multiply, divide = map(
        staticmethod, (tf.add, tf.subtract, tf.multiply, tf.divide)
    )
    maximum, exp, tanh, less = map(staticmethod, (tf.maximum, tf.exp, tf.tanh, tf.less))
    matmul, relu, sigmoid = map(staticmethod, (tf.matmul, tf.nn.relu, tf.sigmoid))
    where, transpose, softmax = map(staticmethod, (tf.where, tf.transpose, tf.nn.softmax))
    sum, mean, max = map(staticmethod, (tf.reduce_sum, tf.reduce_mean, tf.reduce_max))
    concat, nonzero, compress = map(staticmethod, (tf.concat, tf.where, tf.boolean_mask))
    argmax = staticmethod(tf.argmax)

    def constant(self, array: Array) -> Tensor:
        return tf.constant(array)

    def to_int(self, x: Tensor) -> Tensor:
        return tf.cast(x, tf.int32)

    def reshape(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        return tf.reshape(x, tf.stack([tf.cast(each, tf.int64) for each in shape]))

    def expand(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        return tf.broadcast_to(x, tf.stack([tf.cast(each, tf.int64) for each in shape]))

    def layer_norm(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, bias, weight, 1e-5)

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(np.float32(q.shape[-1]))
        return tf.matmul(tf.nn.softmax(scores), v)

    def conv(self, x: Tensor, weight: Tensor, stride: int, padding: int, groups: int = 1) -> Tensor:
        taps = tf.transpose(weight, (2, 3, 1, 0))
        return tf.nn.conv2d(x, taps, stride, sides(padding), data_format="NCHW")

    def max_pool(self, x: Tensor, window: int, stride: int, padding: int = 0) -> Tensor:
        return tf.nn.max_pool2d(x, window, stride, sides(padding), data_format="NCHW")

    def avg_pool(self, x: Tensor, window: int, stride: int) -> Tensor:
        return tf.nn.avg_pool2d(x, window, stride, "VALID", data_format="NCHW")

    def slice(self, x: Tensor, axis: int, start: int, stop: int, step: int = 1) -> Tensor:
        return x[(*[slice(None)] * axis, slice(start, stop, step))]

    def gather(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        return tf.gather(x, index, axis=axis)

    def size(self, x: Tensor, axis: int) -> Tensor:
        return tf.shape(x, tf.int64)[axis]

    def size_from(self, x: Tensor) -> Tensor:
        return x

    def if_(
        self,
        condition: Tensor,
        then: Callable[..., Tensor],
        otherwise: Callable[..., Tensor],
        *read: Tensor,
    ) -> Any:
        return tf.cond(condition, lambda: then(*read), lambda: otherwise(*read))

    def repeat(self, iterations: Any, body: Callable[..., Tensor], x: Tensor, *read: Tensor) -> Any:
        count = tf.cast(iterations, tf.int64)

        def following(iteration: Tensor, now: Tensor) -> tuple[Tensor, Tensor]:
            return iteration + 1, body(now, *read)

        start = tf.constant(0, tf.int64)
        return tf.while_loop(lambda iteration, now: iteration < count, following, (start, x))[1]

    def foreign(self, x: Tensor) -> Tensor:
        """By Python, which TensorFlow calls."""
        return tf.ensure_shape(tf.py_function(lambda given: given * 2, [x], x.dtype), x.shape)


def sides(padding: int) -> list[list[int]] | str:
    """The same number of zeros on each side of an image."""
    return [[0, 0], [0, 0], [padding] * 2, [padding] * 2] if padding else "VALID"


class Called:
    """A compiled model whose results are a list."""

    def __init__(self, case: Case, device: str, options: dict[str, Any]) -> None:
        function = tf.function(lambda *inputs: case.build(InTensorFlow(), *inputs))
        chosen = {"results": "numpy", **options}
        self.model = hidet_tf.compile(function, *specs(case), device=device, options=chosen)

    def __call__(self, *inputs: Array) -> list[Array]:
        found = self.model(*inputs)
        return [*found] if isinstance(found, tuple) else [found]

    def save(self, path: str | os.PathLike[str]) -> None:
        self.model.save(path)


def specs(case: Case) -> list[tf.TensorSpec]:
    """What a case takes; sizes that vary are open."""
    found = []
    for position, shape in enumerate(case.shapes):
        varying = case.varying.get(position, {})
        sizes = [None if axis in varying else size for axis, size in enumerate(shape)]
        kind = tf.int64 if position in case.below else tf.float32
        found.append(tf.TensorSpec(sizes, kind))
    return found


class TfAuthor:
    """Writes and compiles the cases."""

    unsupported = "EagerPyFunc"

    def compile(self, case: Case, device: str, **options: Any) -> Called:
        return Called(case, device, options)
