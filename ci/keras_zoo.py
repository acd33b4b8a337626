"""Every architecture of keras.applications, imported: `python -m ci.keras_zoo [names]`.

Nothing is computed, so that weights are zeros. It fails if an operator is left to TensorFlow.
"""

from __future__ import annotations

import inspect
import sys
import time
from unittest.mock import patch

import keras
import tensorflow as tf

from hidet_tf.capture import Source, declared_specs
from hidet_tf.importing.imported import import_function


def architectures() -> list[str]:
    """The names of all there are."""
    every = inspect.getmembers(keras.applications, inspect.isfunction)
    return [name for name, _ in every]


def left(name: str) -> list[str]:
    """The operators of an architecture that are not compiled."""
    zeros = patch("keras.initializers.get", lambda _: keras.initializers.Zeros())
    with zeros:
        model = getattr(keras.applications, name)(weights=None)
    imported = import_function(Source(model, declared_specs(model)).concrete, "cpu")
    return [f"{operator}: {uses[0].reason}" for operator, uses in imported.coverage.left.items()]


def main(names: list[str]) -> int:
    """Print a line for each architecture; 1 if any has operators left."""
    found = 0
    for name in names or architectures():
        start = time.perf_counter()
        missing = left(name)
        found += bool(missing)
        print(f"{name:24} {time.perf_counter() - start:6.1f} s  {missing or 'whole'}", flush=True)
        keras.backend.clear_session()
    print(f"{found} with operators left")
    return min(found, 1)


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    sys.exit(main(sys.argv[1:]))
