"""Networks in int8: `python -m benchmarks.quantized`. One process, systems in turns.

On a CPU beside float32 and ONNX Runtime: on one thread by the time that it is at work, on several
(`--threads`) by the clock. With `--device cuda` beside float16 by hidet-torch, by the clock around
ten calls in a row.

A network is exported to ONNX and quantized by ONNX Runtime's own tools: weights signed and by
channel, activations as `--activations` says (unsigned by default), `QuantizeLinear` and
`DequantizeLinear` around what reads them, scales from random images.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import hidet_onnx
import hidet_torch
from benchmarks.exports import Subject, export
from benchmarks.measure.interleaved import interleaved
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import synchronize
from benchmarks.models import NETWORKS, build

ACTIVATIONS = {
    "uint8": QuantType.QUInt8, "int8": QuantType.QInt8, "symmetric": QuantType.QInt8,
}  # fmt: skip
"""What activations are quantized to; symmetric: int8 about 0."""
CALIBRATION = 4
"""Batches of random images that scales are taken from."""
IN_A_ROW = 10
"""Calls on a GPU that are timed together, so that the host is ahead of it."""


class RandomImages(CalibrationDataReader):  # type: ignore[misc]
    """Images of the same distribution as the network is called with."""

    def __init__(self, shape: Sequence[int]) -> None:
        random = np.random.default_rng(1)
        images = (random.standard_normal(shape, np.float32) for _ in range(CALIBRATION))
        self.batches = ({"x0": image} for image in images)

    def get_next(self) -> Any:
        """The next batch; None after the last."""
        return next(self.batches, None)


def exported(
    network: str, batch: int, folder: Path, dynamo: bool = True, activations: str = "uint8"
) -> tuple[Path, Path, np.ndarray[Any, Any]]:
    """The network as ONNX in float32 and in int8, and an input."""
    model, (x,) = build(network, torch.float32, "cpu", batch)
    plain, ready, small = (folder / f"{name}.onnx" for name in ("float32", "ready", "int8"))
    plain.write_bytes(export(Subject(model, (x,)), dynamo=dynamo))
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    quantize_static(
        str(ready), str(small), RandomImages(x.shape), quant_format=QuantFormat.QDQ,
        per_channel=True, activation_type=ACTIVATIONS[activations], weight_type=QuantType.QInt8,
        extra_options={"ActivationSymmetric": activations == "symmetric"},
    )  # fmt: skip
    return plain, small, x.numpy()


def runtime(path: Path) -> Callable[[np.ndarray[Any, Any]], Any]:
    """A model in ONNX Runtime, on as many threads as PyTorch."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x0": x})[0]


def hidet(path: Path) -> Callable[[np.ndarray[Any, Any]], Any]:
    """A model in Hidet."""
    compiled = hidet_onnx.compile(str(path))
    return lambda x: np.asarray(compiled(x))


def measure(network: str, batch: int, rounds: int, activations: str) -> str:
    """A table of the network's times in each system and type."""
    with tempfile.TemporaryDirectory() as folder:
        plain, small, x = exported(network, batch, Path(folder), activations=activations)
        calls = {
            (system.__name__, of): system(path)
            for of, path in (("float32", plain), ("int8", small))
            for system in (runtime, hidet)
        }
    expected = calls["runtime", "float32"](x)
    given = {key: partial(call, x) for key, call in calls.items()}
    found = interleaved(given, 0.0, rounds, unmeasured=1)
    alone = torch.get_num_threads() == 1
    times = {key: each.busy if alone else each.wall for key, each in found.items()}
    base = statistics.median(times["hidet", "float32"])
    lines = []
    for (system, of), taken in times.items():
        middle = statistics.median(taken)
        far = np.linalg.norm(calls[system, of](x) - expected) / np.linalg.norm(expected)
        name = "ONNX Runtime" if system == "runtime" else system
        lines.append(
            [network, name, of, number(middle, ".3f"), number(min(taken), ".3f"),
             number(base / middle, ".2f", "x"), number(float(far), ".1e")]
        )  # fmt: skip
    headings = ("network", "system", "type", "ms", "least", "to hidet float32", "difference")
    return table(headings, lines)


def measure_on_gpu(network: str, batch: int, rounds: int, activations: str) -> str:
    """A table of the network's times on a GPU: float16 by hidet-torch, int8 by hidet-onnx."""
    with tempfile.TemporaryDirectory() as folder:
        _, small, x = exported(network, batch, Path(folder), False, activations)
        whole = hidet_onnx.compile(str(small), device="cuda")
    plain, (given,) = build(network, torch.float16, "cuda", batch)
    half = hidet_torch.compile(plain, given)
    pixels = torch.as_tensor(x, device="cuda")
    calls = {
        "float16": lambda: [half(given) for _ in range(IN_A_ROW)],
        "int8": lambda: [whole.run([pixels]) for _ in range(IN_A_ROW)],
    }
    times = interleaved(calls, 0.0, rounds, wait=partial(synchronize, "cuda"))
    each = {of: [ms / IN_A_ROW for ms in found.wall] for of, found in times.items()}
    base = statistics.median(each["float16"])
    lines = [
        [network, str(batch), of, number(statistics.median(taken), ".3f"),
         number(min(taken), ".3f"), number(base / statistics.median(taken), ".2f", "x")]
        for of, taken in each.items()
    ]  # fmt: skip
    return table(("network", "batch", "type", "ms", "least", "to float16"), lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    images = [name for name, network in NETWORKS.items() if len(network.shape) == 3]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+", choices=images)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="on a CPU")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--activations", default="uint8", choices=ACTIVATIONS)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    asked = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    if asked.device == "cpu":
        os.environ["OMP_NUM_THREADS"] = str(asked.threads)
        torch.set_num_threads(asked.threads)
    print(headline(machine(asked.device)))
    run = measure if asked.device == "cpu" else measure_on_gpu
    for name in asked.networks:
        print(f"\n{run(name, asked.batch, asked.rounds, asked.activations)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
