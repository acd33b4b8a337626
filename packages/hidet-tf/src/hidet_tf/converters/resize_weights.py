"""What elements of an axis contribute to those of a resized one: matrices [count, size].

TensorFlow computes them in float32, and so do these functions: a rounding that goes the other way
is another element. Source: tensorflow/core/kernels/image/{scale_and_translate_op,resize_area_op,
resize_bicubic_op}.cc and sampling_kernels.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.errors import NotYet

Array = np.ndarray[Any, np.dtype[np.float32]]
ONE, HALF = np.float32(1), np.float32(0.5)
SMALLEST = 1000 * np.finfo(np.float32).tiny
"""A sum of weights below this is no sum to divide by."""


def scale_between(size: int, count: int, align_corners: bool) -> np.float32:
    """How far apart the places that `count` elements read are."""
    if align_corners and count > 1:
        return np.float32(size - 1) / np.float32(count - 1)
    return np.float32(size) / np.float32(count)


def positions(size: int, count: int, align_corners: bool, half_pixel: bool) -> Array:
    """The places that a resized axis reads."""
    places, scale = np.arange(count, dtype=np.float32), scale_between(size, count, align_corners)
    return (places + HALF) * scale - HALF if half_pixel else places * scale


# ---- by a kernel, scaled and moved ---------------------------------------------------------------


def lanczos(radius: float) -> Callable[[Array], Array]:
    """The window of sinc functions of a radius."""

    def weight(x: Array) -> Array:
        safe = np.maximum(x, np.float32(1e-3)) * np.float32(np.pi)
        found = np.float32(radius) * np.sin(safe) * np.sin(safe / np.float32(radius)) / safe**2
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, found)).astype(np.float32)

    return weight


def cubic(x: Array) -> Array:
    """Keys' cubic convolution."""
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near)).astype(np.float32)


def mitchell(x: Array) -> Array:
    """Mitchell's and Netravali's cubic."""
    near = (((7 / 6) * x - 2) * x) * x + 8 / 9
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, near)).astype(np.float32)


KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "lanczos1": (1, lanczos(1)),
    "lanczos3": (3, lanczos(3)),
    "lanczos5": (5, lanczos(5)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / 0.5)).astype(np.float32)),
    "box": (1, lambda x: np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0)).astype(np.float32)),
    "triangle": (1, lambda x: np.maximum(1 - x, 0).astype(np.float32)),
    "keyscubic": (2, cubic),
    "mitchellcubic": (2, mitchell),
}
"""Radius and weight by distance."""


def kernel_weights(
    size: int, count: int, scale: float, translation: float, kernel: str, antialias: bool
) -> Array:
    """A kernel around each place, widened where elements lie closer than those read."""
    if kernel not in KERNELS:
        raise NotYet(f"a resize by the kernel {kernel!r}")
    radius, weight = KERNELS[kernel]
    inverse = ONE / np.float32(scale)
    sample = (np.arange(count, dtype=np.float32) + HALF) * inverse - inverse * np.float32(
        translation
    )
    spread = max(inverse, ONE) if antialias else ONE
    reach = np.float32(radius) * spread
    source = np.arange(size, dtype=np.float32)
    first = np.clip(np.ceil(sample - reach - HALF), 0, size - 1)
    last = np.clip(np.floor(sample + reach - HALF), 0, size - 1)
    found = weight(np.abs((source + HALF - sample[:, None]) * (ONE / spread)))
    found = np.where((source >= first[:, None]) & (source <= last[:, None]), found, 0)
    outside = (sample < 0) | (sample > size)
    return normalized(np.where(outside[:, None], 0, found).astype(np.float32))


def normalized(weights: Array) -> Array:
    """Rows that sum to one; those without weight stay."""
    total = weights.sum(1, dtype=np.float32, keepdims=True)
    has = np.abs(total) >= SMALLEST
    return np.where(has, weights / np.where(has, total, ONE), 0).astype(np.float32)


# ---- areas and cubic convolutions of their own ---------------------------------------------------


def area_weights(size: int, count: int, align_corners: bool) -> Array:
    """The share of each element in the stretch that a resized one covers; the last one goes on."""
    scale = scale_between(size, count, align_corners)
    start = (np.arange(count, dtype=np.float32) * scale)[:, None]
    end = (np.arange(1, count + 1, dtype=np.float32) * scale)[:, None]
    source = np.arange(size, dtype=np.float32)
    stop = np.where(source == size - 1, np.float32(np.inf), source + 1)
    overlap = np.minimum(stop, end) - np.maximum(source, start)
    return (np.maximum(overlap, 0) / scale).astype(np.float32)


STEPS = 1024
"""TensorFlow looks its cubic weights up at so many places between two elements."""


def cubic_weights(size: int, count: int, align_corners: bool, half_pixel: bool) -> Array:
    """Four neighbours by a cubic convolution: with half pixels those outside count nothing, else
    the ones at the ends count for them."""
    place = positions(size, count, align_corners, half_pixel)
    base = np.floor(place)
    step = np.rint((place - base) * np.float32(STEPS)).astype(int)
    a = -0.5 if half_pixel else -0.75
    found = np.zeros((count, size), np.float32)
    for offset, at in ((-1, STEPS + step), (0, step), (1, STEPS - step), (2, 2 * STEPS - step)):
        x = (at / STEPS).astype(np.float32)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weight = np.where(at > STEPS, far, near) if offset in (0, 1) else far
        index = base.astype(int) + offset
        inside = np.clip(index, 0, size - 1)
        counts = (index == inside) | (not half_pixel)
        np.add.at(found, (np.arange(count), inside), np.where(counts, weight, 0))
    return normalized(found) if half_pixel else found
