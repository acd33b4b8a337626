"""Weights that travel as seeds: an archive without them, and what fills them in again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidet.runtime.plans.archive import Archive

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Draw:
    """Random numbers around zero; `deviation` is their standard deviation."""

    seed: int
    shape: tuple[int, ...]
    deviation: float

    def array(self) -> Array:
        """The numbers as float32, the same bits on every machine: integers, halved and scaled."""
        uniform = np.random.default_rng(self.seed).random(self.shape, np.float32)
        return (uniform - np.float32(0.5)) * np.float32(self.deviation * 12**0.5)


def emptied(archive: Archive, draws: Iterable[Draw]) -> tuple[Archive, dict[str, Draw]]:
    """The archive without the weights that were drawn, and which draw each of these is."""
    known = {each.array().tobytes(): each for each in draws}
    drawn = {
        name: known[content]
        for name, weight in archive.weights.items()
        if (content := weight.tobytes()) in known
    }
    kept = {name: weight for name, weight in archive.weights.items() if name not in drawn}
    return replace(archive, weights=kept), drawn


def filled(archive: Archive, drawn: Mapping[str, Draw]) -> Archive:
    """The archive that `emptied` was given."""
    weights = {**archive.weights, **{name: each.array() for name, each in drawn.items()}}
    return replace(archive, weights=weights)
