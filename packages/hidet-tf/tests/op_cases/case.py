"""What a case is, and the values that cases take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import tensorflow as tf

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """`run(*inputs)` gives a tensor or a tuple of them.

    `ulps` is how many float32 units in the last place the compiled function may be off. One that
    is `narrow` has no float64 kernels in TensorFlow: what is expected is its float32 result. With
    `is_open` the first axis of each input with axes is compiled as a symbol, too.
    """

    name: str
    run: Callable[..., Any]
    inputs: tuple[Array, ...]
    ulps: float = 8
    narrow: bool = False
    is_open: bool = True
    meant: Callable[..., Any] | None = None
    """What TensorFlow runs instead, where its CPU lacks a kernel for what is compiled."""

    def __str__(self) -> str:
        return self.name

    def concrete(self, is_open: bool = False) -> Any:
        """The traced function; its first axes are unknown if `is_open`."""
        specs = [
            tf.TensorSpec(
                (None, *each.shape[1:]) if is_open and each.ndim else each.shape, each.dtype
            )
            for each in self.inputs
        ]
        return tf.function(self.run, input_signature=specs).get_concrete_function()

    def expected(self) -> list[Array]:
        """What TensorFlow gives, in float64 where it can."""
        run = self.meant or self.run
        given = [
            each.astype(np.float64) if each.dtype == np.float32 and not self.narrow else each
            for each in self.inputs
        ]
        return [each.numpy() for each in tf.nest.flatten(run(*map(tf.constant, given)))]


def case(name: str, run: Callable[..., Any], *inputs: Array, **more: Any) -> Case:
    """A case by position."""
    return Case(name, run, inputs, **more)


def channels_first(name: str, run: Callable[..., Any], x: Array, **more: Any) -> Case:
    """`run(x, "NCHW")` of an image [n, c, ...]; TensorFlow's CPU runs `run(x, "NHWC")` instead."""

    def meant(x: tf.Tensor) -> tf.Tensor:
        rank = x.shape.rank
        found = run(tf.transpose(x, (0, *range(2, rank), 1)), "NHWC")
        return tf.transpose(found, (0, rank - 1, *range(1, rank - 1)))

    how = {"ulps": 32, **more, "meant": meant}
    return case(f"{name}-NCHW", lambda x: run(x, "NCHW"), x, **how)


def random(shape: tuple[int, ...], salt: str = "") -> np.random.Generator:
    """A generator of its own for each shape and salt."""
    return np.random.default_rng(crc32(f"{shape}{salt}".encode()))


def floats(*shape: int, salt: str = "", low: float | None = None, high: float = 1.0) -> Array:
    """Normal numbers in float32, or those from `low` to `high`."""
    draw = random(shape, salt)
    found = draw.standard_normal(shape) if low is None else draw.uniform(low, high, shape)
    return found.astype(np.float32)


def positive(*shape: int, salt: str = "") -> Array:
    """Numbers from a tenth to two."""
    return floats(*shape, salt=salt, low=0.1, high=2.0)


def whole(*shape: int, low: int = -7, high: int = 8, kind: str = "int32", salt: str = "") -> Array:
    """Whole numbers."""
    return random(shape, salt).integers(low, high, shape).astype(kind)


def truths(*shape: int, salt: str = "") -> Array:
    """True or false."""
    return random(shape, salt).integers(0, 2, shape).astype(bool)
