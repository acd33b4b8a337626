"""Networks as ONNX Runtime's optimizers and quantisers write them: compiled whole, as near to
float64 as ONNX Runtime is."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

pytest.importorskip("transformers")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.transformers.optimizer import optimize_model

import hidet_onnx
from benchmarks.exports import export, subject
from benchmarks.measure.exported import arrays, exact, worst

Feeds = dict[str, np.ndarray[Any, Any]]


class Once(CalibrationDataReader):  # type: ignore[misc]
    """The inputs of one call, to take the ranges of activations from."""

    def __init__(self, feeds: Feeds) -> None:
        self.rest = iter([feeds])

    def get_next(self) -> Any:
        return next(self.rest, None)


def session(path: Path, level: str = "ORT_ENABLE_ALL", written: Path | None = None) -> Any:
    """ONNX Runtime on a CPU; it writes the model that it made, if asked to."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    if written is not None:
        options.optimized_model_filepath = str(written)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def extended(path: Path, feeds: Feeds) -> Path:
    """By the session's own optimizer, for any CPU."""
    out = path.with_name("extended.onnx")
    session(path, "ORT_ENABLE_EXTENDED", out)
    return out


def dynamic(path: Path, feeds: Feeds) -> Path:
    """Weights of 8 bits, activations by the ranges of each call; then the session's optimizer."""
    out = path.with_name("dynamic.onnx")
    quantize_dynamic(str(path), str(out))
    return extended(out, feeds)


def static(path: Path, feeds: Feeds) -> Path:
    """Operators on integers, with ranges of one call."""
    out = path.with_name("static.onnx")
    quantize_static(
        str(path), str(out), Once(feeds), quant_format=QuantFormat.QOperator,
        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
    )  # fmt: skip
    return out


def transformers(kind: str, half: bool = False) -> Callable[[Path, Feeds], Path]:
    """By the optimizer of transformers, in float16 if `half`."""

    def write(path: Path, feeds: Feeds) -> Path:
        made = optimize_model(str(path), kind, num_heads=4, hidden_size=32, opt_level=0)
        if half:
            made.convert_float_to_float16()
        out = path.with_name("transformers.onnx")
        made.save_model_to_file(str(out))
        return out

    return write


def quantised(path: Path, feeds: Feeds) -> Path:
    """By the optimizer of transformers, then to weights of 8 bits."""
    out = path.with_name("quantised.onnx")
    fused = transformers("bert")(path, feeds)
    kind = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(str(fused), str(out), extra_options=kind)
    return out


CASES: dict[str, tuple[str, bool, Callable[[Path, Feeds], Path], set[str]]] = {
    "bert": ("bert", True, dynamic, {"DynamicQuantizeMatMul", "SkipLayerNormalization"}),
    "bert, optimised": ("bert", False, transformers("bert"), {"Attention", "BiasGelu"}),
    "bert, quantised": ("bert", False, quantised, {"QAttention", "SkipLayerNormalization"}),
    "vit": ("vit", True, static, {"QLinearAdd", "QLinearMul", "QLinearSoftmax"}),
    "lstm": ("lstm", False, dynamic, {"DynamicQuantizeLSTM"}),
    "gpt2": (
        "gpt2 with cache", False, transformers("gpt2", half=True),
        {"FastGelu", "SkipLayerNormalization"},
    ),
    "llama": (
        "llama", True, transformers("gpt2"),
        {"SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"},
    ),
}  # fmt: skip
"""A network, whether torch.export exports it, what is done to it, and operators that gives."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what the tools print."""
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", CASES)
def test_a_network_that_the_tools_wrote(case: str, tmp_path: Path) -> None:
    name, by_dynamo, tool, operators = CASES[case]
    made = subject(name, small=True)
    if case.startswith("bert, "):  # the optimizer knows how older exporters spell attention out
        made.model.model.config._attn_implementation = "eager"
        made = made._replace(opset=14)
    path = tmp_path / "model.onnx"
    path.write_bytes(export(made, dynamo=by_dynamo))
    names = [each.name for each in onnx.load(path).graph.input]
    with quiet():
        written = tool(path, dict(zip(names, arrays(made), strict=True)))
    model = onnx.load(written)
    assert operators <= {node.op_type for node in model.graph.node}
    types = [each.type.tensor_type.elem_type for each in model.graph.input]
    given = [
        array.astype(helper.tensor_dtype_to_np_dtype(kind))
        for array, kind in zip(arrays(made), types, strict=True)
    ]
    right = exact(made)
    theirs = worst(session(written).run(None, dict(zip(names, given, strict=True))), right)
    compiled = hidet_onnx.compile(str(written), options={"fallback": "error"})
    assert worst(compiled.run(given), right) <= 2 * theirs
