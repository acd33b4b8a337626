"""Converters from TensorFlow operators to functions on hidet tensors, one module for each family.

`load()` imports the modules of the list below, once; looking up a converter imports nothing.
"""

from importlib import import_module

from hidet_tf.converters.table import tf

FAMILIES = (
    "elementwise", "activation", "reduce", "matmul", "conv", "pool", "norm", "shape",
    "slices", "blocks", "index", "segments", "ordering", "create", "cast", "selection",
    "variables", "control", "loops", "lists", "resample", "quantize", "linalg", "image",
    "boxes", "losses", "random", "xla", "complex", "morphology", "sparse", "ragged",
)  # fmt: skip
"""The modules that file converters."""


def load() -> None:
    """Import every family, so that `tf` is whole."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")


__all__ = ["FAMILIES", "load", "tf"]
