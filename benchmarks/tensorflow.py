"""Keras models beside TensorFlow, XLA and ONNX Runtime: `python -m benchmarks.tensorflow`.

    python -m benchmarks.tensorflow MobileNetV2 lstm          # on two threads of a CPU
    python -m benchmarks.tensorflow host                      # what a call costs beside core's

All systems are in one process, on the same weights and inputs, and take turns call by call.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure.columns import number, table
from benchmarks.measure.facts import commit, headline, installed, processor
from benchmarks.measure.interleaved import interleaved, summary

PACKAGES = ("hidet-tf", "tensorflow-cpu", "keras", "tf2onnx", "onnxruntime", "numpy")
ALLOWED = 4.0
"""How much larger than TensorFlow's own the error against float64 may be."""
Call = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One system on one network: milliseconds, seconds to the first result, error."""

    network: str
    system: str
    milliseconds: float
    least: float
    busy: float
    first_seconds: float
    error: float


def application(name: str, size: int = 224) -> Callable[[], tuple[Any, np.ndarray[Any, Any]]]:
    """An architecture of keras.applications with statistics of norms that are not all alike."""

    def make() -> tuple[Any, np.ndarray[Any, Any]]:
        import keras  # noqa: PLC0415  after the number of threads is set

        keras.utils.set_random_seed(0)
        model = getattr(keras.applications, name)(weights=None, classifier_activation=None)
        settle(model, random(4, size, size, 3))
        return model, random(1, size, size, 3)

    return make


def settle(model: Any, images: Any) -> None:
    """Give batch norms scales and shifts that differ, and the statistics of these images.

    As they are made a network gives nearly the same for any image. Those that scale layers get
    scales as well: they begin at 1e-6, which hides the layers.
    """
    rng = np.random.default_rng(1)
    for layer in model.layers:
        if type(layer).__name__ == "BatchNormalization":
            layer.momentum = 0.0  # the statistics become those of the one batch
    for each in model.variables:
        if each.path.endswith("gamma"):
            each.assign(rng.uniform(0.5, 1.5, each.shape))
        elif each.path.endswith("beta"):
            each.assign(rng.normal(0, 0.1, each.shape))
    model(images, training=True)


def lstm() -> tuple[Any, np.ndarray[Any, Any]]:
    """A classifier of text: an embedding, an LSTM of 128 units over 128 words."""
    import keras  # noqa: PLC0415

    keras.utils.set_random_seed(0)
    words = keras.Input((128,), dtype="int32")
    x = keras.layers.LSTM(128)(keras.layers.Embedding(5000, 64)(words))
    model = keras.Model(words, keras.layers.Dense(2)(x))
    return model, np.random.default_rng(0).integers(0, 5000, (1, 128)).astype(np.int32)


def transformer(layers: int = 4, width: int = 256, length: int = 128) -> tuple[Any, Any]:
    """A small encoder of keras.layers.MultiHeadAttention."""
    import keras  # noqa: PLC0415

    keras.utils.set_random_seed(0)
    inputs = keras.Input((length, width))
    x = inputs
    for _ in range(layers):
        normed = keras.layers.LayerNormalization()(x)
        x = x + keras.layers.MultiHeadAttention(4, width // 4)(normed, normed)
        wide = keras.layers.Dense(4 * width)(keras.layers.LayerNormalization()(x))
        # By tanh: tf2onnx has no Erfc, which the exact one is.
        x = x + keras.layers.Dense(width)(keras.ops.gelu(wide, approximate=True))
    return keras.Model(inputs, x), random(1, length, width)


def random(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


NETWORKS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "ResNet50": application("ResNet50"),
    "MobileNetV2": application("MobileNetV2"),
    "EfficientNetV2B0": application("EfficientNetV2B0"),
    "lstm": lstm,
    "transformer": transformer,
}


def eager(model: Any, x: Any) -> Call:
    """Keras as it is."""
    return lambda: model(x, training=False)


def function(model: Any, x: Any, **how: Any) -> Call:
    """The model in a tf.function."""
    import tensorflow as tf  # noqa: PLC0415

    traced = tf.function(lambda given: model(given, training=False), **how)
    return lambda: traced(x)


def xla(model: Any, x: Any) -> Call:
    """The same, compiled by XLA."""
    return function(model, x, jit_compile=True)


def runtime(model: Any, x: Any) -> Call:
    """ONNX Runtime on the model as tf2onnx exports it."""
    import onnxruntime  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415
    import tf2onnx  # noqa: PLC0415

    spec = tf.TensorSpec(x.shape, x.dtype, name="x")
    proto, _ = tf2onnx.convert.from_keras(model, [spec], opset=17)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, feeds)[0]


def ours(model: Any, x: Any, **options: Any) -> Call:
    """hidet-tf."""
    import hidet_tf  # noqa: PLC0415

    compiled = hidet_tf.compile(model, options=options)
    return lambda: compiled(x)


def frozen(model: Any, x: Any) -> Call:
    """The same with weights that nobody writes to, as in an ONNX model: calls look at none."""
    return ours(model, x, weights="frozen")


SYSTEMS: Mapping[str, Callable[[Any, Any], Call]] = {
    "eager": eager, "tf.function": function, "XLA": xla, "ONNX Runtime": runtime,
    "hidet-tf": ours, "hidet-tf, frozen": frozen,
}  # fmt: skip


def measure(name: str, systems: Sequence[str], seconds: float) -> list[Row]:
    """A row for each system."""
    import tensorflow as tf  # noqa: PLC0415

    model, given = NETWORKS[name]()
    x = tf.constant(given)
    expected = exact(model, given)
    calls, first, errors = {}, {}, {}
    for system in systems:
        start = time.perf_counter()
        calls[system] = SYSTEMS[system](model, x)
        found = calls[system]()
        first[system] = time.perf_counter() - start
        errors[system] = distance(found, expected)
    allowed = ALLOWED * distance(model(x, training=False), expected)
    wrong = [each for each in systems if not errors[each] <= allowed]
    if wrong:
        raise SystemExit(f"{name}: {', '.join(wrong)} computed something else: {errors}")
    # The call before the measured one fills the caches, which hold what another system left.
    times = interleaved(calls, seconds, unmeasured=1)
    return [Row(name, s, *summary(each), first[s], errors[s]) for s, each in times.items()]


def distance(found: Any, expected: np.ndarray[Any, Any]) -> float:
    """How far a result is from what it should be, as a part of the largest element."""
    difference = np.abs(np.asarray(found, np.float64) - expected)
    return float(difference.max() / np.abs(expected).max())


def exact(model: Any, given: Any) -> np.ndarray[Any, Any]:
    """What the model means: the same weights in float64."""
    import keras  # noqa: PLC0415

    twin = keras.models.clone_model(model, clone_function=in_float64)
    twin.set_weights(model.get_weights())
    wide = given.astype(np.float64) if given.dtype.kind == "f" else given
    return np.asarray(twin(wide, training=False))


def in_float64(layer: Any) -> Any:
    """A layer like another one, in float64; operators compute in what they are given."""
    import keras  # noqa: PLC0415

    if not isinstance(layer, keras.Layer):
        return layer
    config = layer.get_config()
    is_input = type(layer).__name__ == "InputLayer"
    if not is_input or "float" in str(config.get("dtype")):
        config["dtype"] = "float64"
    return type(layer).from_config(config)


def shown(rows: Sequence[Row]) -> str:
    """The rows, and how many times as long as hidet-tf each system takes."""
    own = {row.network: row.least for row in rows if row.system == "hidet-tf"}
    lines = [
        [
            row.network,
            row.system,
            number(row.milliseconds, ".2f"),
            number(row.least, ".2f"),
            number(row.busy, ".2f"),
            number(row.least / own[row.network], ".2f", "x") if row.network in own else "",
            number(row.first_seconds, ".1f"),
            f"{row.error:.1e}",
        ]
        for row in rows
    ]
    headings = (
        *("network", "system", "ms", "least", "at work", "least / hidet-tf"),
        *("first result s", "error"),
    )
    return table(headings, lines)


def host() -> str:
    """Microseconds of a call on small tensors: core alone, our frontend, and TensorFlow."""
    import tensorflow as tf  # noqa: PLC0415

    import hidet_tf  # noqa: PLC0415

    lines = []
    for count in (1, 2, 4):
        specs = [tf.TensorSpec((None, 16))] * count
        body = several(count)
        compiled = hidet_tf.compile(body, *specs)
        core = compiled.compiled
        arrays = [random(4, 16) for _ in specs]
        tensors = [*map(tf.constant, arrays)]
        traced = tf.function(body, input_signature=specs)
        calls: dict[str, Call] = {
            "core": lambda core=core, given=arrays: repeated(lambda: core.run(given)),
            "hidet-tf": lambda f=compiled, given=tensors: repeated(lambda: f(*given)),
            "hidet-tf, numpy": lambda f=compiled, given=arrays: repeated(lambda: f(*given)),
            "tf.function": lambda f=traced, given=tensors: repeated(lambda: f(*given)),
        }
        times = interleaved(calls, 2.0)
        found = {name: summary(each)[1] * 1e3 / REPEATS for name, each in times.items()}
        lines += [
            [str(2 * count), name, number(each, ".1f"), number(each - found["core"], ".1f")]
            for name, each in found.items()
        ]
    return table(("tensors in and out", "system", "us", "beyond core"), lines)


def watched() -> str:
    """Microseconds of a call of a function of variables, whether these are watched or not."""
    import tensorflow as tf  # noqa: PLC0415

    import hidet_tf  # noqa: PLC0415

    lines = []
    for count in (1, 10, 100):
        variables = [tf.Variable(random(4, 16)) for _ in range(count)]
        body = summed(variables)
        spec, given = tf.TensorSpec((4, 16)), tf.constant(random(4, 16))
        systems = {
            each: hidet_tf.compile(body, spec, options={"weights": each})
            for each in ("frozen", "watched")
        } | {"tf.function": tf.function(body, input_signature=[spec])}
        calls: dict[str, Call] = {
            name: lambda f=f, x=given: repeated(lambda: f(x)) for name, f in systems.items()
        }
        times = interleaved(calls, 2.0)
        found = {name: summary(each)[2] * 1e3 / REPEATS for name, each in times.items()}
        lines += [
            [str(count), name, number(each, ".1f"), number((each - found["frozen"]) / count, ".2f")]
            for name, each in found.items()
        ]
    return table(("variables", "system", "us at work", "beyond frozen, each"), lines)


def summed(variables: Sequence[Any]) -> Callable[[Any], Any]:
    """A function that adds some variables."""
    return lambda x: sum(variables, x)


REPEATS = 100


def repeated(call: Call) -> None:
    """A hundred calls: what the clock takes does not count."""
    for _ in range(REPEATS):
        call()


def several(count: int) -> Callable[..., Any]:
    """A function of so many tensors in and out."""
    return lambda *given: [each + float(n) for n, each in enumerate(given[:count])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", choices=[[], "host", *NETWORKS], default=[])
    parser.add_argument("--systems", nargs="*", choices=[*SYSTEMS], default=[*SYSTEMS])
    parser.add_argument("--seconds", type=float, default=10.0, help="for all systems of a network")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args(arguments)
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    os.environ |= {name: str(asked.threads) for name in names}
    os.environ |= {"TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    facts = {name: installed(name) for name in PACKAGES}
    print(headline({"commit": commit(), "device": processor(), **facts}))
    rows: list[Row] = []
    for name in asked.networks or [*NETWORKS, "host"]:
        if name == "host":
            print(f"{host()}\n\n{watched()}")
        else:
            rows += measure(name, asked.systems, asked.seconds)
            print(f"{name}: done", flush=True)
    print(f"\n{shown(rows)}" if rows else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
