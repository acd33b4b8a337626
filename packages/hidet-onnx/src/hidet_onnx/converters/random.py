"""Random numbers: with a seed the same in each call, without one others in each call."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet import ops
from hidet.frontend.running.host_values import HostFunction
from hidet.graph import Tensor
from hidet.types import DType, f32, i32, i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element


def drawing(seed: float | None) -> dict[str, Any]:
    """How to draw: by the bits of a seed, or from a place that each call chooses anew."""
    if seed is not None:
        return {"seed": int(np.float32(seed).view(np.uint32))}
    start = Tensor(i64[()], here().device, name="where random numbers start")
    here().on_host(HostFunction("random numbers", start_anywhere, (), (start,)), is_fallback=False)
    return {"seed": secrets.randbits(63), "offset": start}


def start_anywhere() -> list[Any]:
    """The first of 2**62 numbers that a call takes."""
    return [np.array(secrets.randbits(62), np.int64)]


def kind_like(x: Tensor, dtype: int | None) -> DType:
    """The element type that an attribute names, else that of x."""
    return x.dtype if dtype is None else element(dtype)


@onnx("RandomUniform", since=1)
def random_uniform(
    *, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None,
    shape: Sequence[int],
) -> Tensor:  # fmt: skip
    """Numbers between two, each as likely as the others."""
    how: dict[str, Any] = {"dtype": element(dtype), "device": here().device}
    return ops.random_uniform(tuple(shape), low, high, **how, **drawing(seed))


@onnx("RandomUniformLike", since=1)
def random_uniform_like(
    x: Tensor, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0,
    seed: float | None = None,
) -> Tensor:  # fmt: skip
    """The same in the shape of x."""
    how: dict[str, Any] = {"dtype": kind_like(x, dtype), "device": x.device}
    return ops.random_uniform(x.shape, low, high, **how, **drawing(seed))


@onnx("RandomNormal", since=1)
def random_normal(
    *, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None,
    shape: Sequence[int],
) -> Tensor:  # fmt: skip
    """Normally distributed numbers."""
    how: dict[str, Any] = {"dtype": element(dtype), "device": here().device}
    return ops.random_normal(tuple(shape), mean, scale, **how, **drawing(seed))


@onnx("RandomNormalLike", since=1)
def random_normal_like(
    x: Tensor, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:  # fmt: skip
    """The same in the shape of x."""
    how: dict[str, Any] = {"dtype": kind_like(x, dtype), "device": x.device}
    return ops.random_normal(x.shape, mean, scale, **how, **drawing(seed))


@onnx("Bernoulli", since=15)
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    """1 with the probability that each element says."""
    chance = ops.cast(x, f32)
    return ops.bernoulli(chance, dtype=kind_like(x, dtype), **drawing(seed))


@onnx("Multinomial", since=7)
def multinomial(
    x: Tensor, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None
) -> Tensor:
    """Classes drawn for each row of unnormalised logarithms of probabilities."""
    kind = i32 if dtype == 6 else element(dtype)
    return ops.multinomial(x, sample_size, dtype=kind, **drawing(seed))
