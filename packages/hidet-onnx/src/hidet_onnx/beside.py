"""Other programs that run ONNX files, for `hidet bench` to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def others(
    path: str, device: str | None
) -> Mapping[str, Callable[[Mapping[str, Any]], Sequence[Any]]]:
    """ONNX Runtime on the same device, if it is installed and has a provider for it."""
    if find_spec("onnxruntime") is None:
        return {}
    runtime = import_module("onnxruntime")
    provider = PROVIDERS[(device or "cpu").partition(":")[0]]
    if provider not in runtime.get_available_providers():
        return {}
    session = runtime.InferenceSession(path, providers=[provider])
    return {"onnxruntime": lambda named: list(session.run(None, dict(named)))}
