"""Networks of keras.applications as archives for a GPU.

    python -m benchmarks.archives.make FOLDER

Each comes with an image, what float64 makes of it, and how far TensorFlow's float32 is from that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import hidet_tf
from benchmarks.archives.weights import Draw, emptied
from benchmarks.tensorflow import distance, exact, random, settle
from hidet.runtime.plans.archive import Archive

SIZES: dict[str, int] = {
    "ResNet50": 224,
    "MobileNetV2": 224,
    "MobileNetV3Small": 224,
    "EfficientNetV2B0": 224,
    "VGG16": 224,
    "InceptionV3": 299,
    "DenseNet121": 224,
    "Xception": 299,
    "NASNetMobile": 224,
    "ConvNeXtTiny": 224,
}
"""The networks, at the sizes that they are published with."""
LARGE = 1024
"""Elements from which on a weight travels as a seed."""


def network(name: str) -> keras.Model:
    """A network as it is published, with random weights."""
    keras.utils.set_random_seed(0)
    shape = (SIZES[name], SIZES[name], 3)
    make = getattr(keras.applications, name)
    return make(weights=None, classifier_activation=None, input_shape=shape)


def redraw(model: keras.Model) -> list[Draw]:
    """Give matrices and filters numbers that spread like those they have, each from a seed."""
    draws = []
    for seed, each in enumerate(model.variables):
        values = np.asarray(each)
        if values.ndim > 1 and values.size >= LARGE:
            draws.append(Draw(seed, values.shape, float(values.std())))
            each.assign(draws[-1].array())
    return draws


def make(name: str, model: keras.Model, folder: Path, target: str) -> dict[str, Any]:
    """Write a network's archive without its large weights, an image and its result; the facts.

    The model gets weights from seeds, and batch norms the statistics of random inputs.
    """
    draws = redraw(model)
    settle(model, random(4, *model.input_shape[1:]))
    x = random(1, *model.input_shape[1:])
    compiled = hidet_tf.compile(
        model, tf.TensorSpec(x.shape), options={"fallback": "error", "weights": "frozen"}
    )
    whole = folder / f"{name}.whole"
    compiled.save(whole, target)
    empty, drawn = emptied(Archive.load(whole), draws)
    empty.save(folder / f"{name}.hidet")
    expected = exact(model, x)
    np.savez(folder / f"{name}.npz", x=x, expected=expected)
    facts = {
        "sha256": hashlib.sha256(whole.read_bytes()).hexdigest(),
        "weights": {weight: asdict(each) for weight, each in drawn.items()},
        "tensorflow": distance(model(x, training=False), expected),
        "cpu": distance(compiled(x), expected),
        "parameters": model.count_params(),
    }
    whole.unlink()
    (folder / f"{name}.json").write_text(json.dumps(facts))
    return facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is asked for, a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", choices=[[], *SIZES], default=[])
    parser.add_argument("--target", default="sm_90a")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in asked.networks or SIZES:
        start = time.perf_counter()
        facts = make(name, network(name), asked.folder, asked.target)
        print(
            f"{name}: {time.perf_counter() - start:.0f} s, {facts['parameters']} parameters, "
            f"error {facts['cpu']:.1e} on a CPU, TensorFlow's {facts['tensorflow']:.1e}",
            flush=True,
        )
        keras.backend.clear_session()
    return 0


if __name__ == "__main__":
    sys.exit(main())
