"""ONNX models on Hidet. Not usable yet: `compile` says so and names a way that works."""

from typing import NoReturn

from hidet.errors import NotYet
from hidet_onnx.__about__ import __version__

__all__ = ["__version__", "compile"]


def compile(model: object, **options: object) -> NoReturn:
    """Raise `NotYet`: there is no importer for ONNX graphs."""
    raise NotYet(
        "hidet-onnx cannot compile a model yet: it has no importer and no converters for ONNX",
        help="if the model exists in PyTorch, install hidet-torch; otherwise run the file with "
        "ONNX Runtime (pip install onnxruntime)",
    )
