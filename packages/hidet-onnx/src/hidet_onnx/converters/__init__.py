"""Converters from ONNX operators to functions on hidet tensors, one module for each family.

`load()` imports the modules of the list below, once; looking up a converter imports nothing.
"""

from importlib import import_module

from hidet_onnx.converters.table import TAKES_HOST_VALUES, table

FAMILIES = (
    "elementwise", "activation", "reduce", "matmul", "conv", "pool", "norm", "shape", "slices",
    "index", "create", "random", "cast", "resample", "attention", "linear_attention",
    "recurrent", "quantize", "sequence", "control", "scan", "signal", "regions", "loss",
    "training", "trees",
    "features", "svm", "tfidf", "legacy", "selection", "microsoft.activation",
    "microsoft.attention", "microsoft.conv", "microsoft.crop", "microsoft.experts",
    "microsoft.group_query", "microsoft.norm", "microsoft.packed_weights", "microsoft.qlinear",
    "microsoft.quantized", "microsoft.rotary", "microsoft.tensor",
)  # fmt: skip
"""The modules that file converters."""


def load() -> None:
    """Import every family, so that `table` is whole."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")


__all__ = ["FAMILIES", "TAKES_HOST_VALUES", "load", "table"]
