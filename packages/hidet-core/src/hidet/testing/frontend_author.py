"""What frontends' cases are written in: operators that every framework has, and their meaning.

A case computes with an *author*: an object with the methods of `InNumpy`. A plugin's writes the
framework's own model as it is called; numpy's gives what has to come out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hidet.testing.frontend_cases import Case

Array = NDArray[Any]


class Called(Protocol):
    """A compiled model: called with arrays, it gives a list of arrays."""

    def __call__(self, *inputs: Array) -> Sequence[Array]: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file for `hidet.load`."""


class Author(Protocol):
    """What a plugin brings to the contract."""

    unsupported: str
    """How messages call the operator behind `foreign`."""

    def compile(self, case: Case, device: str, **options: Any) -> Called:
        """The case as the framework's own model, compiled; `options` are the frontend's."""


class InNumpy:
    """The meaning of each operator, in float64; axes count from the front.

    `size` gives a number that shapes may hold. `foreign` is any operator that the framework has
    and the compiler lacks, which doubles its input here.
    """

    add, subtract, multiply, divide = np.add, np.subtract, np.multiply, np.divide
    maximum, exp, tanh, less, matmul = np.maximum, np.exp, np.tanh, np.less, np.matmul
    where, transpose = staticmethod(np.where), staticmethod(np.transpose)
    reshape, expand = staticmethod(np.reshape), staticmethod(np.broadcast_to)

    def constant(self, array: Array) -> Array:
        """A tensor that the model holds."""
        return array.astype(np.float64) if array.dtype.kind == "f" else array

    def relu(self, x: Array) -> Array:
        """max(x, 0)."""
        return np.maximum(x, 0)

    def sigmoid(self, x: Array) -> Array:
        """1 / (1 + exp(-x))."""
        return 1 / (1 + np.exp(-x))

    def to_int(self, x: Array) -> Array:
        """As int32, towards zero."""
        return x.astype(np.int32)

    def sum(self, x: Array, axes: Sequence[int], keepdims: bool = False) -> Array:
        """Sums along axes."""
        return np.asarray(x.sum(tuple(axes), keepdims=keepdims))

    def mean(self, x: Array, axes: Sequence[int], keepdims: bool = False) -> Array:
        """Means along axes."""
        return np.asarray(x.mean(tuple(axes), keepdims=keepdims))

    def max(self, x: Array, axes: Sequence[int], keepdims: bool = False) -> Array:
        """The greatest along axes."""
        return np.asarray(x.max(tuple(axes), keepdims=keepdims))

    def argmax(self, x: Array, axis: int) -> Array:
        """The place of the greatest along an axis, as int64."""
        return np.asarray(x.argmax(axis))

    def softmax(self, x: Array, axis: int) -> Array:
        """exp(x), scaled to sum to one along an axis."""
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)  # type: ignore[no-any-return]

    def layer_norm(self, x: Array, weight: Array, bias: Array) -> Array:
        """Along the last axis, with 1e-5 under the root."""
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5)
        return centred / spread * weight + bias  # type: ignore[no-any-return]

    def attention(self, q: Array, k: Array, v: Array) -> Array:
        """[batch, heads, rows, size]; scores are divided by the root of the size."""
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return self.softmax(scores, scores.ndim - 1) @ v

    def conv(self, x: Array, weight: Array, stride: int, padding: int, groups: int = 1) -> Array:
        """[batch, channels, rows, columns] by [out, channels / groups, rows, columns]."""
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
        pieces = [windows(each, weight.shape[2], stride) for each in np.split(x, groups, 1)]
        parts = zip(pieces, np.split(weight, groups), strict=True)
        return np.concatenate([np.einsum("ncijhw,ochw->noij", *each) for each in parts], 1)

    def max_pool(self, x: Array, window: int, stride: int, padding: int = 0) -> Array:
        """The greatest of each window; margins count as less than anything."""
        widths = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        x = np.pad(x, widths, constant_values=-np.inf)
        return np.asarray(windows(x, window, stride).max((-2, -1)))

    def avg_pool(self, x: Array, window: int, stride: int) -> Array:
        """The mean of each window."""
        return np.asarray(windows(x, window, stride).mean((-2, -1)))

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        """One behind the other along an axis."""
        return np.concatenate(parts, axis)

    def slice(self, x: Array, axis: int, start: int, stop: int, step: int = 1) -> Array:
        """x[..., start:stop:step, ...]; ends below zero count from the end."""
        return x[(*[slice(None)] * axis, slice(start, stop, step))]

    def gather(self, x: Array, index: Array, axis: int) -> Array:
        """The entries at `index`, of any shape, along an axis."""
        return np.take(x, index, axis)

    def size(self, x: Array, axis: int) -> Any:
        """How long an axis is."""
        return x.shape[axis]

    def nonzero(self, x: Array) -> Array:
        """Where x is not zero, [count, rank] as int64."""
        return np.argwhere(x)

    def compress(self, x: Array, mask: Array) -> Array:
        """The entries along the first axis for which a mask of one axis holds."""
        return x[mask]

    def size_from(self, x: Array) -> Any:
        """The one element of an int64 as a number that shapes may hold: 0 or more."""
        return int(x)

    def if_(
        self, condition: Array, then: Callable[..., Any], otherwise: Callable[..., Any], *read: Any
    ) -> Any:
        """What one of two functions gives for what it reads; they read nothing else."""
        return then(*read) if condition else otherwise(*read)

    def repeat(self, iterations: Any, body: Callable[..., Any], x: Any, *read: Any) -> Any:
        """`x = body(x, *read)`, as often as a number or a whole-number tensor without axes says."""
        for _ in range(int(iterations)):
            x = body(x, *read)
        return x

    def foreign(self, x: Array) -> Array:
        """What the compiler lacks."""
        return x * 2


def windows(x: Array, size: int, stride: int) -> Array:
    """Square windows as two more axes."""
    found = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return found[:, :, ::stride, ::stride]
