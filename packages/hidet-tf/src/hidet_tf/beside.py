"""TensorFlow itself on Keras files, for `hidet bench` to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from hidet_tf.capture import declared_specs, inference
from hidet_tf.saved_model import opened

Run = Callable[[Mapping[str, Any]], Sequence[Any]]


def others(path: str, device: str | None) -> Mapping[str, Run]:
    """The model in a tf.function, by TensorFlow's operators and by XLA, on the CPU; none for a
    model that does not say what it takes."""
    model = opened(path)
    specs = declared_specs(model)
    if specs is None or (device or "cpu") != "cpu":
        return {}

    def program(**how: Any) -> Run:
        traced = tf.function(inference(model), autograph=False, **how)

        def run(named: Mapping[str, Any]) -> Sequence[Any]:
            given = tf.nest.map_structure(lambda spec: tf.constant(named[spec.name]), specs)
            return [*map(np.asarray, tf.nest.flatten(traced(*given)))]

        return run

    return {"tensorflow": program(), "xla": program(jit_compile=True)}
